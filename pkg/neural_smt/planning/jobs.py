"""The jobs of an experiment as Snakemake would run them, were nothing done yet."""

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from neural_smt.configuration import read_configuration_file
from neural_smt.errors import UserError
from neural_smt.report.costs import STAGES


@dataclass(frozen=True)
class Job:
    """One job: what it is, what it asks for, and the files that tie it to others.

    threads and gpus: as the rule declares them for one machine with as many cores as it likes; declared_memory: MB;
    benchmark: where Snakemake writes what the job took, '' for none.
    """

    rule: str
    stage: str
    wildcards: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    benchmark: str
    threads: int
    gpus: int
    declared_memory: int


def read_configuration(configfiles: Sequence[Path], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that Snakemake would make of these files, each put over the one before, and of ``changes``."""
    from snakemake.utils import update_config

    merged: dict[str, Any] = {}
    for path in configfiles:
        update_config(merged, read_configuration_file(path))
    update_config(merged, dict(changes))
    return merged


def list_jobs(snakefile: Path, configuration: Mapping[str, Any], target: str, cores: int = 1 << 10) -> list[Job]:
    """Every job that leads to ``target``, in the order that Snakemake tells them.

    Snakemake plans a dry run in an empty folder, so that all that is to be done is there, whatever has been done
    here. Raises ``UserError`` where it finds no plan.
    """
    from snakemake.api import SnakemakeApi
    from snakemake.exceptions import WorkflowError
    from snakemake.logging import logger
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

    snakefile = Path(snakefile).absolute()
    if not snakefile.is_file():
        raise UserError(f"{snakefile}: no such file; run this where the Snakefile is, or name it with --snakefile")
    collector = _Collector(snakefile, configuration.get("networks", {}))
    # what Snakemake says goes to the collector alone
    with (
        tempfile.TemporaryDirectory() as folder,
        SnakemakeApi(OutputSettings(quiet={Quietness.ALL}, dryrun=True)) as api,
        _heard_by(logger, collector),
    ):
        try:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=cores),
                config_settings=ConfigSettings(config={**configuration, "check": {"texts": False}}),
                snakefile=snakefile,
                workdir=Path(folder),
            )
            workflow.dag(DAGSettings(targets={target}, force_incomplete=True)).execute_workflow(executor="dryrun")
        except WorkflowError as error:
            raise UserError(f"{snakefile}: no plan of {target}: {_sentence(error)}") from None
    return collector.jobs


@contextmanager
def _heard_by(logger: logging.Logger, handler: logging.Handler) -> Iterator[None]:
    """Give what a logger is told to this handler alone."""
    handlers, propagates = list(logger.handlers), logger.propagate
    logger.handlers[:], logger.propagate = [handler], False
    try:
        yield
    finally:
        logger.handlers[:], logger.propagate = handlers, propagates


def _sentence(error: Exception) -> str:
    return " ".join(" ".join(str(part) for part in error.args if str(part)).split())


class _Collector(logging.Handler):
    """Takes the jobs out of what Snakemake logs of a dry run."""

    def __init__(self, snakefile: Path, networks: Mapping[str, Any]) -> None:
        super().__init__()
        self.networks = networks
        self.jobs: list[Job] = []
        self.stages = rule_stages(snakefile)

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event is None or event.value != "job_info" or not record.output:  # type: ignore[attr-defined]
            return
        resources = record.resources  # type: ignore[attr-defined]
        self.jobs.append(
            Job(
                rule=self._named(record.rule_name, dict(record.wildcards)),  # type: ignore[attr-defined]
                stage=self.stages[record.rule_name],  # type: ignore[attr-defined]
                wildcards=dict(record.wildcards),  # type: ignore[attr-defined]
                inputs=tuple(map(str, record.input)),  # type: ignore[attr-defined]
                outputs=tuple(map(str, record.output)),  # type: ignore[attr-defined]
                benchmark=str(record.benchmark or ""),  # type: ignore[attr-defined]
                threads=int(record.threads),  # type: ignore[attr-defined]
                gpus=int(resources.get("gpu", 0)),
                declared_memory=int(resources.get("mem_mb", 0)),
            )
        )

    def _named(self, rule: str, wildcards: Mapping[str, str]) -> str:
        """The rule, and of one that is about networks of all kinds (``train_network``) the kind (``train_cslm``)."""
        kind = self.networks.get(wildcards.get("network", ""), {}).get("kind")
        return rule.replace("_network", f"_{kind}") if rule in ("train_network", "measure_network") else rule


def rule_stages(snakefile: Path) -> dict[str, str]:
    """Every rule -> its stage: a file under rules/, or a folder of such files, is named after it, or begins with it
    (``decoding_lists``).
    """
    stages, folder = {}, Path(snakefile).parent / "rules"
    for path in sorted(folder.rglob("*.smk")):
        place = path.relative_to(folder).parts[0].removesuffix(".smk")
        stage = next((stage for stage in STAGES if f"{place}_".startswith(f"{stage}_")), place)
        for line in map(str.strip, path.read_text(encoding="utf-8").splitlines()):
            if line.startswith("rule ") and line.endswith(":"):
                stages[line.split()[1].rstrip(":")] = stage
            elif line.startswith("use rule ") and " as " in line:
                stages[line.split(" as ")[1].split()[0]] = stage
    return stages


def dependencies(jobs: Sequence[Job]) -> list[tuple[int, ...]]:
    """For each job the numbers of those whose files it reads; a file in a folder belongs to the job that made it."""
    makers = {path.rstrip("/"): number for number, job in enumerate(jobs) for path in job.outputs}
    found = []
    for job in jobs:
        needed = set()
        for path in job.inputs:
            places = (path.rstrip("/"), *map(str, PurePosixPath(path).parents))
            needed.update(makers[place] for place in places if place in makers)
        found.append(tuple(sorted(needed)))
    return found
