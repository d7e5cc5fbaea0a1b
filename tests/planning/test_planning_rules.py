"""Every rule has its place in the table of work, and Snakemake's dry run gives the jobs."""

import ast
import json
import re
from pathlib import Path

import pytest

from neural_smt.cli import main
from neural_smt.errors import UserError
from neural_smt.experiment.configuration import load_schema
from neural_smt.experiment.networks import KINDS
from neural_smt.planning import quantities
from neural_smt.planning.jobs import Job, dependencies, list_jobs, read_configuration, rule_stages
from neural_smt.planning.quantities import CONSTANTS, FUNCTIONS, Experiment, Quantities, table
from neural_smt.planning.sizes import Sizes
from neural_smt.planning.throughputs import START, Cost, Line, Throughputs, costs, forecast_jobs
from neural_smt.selection import curve


def job(rule: str, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ("x",), threads: int = 1) -> Job:
    """A job of which only some things matter."""
    return Job(rule, "corpus", {}, inputs, outputs, "", threads, 0, 1000)


def rules_with_files(repository: Path) -> set[str]:
    """Names of rules that make files, read off the rules."""
    found = set()
    for path in (repository / "rules").rglob("*.smk"):
        parts = re.split(r"^\s*(?=rule \w+:|use rule)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for part in parts:
            if named := re.match(r"rule (\w+):", part):
                found |= {named[1]} if re.search(r"^\s+output:", part, flags=re.MULTILINE) else set()
            elif named := re.match(r"use rule \w+ as (\w+)", part):
                found.add(named[1])
    return found


def test_every_rule_that_makes_files_has_an_entry(repository: Path) -> None:
    rules = rules_with_files(repository)
    assert {"tokenise", "extract_phrases", "train_network"} <= rules
    assert rules == {rule.split("/")[0] for rule in costs()}
    measured = {f"measure_network/{name}" for name, kind in KINDS.items() if kind.measured}
    assert {f"train_network/{name}" for name in KINDS} | measured <= set(costs())


def test_rules_that_stand_in_for_others_are_there_and_lead_somewhere() -> None:
    for rule in costs():
        seen = []
        while rule:
            assert rule not in seen
            seen.append(rule)
            rule = costs()[rule].like


def test_stages_are_the_files_that_rules_stand_in(repository: Path) -> None:
    stages = rule_stages(repository / "Snakefile")
    assert stages["decode_lists"] == "decoding" and stages["write_table"] == "report"
    assert stages["extract_phrases"] == "phrases"
    assert stages["train_network"] == "training"
    assert {rule.split("/")[0] for rule in costs()} <= set(stages)


def test_a_job_needs_those_whose_files_or_folders_it_reads() -> None:
    jobs = [
        job("fetch", outputs=("raw/a.gz",)),
        job("build_phrase_table", inputs=("raw/a.gz", "elsewhere"), outputs=("phrases/table",)),
        job("decode", inputs=("phrases/table/scores.npy", "raw/a.gz"), outputs=("b",)),
    ]
    assert dependencies(jobs) == [(), (0,), (0, 1)]


def test_later_configurations_are_put_over_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{experiment: a, corpus: {dev: x, monolingual: [y]}}")
    (tmp_path / "b.yaml").write_text("{experiment: b, corpus: {monolingual: []}}")
    read = read_configuration([tmp_path / "a.yaml", tmp_path / "b.yaml"], {"seed": 3})
    assert read == {"experiment": "b", "corpus": {"dev": "x", "monolingual": []}, "seed": 3}
    with pytest.raises(UserError, match=r"c\.yaml: no such file"):
        read_configuration([tmp_path / "c.yaml"], {})


def test_rates_come_from_the_rule_or_from_one_like_it() -> None:
    rates = Throughputs({"train_network/encoder_decoder": {"cpu": Line(7.0, 0.1)}})
    assert rates.of("train_network/encoder_decoder", "cpu") == (Line(7.0, 0.1), "train_network/encoder_decoder")
    assert rates.of("train_network/attention", "cpu") == (Line(7.0, 0.1), "train_network/encoder_decoder")
    assert rates.of("train_network/attention", "disk") == (START["disk"], "")
    assert rates.of("align", "cpu") == (START["cpu"], "")


def test_pages_of_mapped_tables_are_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(costs(), "decode", Cost(memory="7", mapped="1000 * rows"))
    lines = Throughputs({"decode": dict.fromkeys(START, Line(100.0, 2.0))})
    (found,) = forecast_jobs(
        [job("decode")], Experiment({"networks": {}, "systems": {}, "shards": 1}, Sizes("en", "fr"), {}, {}), lines
    )
    assert found.memory == pytest.approx(114.0)


def test_expressions_name_what_there_is() -> None:
    wildcards = {"density", "language", "table"}
    known = {
        *table()["quantities"],
        *dir(Quantities),
        *load_schema()["properties"],
        *wildcards,
        *FUNCTIONS,
        *CONSTANTS,
        "sizes",
    }
    expressions = list(table()["quantities"].values())
    for cost in costs().values():
        expressions += [cost.cpu, cost.memory, cost.mapped, cost.disk, cost.download, *cost.gpu]
    for expression in filter(None, expressions):
        used = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
        assert used <= known, expression


def test_memory_that_stages_bound_is_planned_as_they_bound_it() -> None:
    assert quantities.CURVE_MEMORY == curve.MEMORY


def test_snakefiles_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--snakefile"):
        list_jobs(tmp_path / "Snakefile", {}, "all")


@pytest.mark.slow
def test_a_plan_of_the_tiny_experiment(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    Throughputs({"tune": {"cpu": Line(3600.0, 0.0)}}, machine="a machine", date="2020-01-02").save(tmp_path / "t.json")
    plan = ["plan", "--configfile", "experiments/tiny.yaml", "--nodes", "1", "--cores", "2"]
    assert main([*plan, "--throughputs", str(tmp_path / "t.json"), "--output", str(tmp_path / "plan.json")]) == 0
    shown = capsys.readouterr().out
    made = json.loads((tmp_path / "plan.json").read_text())
    # two systems are tuned one after the other's weights or side by side; nothing else takes as long
    tuning = next(row for row in made["stages"] if row["name"] == "tuning")
    assert (tuning["jobs"], tuning["seconds"]) == (2, 7200.0)
    assert made["chain_seconds"] <= made["seconds"] <= made["processor_seconds"]
    assert "| tuning | 2 | 2.0 h | 60.0 min |" in shown
    assert "tiny: " in shown and "a machine, 2020-01-02" in shown
    assert not (repository / "results" / "tiny" / "plan.json").exists()
