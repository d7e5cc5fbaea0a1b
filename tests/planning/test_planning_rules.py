"""Every rule has its place in the table of costs, and Snakemake's dry run gives the jobs; what formulas amount to."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from refusals import check_refused

from neural_smt import STAGES
from neural_smt.cli import main
from neural_smt.experiment.configuration import complete, read_configuration
from neural_smt.experiment.networks import KINDS
from neural_smt.experiment.settings import load_schema
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork
from neural_smt.networks.cslm import CslmConfig, CslmNetwork
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.planning import forecasts
from neural_smt.planning.forecasts import START, Experiment, Line, Quantities, Throughputs, costs, forecast_jobs, table
from neural_smt.planning.jobs import Job, dependencies, list_jobs
from neural_smt.planning.sizes import RATIOS, Sizes, expect_sizes
from neural_smt.selection import curve


def stages_of_rules(repository: Path) -> dict[str, str]:
    """Rules that make files, read off the rules, and the stages that their benchmarks lie in."""
    found = {}
    for path in (repository / "rules").rglob("*.smk"):
        text = path.read_text(encoding="utf-8")
        for part in re.split(r"^ *(?=rule|use rule)", text, flags=re.MULTILINE):
            named = re.match(r"rule (\w+):(?=[\s\S]*^\s+output:)|use rule \w+ as (\w+)", part, flags=re.MULTILINE)
            if named:
                found[named[1] or named[2]] = re.search(r"/benchmarks/(\w+)/", part)[1]
    return found


def test_every_rule_that_makes_files_has_an_entry_and_a_benchmark_of_its_stage(repository: Path) -> None:
    stages = stages_of_rules(repository)
    assert stages.keys() == {rule.split("/")[0] for rule in costs()} and set(stages.values()) <= set(STAGES)
    known = {"decode_lists": "decoding", "write_table": "report", "train_network": "training"}
    assert {rule: stages[rule] for rule in known} == known
    assert Job("tune", benchmark="results/x/data/all/benchmarks/tuning/tune/a.run1.tsv").stage == "tuning"
    measured = {f"measure_network/{name}" for name, kind in KINDS.items() if kind.measured}
    assert {f"train_network/{name}" for name in KINDS} | measured <= set(costs())


def test_rules_that_stand_in_for_others_are_there_and_lead_somewhere() -> None:
    for rule in costs():
        seen = []
        while rule:
            assert rule not in seen
            seen.append(rule)
            rule = costs()[rule].like


def test_a_job_needs_those_whose_files_or_folders_it_reads() -> None:
    jobs = [
        Job("fetch", outputs=("raw/a.gz",)),
        Job("build_phrase_table", inputs=("raw/a.gz", "elsewhere"), outputs=("phrases/table",)),
        Job("decode", inputs=("phrases/table/arrays.safetensors", "raw/a.gz"), outputs=("b",)),
    ]
    assert dependencies(jobs) == [(), (0,), (0, 1)]


def test_later_configurations_are_put_over_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("{experiment: a, corpus: {dev: x, monolingual: [y]}}")
    (tmp_path / "b.yaml").write_text("{experiment: b, corpus: {monolingual: []}}")
    read = read_configuration([tmp_path / "a.yaml", tmp_path / "b.yaml"], {"seed": 3})
    assert read == {"experiment": "b", "corpus": {"dev": "x", "monolingual": []}, "seed": 3}
    check_refused(["c.yaml", "no such file"], read_configuration, [tmp_path / "c.yaml"])


def test_rates_come_from_the_rule_or_from_one_like_it() -> None:
    rates = Throughputs({"train_network/encoder_decoder": {"cpu": Line(7.0, 0.1)}})
    assert rates.of("train_network/encoder_decoder", "cpu") == (Line(7.0, 0.1), "train_network/encoder_decoder")
    assert rates.of("train_network/attention", "cpu") == (Line(7.0, 0.1), "train_network/encoder_decoder")
    assert rates.of("train_network/attention", "disk") == (START["disk"], "")
    assert rates.of("align", "cpu") == (START["cpu"], "")


@pytest.mark.parametrize(
    ("rule", "step", "mac", "basis"),
    [
        ("", 5e-4, 4e-14, "assumed"),
        ("score_phrase_table", 0.1, 2e-9, "alike"),
        ("translate_attention", 0.1, 2e-9, "measured"),
    ],
)
def test_gpus_that_were_measured_take_the_place_of_assumed_ones(
    rule: str, step: float, mac: float, basis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = "score_phrase_table", "translate_attention"
    monkeypatch.setitem(costs(), rules[1], forecasts.Cost(gpu=["6e9", "30"], like=rules[0]))
    # on processors both were measured
    lines = {name: {"cpu": START["cpu"]} | ({"gpu": Line(0.1, 2e-9)} if name == rule else {}) for name in rules}
    job, config = Job(rules[1], gpus=2), {"networks": {}, "systems": {}, "data_mirror": ""}
    (found,) = forecast_jobs([job], config, Sizes(), Throughputs(lines))
    assert found.seconds == pytest.approx(START["cpu"].fixed + 30 * step + 6e9 * mac / 2)
    assert found.basis == basis


def test_formulas_name_what_there_is() -> None:
    tables = [table()["quantities"], *table()["kinds"].values()]
    attributes = {"rule", "wildcards", "sizes", "experiment", *dir(Quantities)}
    known = attributes.union(*tables, load_schema()["properties"])
    formulas = [str(formula) for quantities in tables for formula in quantities.values()]
    for cost in costs().values():
        formulas += [cost.cpu, cost.memory, cost.disk, cost.download, *cost.gpu]
    for formula in filter(None, formulas):
        assert forecasts.compile_formula(formula)[1] <= known, formula


def test_memory_that_stages_bound_is_planned_as_they_bound_it() -> None:
    assert table()["quantities"]["curve_memory"] == curve.MEMORY


def test_iterations_end_by_chance_or_at_the_last() -> None:
    assert forecasts.expected_iterations(3, 0.0) == 3
    assert forecasts.expected_iterations(3, 0.5) == pytest.approx(1 + 0.5 + 0.25)
    assert forecasts.expected_iterations(100, 0.1) == pytest.approx(10, rel=0.01)
    assert forecasts.expected_lists(2) == 1 + 1.75


def planned(config: dict[str, Any], rule: str, known: dict[str, int] | None = None, **wildcards: str) -> Quantities:
    """The quantities of a job of an experiment that keeps all its lines; known: iterations of loops."""
    sizes = expect_sizes(config, RATIOS | {"kept lines": 1.0, "kept words": 1.0}, Path("nowhere"))
    return Quantities(Job(rule, wildcards), Experiment(config, sizes, iterations=known or {}))


def amounts(config: dict[str, Any], rule: str, **wildcards: str) -> dict[str, float]:
    """The quantities that a rule's costs grow with."""
    return {kind: planned(config, rule, **wildcards).value(getattr(costs()[rule], kind)) for kind in START}


