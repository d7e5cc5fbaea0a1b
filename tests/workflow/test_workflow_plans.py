"""Dry runs: what experiments, papers, stages and rows would run, and what stops at once."""

from pathlib import Path

import pytest
import yaml
from checkouts import TINY, dry_run, plan, planned, write_rows
from refusals import check_named

from neural_smt import STAGES
from neural_smt.planning.jobs import complete_configuration, list_jobs

TABLE = yaml.safe_load(Path(__file__).with_name("plans.yaml").read_text(encoding="utf-8"))


def names(text: str) -> set[str]:
    """Names apart by spaces; ``$GROUP`` stands for those of a group."""
    parts = [names(TABLE["groups"][word[1:]]) if word.startswith("$") else {word} for word in text.split()]
    return set().union(*parts)


@pytest.mark.parametrize("row", TABLE["plans"], ids=lambda row: f"{row['target']}-{row['experiment']}")
def test_every_experiment(checkout: Path, row: dict[str, str]) -> None:
    named = row["experiment"].split()
    files = ["config.yaml"] if named == ["embedded"] else [f"experiments/{name}.yaml" for name in named]
    found = dry_run(checkout, row["target"], "--configfile", *files)
    assert names(row["rules"]) <= found.jobs.keys()
    assert not names(row["others"]) & found.jobs.keys()
    assert found.networks == names(row["networks"])


@pytest.mark.slow
def test_full_size_experiments(checkout: Path, tmp_path: Path) -> None:
    """WMT 14: archives of pairs, test sets and news, every network of both papers; WMT 12, with two baselines."""
    jobs, networks, _ = dry_run(checkout, "cho2014", "mi2016", "--configfile", "experiments/wmt14.yaml")
    assert (jobs["fetch_archive"], jobs["extract_member"], jobs["fetch"], jobs["join_texts"]) == (8, 16, 7, 2)
    assert jobs["select_pairs"] == jobs["measure_network"] == 1
    assert {"encoder_decoder", "cslm", "attention"} < networks and jobs["train_network"] == len(networks) == 1 + 1 + 6
    assert jobs["tune"] == 4 * 5
    assert {"write_attention_tables", "write_cho2014_table", "measure_candidates", "measure_epochs"} <= jobs.keys()
    command = ["auli2013", "--configfile", "experiments/wmt12.yaml"]
    jobs, *_ = dry_run(checkout, *command)
    assert (jobs["fetch_archive"], jobs["extract_member"], jobs["fetch"]) == (5, 12, 5)
    assert jobs["tune"] == 2 * 5 and jobs["build_representation"] == 14 and jobs["build_language_model"] == 2
    assert {"rescore_lattices", "measure_oracles", "write_joint_tables"} <= jobs.keys()


def test_every_stage_is_a_target(checkout: Path) -> None:
    assert set(STAGES) <= planned(checkout, *STAGES)


def test_rows_are_planned_with_what_they_are_made_of(checkout: Path, tmp_path: Path) -> None:
    """Phrases that a network proposes, other data, and word classes that are compared."""
    rows = {name: {"base": "baseline", "features": [], "data": name} for name in ("all", "random")}
    rows["proposed"] = {"base": "rnn", "features": [], "table": "proposed"}
    networks = {"by_frequency": {"base": "recurrent", "classes": {"method": "frequency"}}}
    compared = {"word_classes": ["by_frequency"]}
    written = write_rows(tmp_path, {"systems": rows, "networks": networks, "report": compared})
    files = ("--configfile", TINY, written)
    found = dry_run(checkout, *files)
    assert {"measure_network", "write_classes_table", "write_data_table", "measure_language_model"} <= found.jobs.keys()
    assert found.networks == {"encoder_decoder", "by_frequency"}
    target = "results/tiny/decoding/{}/run1/news_test.hypothesis"
    whole, drawn, baseline, rnn, proposed = (
        planned(checkout, target.format(name), *files) for name in ("all", "random", "baseline", "rnn", "proposed")
    )
    assert {"take_pairs", "take_text", "align", "build_phrase_table", "build_language_model", "decode"} <= whole
    assert not {"select_pairs", "select_text", "score_phrase_table", "write_data_table"} & whole
    assert drawn == whole | {"select_pairs", "select_text"}, "how many are drawn is what selection keeps"
    assert not {"take_pairs", "take_text"} & baseline
    assert "score_phrase_table" in rnn and "propose_phrases" not in rnn
    assert {"propose_phrases", "tune", "decode"} <= proposed


def test_language_models_are_built_where_systems_name_them(checkout: Path, tmp_path: Path) -> None:
    texts = {"lm_pairs": ["train"], "lm_both": ["train", "monolingual"], "lm_none": ["train"]}
    systems = {"baseline": {"features": ["phrase", "lm_pairs", "lm_both"]}}
    further = {"language_models": {name: {"texts": own} for name, own in texts.items()}, "systems": systems}
    files = ("--configfile", TINY, write_rows(tmp_path, further))
    found = dry_run(checkout, "language_model", "results/tiny/decoding/rnn/run1/news_test.hypothesis", *files)
    assert found.jobs["build_language_model"] == 2
    folder = "results/tiny/language_model"
    assert found.jobs.keys() >= planned(checkout, f"{folder}/lm_pairs", f"{folder}/lm_both", *files)
    assert "select_text" not in planned(checkout, f"{folder}/lm_pairs", *files)


def test_jobs_whose_network_computes_on_the_device_ask_for_a_gpu(repository: Path) -> None:
    rescored = {"base": "baseline", "features": []}
    systems = {
        "searched": rescored | {"features": ["cslm"]},
        "joint": rescored | {"features": ["recurrent"]},
        "lists": rescored | {"rescore": ["attention"]},
        "joint_lists": rescored | {"rescore": ["recurrent"], "rescoring": {"candidates": "lists"}},
        "joint_lattices": rescored | {"rescore": ["recurrent"]},
        "cslm_lattices": rescored | {"rescore": ["cslm"], "rescoring": {"candidates": "lattice"}},
        "attention_lattices": rescored | {"rescore": ["attention"], "rescoring": {"candidates": "nbest"}},
        "alone": {"features": [], "translate": {}},
    }
    snakefile = repository / "Snakefile"
    config = complete_configuration(snakefile, [repository / TINY], {"device": "cuda", "systems": systems})
    found = {(job.rule, job.wildcards.get("system")): job.gpus for job in list_jobs(snakefile, config, "all")}
    lattices = ("rescore_lattices", "tune_reranking")
    asking = {("decode", "searched"), ("tune", "searched"), ("score_lists", "lists"), ("translate_attention", "alone")}
    asking |= {(rule, f"{kind}_lattices") for rule in lattices for kind in ("cslm", "attention")}
    asking |= {("explain_sentences", name) for name in ("searched", "lists", "cslm_lattices", "alone")}
    others = {("decode", "joint"), ("decode", "rnn"), ("score_lists", "joint_lists"), ("tune_reranking", "lists")}
    others |= {(rule, "joint_lattices") for rule in (*lattices, "explain_sentences")}
    assert {pair for pair, gpus in found.items() if pair[1] and gpus} == asking
    assert {found[pair] for pair in others} == {0}


@pytest.mark.parametrize(("arguments", "pieces"), TABLE["faults"])
def test_a_fault_stops_at_once_and_is_named(checkout: Path, arguments: str, pieces: list) -> None:
    status, printed = plan(checkout, *arguments.split(), "--configfile", TINY)
    assert status != 0
    check_named(printed, pieces)
    # Snakemake shows where an input function raises something
    assert "--" not in arguments or "Traceback" not in printed
