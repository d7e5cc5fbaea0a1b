"""The jobs of an experiment as Snakemake would run them, were nothing done yet."""

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from neural_smt.errors import UserError
from neural_smt.experiment.configuration import complete, read_configuration
from neural_smt.experiment.systems import Systems
from neural_smt.io.files import read_yaml
from neural_smt.workflow.job_usage import BenchmarkPath


@dataclass(frozen=True)
class Job:
    """One job: what it is, what it asks for, and the files that tie it to others.

    threads and gpus: as the rule declares them for one machine with as many cores as it likes; declared_memory: MB;
    benchmark: where Snakemake writes what the job took, '' for none.
    """

    rule: str
    wildcards: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    benchmark: str = ""
    threads: int = 1
    gpus: int = 0
    declared_memory: int = 0

    @property
    def stage(self) -> str:
        """The stage that its benchmark lies in."""
        path = BenchmarkPath.of(Path(self.benchmark))
        return path.stage if path else ""


def complete_configuration(snakefile: Path, configfiles: Sequence[Path], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that Snakemake would make of these files, each put over the one before, and of ``changes``;
    checked, with its defaults.
    """
    if not configfiles:
        raise UserError("--configfile: none given; name the experiment's configuration")
    _check_file(snakefile)
    return complete(read_configuration(configfiles, changes))


def _check_file(snakefile: Path) -> None:
    if not Path(snakefile).is_file():
        raise UserError(f"{snakefile}: no such file; run this where the Snakefile is, or name it with --snakefile")


def whole_target(config: Mapping[str, Any]) -> str:
    """The target that leads to all systems of an experiment."""
    systems = Systems(config)
    if systems.translated:
        return "mi2016"
    return "auli2013" if any(map(systems.rescores_lattices, systems.systems)) else "all"


def list_jobs(snakefile: Path, configuration: Mapping[str, Any], target: str, cores: int = 1 << 10) -> list[Job]:
    """Every job that leads to ``target``, in the order that Snakemake tells them.

    Snakemake plans a dry run in an empty folder, so that all that is to be done is there, whatever has been done
    here. Raises ``UserError`` where it finds no plan.
    """
    from unittest import mock

    from snakemake.api import SnakemakeApi
    from snakemake.exceptions import RuleException, WorkflowError
    from snakemake.logging import logger
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

    snakefile = Path(snakefile).absolute()
    _check_file(snakefile)
    collector = _Collector()
    # what Snakemake says goes to the collector alone
    with (
        tempfile.TemporaryDirectory() as folder,
        SnakemakeApi(OutputSettings(quiet={Quietness.ALL}, dryrun=True)) as api,
        mock.patch.multiple(logger, handlers=[collector], propagate=False),
    ):
        try:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=cores, default_resources=_default_resources(snakefile)),
                config_settings=ConfigSettings(config={**configuration, "check": {"texts": False}}),
                snakefile=snakefile,
                workdir=Path(folder),
            )
            workflow.dag(DAGSettings(targets={target}, force_incomplete=True)).execute_workflow(executor="dryrun")
        except (WorkflowError, RuleException) as error:
            reason = " ".join(" ".join(map(str, error.args)).split())
            raise UserError(f"{snakefile}: no plan of {target}: {reason}") from None
    return collector.jobs


def _default_resources(snakefile: Path) -> Any:
    """Snakemake's ``Resources`` of rules that name none, as the default profile beside the Snakefile gives them."""
    from snakemake.resources import Resources

    profile = snakefile.parent / "profiles" / "default" / "profile.yaml"
    if not profile.is_file():
        return None
    given = read_yaml(profile).get("default-resources", {})
    return Resources.parse([f"{name}={value}" for name, value in given.items()], allow_expressions=True)


class _Collector(logging.Handler):
    """Takes the jobs out of what Snakemake logs of a dry run, and all else that it says away."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []

    def emit(self, record: logging.LogRecord) -> None:
        said = vars(record)
        if getattr(said.get("event"), "value", "") == "job_info" and said["output"]:
            job = Job(
                rule=said["rule_name"],
                wildcards=dict(said["wildcards"]),
                inputs=tuple(map(str, said["input"])),
                outputs=tuple(map(str, said["output"])),
                benchmark=str(said["benchmark"] or ""),
                threads=int(said["threads"]),
                gpus=int(said["resources"].get("gpu", 0)),
                declared_memory=int(said["resources"].get("mem_mb", 0)),
            )
            self.jobs.append(job)


def dependencies(jobs: Sequence[Job]) -> list[tuple[int, ...]]:
    """For each job the numbers of those whose files it reads; a file in a folder belongs to the job that made it."""
    makers = {path.rstrip("/"): number for number, job in enumerate(jobs) for path in job.outputs}
    found = []
    for job in jobs:
        places = (place for path in job.inputs for place in (path.rstrip("/"), *map(str, PurePosixPath(path).parents)))
        found.append(tuple(sorted({makers[place] for place in places if place in makers})))
    return found