def test_units_of_jobs(declared: dict[str, Any]) -> None:
    assert amounts(declared, "tokenise", source="pool", language="fr")["cpu"] == 20_000
    # 25,000 words of each side in 1,250 sentences; five iterations
    declared["alignment"]["aligner"] = "fast_align"
    assert amounts(declared, "align", data="far")["cpu"] == 5 * 25_000 * 25_000 / 1250
    rows = RATIOS["rows per word"] * 40_000
    assert amounts(declared, "build_phrase_table", data="far/data/all") == dict.fromkeys(START, rows)
    tuned = planned(declared, "tune", {"tuning/baseline/run1": 2}, system="baseline", run="1")
    once = planned(declared, "decode", system="baseline", run="1", set="dev")
    assert tuned["stack_hypotheses"] == 2 * 20_000 * (200 + 600)
    assert once["stack_hypotheses"] == 20_000 * (200 + 100)
    declared["shards"] = 4
    scored = amounts(declared, "score_pool", text="train", scatteritem="1-of-4")
    assert scored["cpu"] == pytest.approx(1.167 * 40_000 / 4)
    # every step has all rows of its shard in memory, and does its share of the work
    shard = amounts(declared, "count_targets", data="far/data/all", scatteritem="1-of-4")
    assert (shard["memory"], shard["cpu"]) == (rows / 4, pytest.approx(0.2 * rows / 4))


@pytest.mark.parametrize("kind", ["cslm", "recurrent", "attention"])
def test_lists_and_lattices_have_formulas_of_their_own(declared: dict[str, Any], kind: str) -> None:
    row = {"base": "baseline", "features": [], "rescore": [kind]}
    chosen = {"lists": {"nbest": 50}, "lattice": {}, "nbest": {"nbest": 50}}
    systems = {what: row | {"rescoring": own | {"candidates": what}} for what, own in chosen.items()}
    config = complete(declared | {"systems": declared["systems"] | systems})

    def entry(rule: str, system: str) -> str:
        job = planned(config, rule, {f"tuning/{system}/run1": 2}, system=system, run="1")
        assert job.value(costs()[job.entry].cpu) > 0
        return job.entry

    lattices = "tune_reranking", "rescore_lattices"
    of_kind = lattices if kind == "recurrent" else tuple(f"{rule}/{kind}" for rule in lattices)
    assert entry("tune_reranking", "lists") == "tune_reranking/lists"
    assert entry("score_lists", "lists") == ("score_lists" if kind == "recurrent" else f"score_lists/{kind}")
    for what in ("lattice", "nbest"):
        assert tuple(entry(rule, what) for rule in lattices) == of_kind
    listed = planned(config, "score_lists", system="lists", run="1", set="dev")
    assert listed["listed_words"] == 50 * listed["set"].target


