"""An experiment whose every stage is killed at a random moment ends with the results of a run never killed.

``make test-kills TIMES=30 EXPERIMENT=config.yaml``: so many rounds, each with other moments; ``FIRST=7 TIMES=1``
repeats the round of this number. The default run kills some jobs of the first stage.
"""

import os
import shutil
from pathlib import Path

import pytest
import yaml
from checkouts import TINY, link_checkout, planned
from compared_results import differing_files, list_files
from kill_plans import Kill, Victim, draw_kills
from killed_workflow import Workflow, temporaries

EXPERIMENT = os.environ.get("KILLS_EXPERIMENT") or TINY

FIRST, TIMES = (int(os.environ.get(name) or 1) for name in ("KILLS_FIRST", "KILLS_TIMES"))

REPEATABLE = {"alignment": {"aligner": "fast_align"}}
"""The other aligner draws other links in every run."""

LONGER = {"networks": {"encoder_decoder": {"updates": 200, "validate_every": 50, "checkpoint_every": 10}}}
"""Of the smallest experiment: training that can be killed in the middle."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The arguments that choose the experiment."""
    path = tmp_path_factory.mktemp("settings") / "repeatable.yaml"
    path.write_text(yaml.safe_dump(REPEATABLE | (LONGER if EXPERIMENT == TINY else {})))
    return ["--configfile", EXPERIMENT, str(path), "--cores", "2"]


@pytest.fixture(scope="module")
def reference(repository: Path, settings: list[str], tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The experiment, run without a kill; it tells how long every job takes."""
    workflow = Workflow(link_checkout(repository, tmp_path_factory.mktemp("reference")), settings)
    workflow.run({})
    return workflow


@pytest.fixture
def checkout(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another checkout, with a folder of its own for what is temporary."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    return link_checkout(repository, tmp_path / "checkout")


@pytest.mark.kills
@pytest.mark.slow
@pytest.mark.parametrize("number", range(FIRST, FIRST + TIMES))
def test_every_stage_is_killed(number: int, reference: Workflow, checkout: Path) -> None:
    stages = {stage: [reference.seconds[name] for name in names] for stage, names in reference.orders.items()}
    retries = ["--retries", "2"] if number % 2 else []  # as on clusters
    workflow = Workflow(checkout, [*reference.arguments, *retries], draw_kills(stages, number, stages))
    workflow.run(reference.seconds)
    print(f"round {number}", *workflow.told, sep="\n  ", flush=True)
    assert len(workflow.told) == len(stages)
    check(workflow, reference)
    # jobs that compiled something in the first run are quicker afterwards
    reference.seconds |= {name: min(reference.seconds[name], took) for name, took in workflow.seconds.items()}
    shutil.rmtree(checkout)  # of a round that fails it stays


@pytest.mark.slow
def test_tokenisation_is_killed(repository: Path, checkout: Path, tmp_path: Path) -> None:
    """A job dies while Snakemake lives, then Snakemake while its jobs live."""
    texts = [f"results/tiny/corpus/tokenised/news_{name}" for name in ("dev.en", "dev.fr", "test.en", "test.fr")]
    arguments = [*texts, "--configfile", TINY, "--cores", "2"]
    never = Workflow(link_checkout(repository, tmp_path / "never"), arguments)
    never.run({})
    workflow = Workflow(checkout, arguments, {"corpus": Kill("corpus", 1, 0.7, False, Victim.JOB)})
    workflow.following = [Kill("corpus", 0, 0.7, False, Victim.SNAKEMAKE)]
    workflow.run(never.seconds)
    assert [killed.job.split("/")[0] for killed in workflow.killed] == ["tokenise"] * 2
    check(workflow, never)


def check(workflow: Workflow, reference: Workflow) -> None:
    """The same files as the reference, no others anywhere, and networks that went on where they were."""
    printed = workflow.printed()
    assert [*temporaries(workflow.results), *temporaries(Path(os.environ["TMPDIR"]))] == [], printed
    assert differing_files(reference.results, workflow.results) == [], printed
    assert list_files(reference.results) == list_files(workflow.results), printed
    marks = workflow.checkout / ".snakemake"
    assert [path for name in ("locks", "incomplete") for path in marks.glob(f"{name}/**/*") if path.is_file()] == []
    assert planned(workflow.checkout, *workflow.arguments) == set(), printed
    for killed in workflow.killed:
        assert killed.state is None or killed.continued is None or killed.continued >= killed.state, (
            f"{killed} starts over\n{printed}"
        )