SIZES = {"hidden": 90, "embedding": 40, "maxout": 30, "rank": 20}
TANH = {"base": "encoder_decoder", "unit": "tanh"}
CSLM = {"order": 4, "projection": 30, "layers": [60, 40]}
NETWORKS = {
    "encoder_decoder": (SIZES, EncoderDecoder, EncoderDecoderConfig(300, 200, **SIZES)),
    "tanh": (SIZES | TANH, EncoderDecoder, EncoderDecoderConfig(300, 200, unit="tanh", **SIZES)),
    "cslm": (CSLM, CslmNetwork, CslmConfig(200, **CSLM)),
    "attention": (SIZES | {"attention": 50}, AttentionNetwork, AttentionConfig(300, 200, **SIZES, attention=50)),
}
"""Settings of networks that know 300 source words and 200 target words, and the networks."""


@pytest.mark.parametrize("name", NETWORKS)
def test_weights_are_those_of_the_networks(declared: dict[str, Any], name: str) -> None:
    settings, network, config = NETWORKS[name]
    found = planned(complete(declared | {"networks": {name: settings}}), "train_network", network=name)
    found.sizes.types.update(en=300, fr=200)
    assert found["weights"] == pytest.approx(sum(one.numel() for one in network(config).parameters()), rel=0.02)


def test_macs_of_networks(declared: dict[str, Any]) -> None:
    gated = {"unit": "gated", "hidden": 10, "embedding": 4, "maxout": 5, "rank": 3}
    cslm = {"order": 4, "projection": 2, "layers": [6, 5]}
    networks = {"encoder_decoder": gated, "tanh": gated | TANH, "cslm": cslm}
    config = complete(declared | {"networks": networks})
    output = table()["quantities"]["per_output"]
    found = {name: planned(config, "train_network", network=name) for name in networks}
    for one in found.values():
        one.sizes.types.update(en=100, fr=100)
    macs = {name: (one["read"], one["written"]) for name, one in found.items()}
    assert macs["encoder_decoder"] == (3 * 10 * 14, 3 * 10 * 14 + 2 * 5 * 24 + 5 * 3 + 100 * (3 + output))
    assert macs["tanh"][0] == 10 * 14
    assert macs["cslm"] == (3 * 2 * 6 + 6 * 5, 100 * (5 + output))


def test_downloads_take_time_of_their_own(declared: dict[str, Any]) -> None:
    rates = Throughputs({"fetch": {"cpu": Line(1.0, 0.0), "memory": Line(5.0, 0.0), "disk": Line(0.0, 2.0)}})
    fetch = Job("fetch", {"source": "pool", "side": "en"})
    sizes = expect_sizes(declared, RATIOS, Path("nowhere"))
    download = 20_000 * forecasts.PACKED / forecasts.DOWNLOAD
    for mirror, downloading, basis in (("", download, "assumed"), ("/data", 0.0, "measured")):
        (found,) = forecast_jobs([fetch], declared | {"data_mirror": mirror}, sizes, rates)
        assert (found.seconds, found.disk, found.basis) == (1 + downloading, 40_000, basis)


def test_snakefiles_that_are_not_there_are_named(tmp_path: Path) -> None:
    check_refused("--snakefile", list_jobs, tmp_path / "Snakefile", {}, "all")


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
    assert made["chain_seconds"] <= made["seconds"] <= made["cpu_seconds"]
    assert "| tuning | 2 | 2.0 h | 60.0 min |" in shown
    assert "tiny: " in shown and "a machine, 2020-01-02" in shown
    assert not (repository / "results" / "tiny" / "plan.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kinds"), [("wmt12", {"recurrent"}), ("wmt14", {"attention", "cslm", "encoder_decoder"})]
)
def test_experiments_of_the_papers_size_ask_for_what_they_need(repository: Path, name: str, kinds: set[str]) -> None:
    """GPUs to train on, and memory that is enough at the first try."""
    config = complete(read_configuration([repository / "experiments" / f"{name}.yaml"]))
    jobs = list_jobs(repository / "Snakefile", config, "all", 32)
    rates = Throughputs.load(repository / "benchmarks" / "throughputs.json")
    made = forecast_jobs(jobs, config, expect_sizes(config, rates.ratios, repository), rates)
    assert {one.job.rule for one in made if one.memory > one.job.declared_memory} == set()
    training = [one.job for one in made if one.job.rule == "train_network"]
    assert {config["networks"][job.wildcards["network"]]["kind"] for job in training if job.gpus == 1} == kinds
    assert all(job.gpus for job in training)
