"""Dry runs: what experiments, papers, stages and rows would run, and what stops at once."""

from pathlib import Path

import pytest
from checkouts import TINY, dry_run, planned, snakemake, write_rows

from neural_smt import STAGES

BASELINE = "tokenise build_phrase_table tune decode write_table"
CHO = f"{BASELINE} train_network write_networks_table compare_neighbours write_paper_order"
AULI = "align_sets build_representation train_network measure_network decode_lattices tune_reranking rescore_lattices "
AULI += "measure_oracles write_joint_tables write_classes_table"
MI = "build_network_vocabulary build_candidates measure_candidates train_network measure_epochs translate_attention "
MI += "write_attention_tables tune decode score_lists tune_reranking rerank"
CLASSES = {f"classes_{name}" for name in ("exchange", "exchange_fast", "frequency", "likelihood")}
JOINT = {"recurrent", "recurrent_source", "recurrent_small", "learned_c5", "oracle_80", "oracle_240", "proj_lsa_40"}
JOINT |= {"sent_lsa_80", "ww_lsa_n5", "ww_rnn_c5", "ww_rnn_n5", "ww_rnn_p3"} | CLASSES
MORE_JOINT = {"learned_p5n5", "oracle_40", "oracle_160", "proj_lsa_80", "sent_lsa_240", "ww_lsa_p3", "ww_rnn_p5n5"}
PARTS = {"attention_fixed", "dictionary_only", "phrases_only", "no_word", "full_all"}


@pytest.mark.parametrize(
    ("target", "experiment", "rules", "others", "networks"),
    [
        ("all", "embedded", f"{CHO} generate", "fetch", {"encoder_decoder"}),
        (
            "cho2014",
            "tiny",
            f"{CHO} generate show_phrases show_map select_pairs",
            "fetch measure_network write_classes_table write_data_table measure_language_model",
            {"encoder_decoder"},
        ),
        (
            "cho2014",
            "multi30k",
            f"{CHO} fetch measure_network score_lists propose_phrases count_unknown_words show_map",
            "generate",
            {"encoder_decoder", "cslm", "tanh", "backward"},
        ),
        ("all", "news", f"{CHO} fetch", "generate write_scaling_table", {"encoder_decoder", "cslm"}),
        (
            "all",
            "news_scaling",
            f"{BASELINE} take_pairs align write_data_table write_scaling_table",
            "train_network take_text",
            set(),
        ),
        ("auli2013", "multi30k_fr_en", AULI, "score_phrase_table show_phrases write_paper_order", JOINT | MORE_JOINT),
        ("auli2013", "news_fr_en", AULI, "score_phrase_table show_phrases write_paper_order", JOINT),
        (
            "mi2016",
            "multi30k_nmt",
            MI,
            "score_phrase_table measure_network write_joint_tables",
            {"attention", "jean", "full"} | PARTS,
        ),
        (
            "mi2016",
            "news_nmt",
            MI,
            "score_phrase_table measure_network write_joint_tables",
            {"attention", "jean", "full"},
        ),
    ],
)
def test_every_experiment(
    checkout: Path, target: str, experiment: str, rules: str, others: str, networks: set[str]
) -> None:
    file = "config.yaml" if experiment == "embedded" else f"experiments/{experiment}.yaml"
    found = dry_run(checkout, target, "--configfile", file)
    assert set(rules.split()) <= found.jobs.keys()
    assert not set(others.split()) & found.jobs.keys()
    assert found.networks == networks


@pytest.mark.slow
def test_full_size_experiments(checkout: Path, tmp_path: Path) -> None:
    """WMT 14: archives of pairs, test sets and news, every network of both papers; WMT 12, also without the news."""
    jobs, networks = dry_run(checkout, "cho2014", "mi2016", "--configfile", "experiments/wmt14.yaml")
    assert (jobs["fetch_archive"], jobs["extract_member"], jobs["fetch"], jobs["join_texts"]) == (12, 24, 7, 2)
    assert jobs["select_pairs"] == jobs["measure_network"] == 1
    assert {"encoder_decoder", "cslm", "attention"} < networks and jobs["train_network"] == len(networks) == 1 + 1 + 6
    assert jobs["tune"] == 4 * 3
    assert {"write_attention_tables", "write_paper_order", "measure_candidates", "measure_epochs"} <= jobs.keys()
    command = ["auli2013", "--configfile", "experiments/wmt12.yaml"]
    jobs, _ = dry_run(checkout, *command)
    assert (jobs["fetch_archive"], jobs["extract_member"], jobs["fetch"]) == (4, 10, 5)
    assert jobs["tune"] == 3 and jobs["build_representation"] == 14
    assert {"rescore_lattices", "measure_oracles", "write_joint_tables"} <= jobs.keys()
    rows = write_rows(tmp_path, {"experiment": "wmt12_joint", "corpus": {"monolingual": []}})
    rules = planned(checkout, *command, rows)
    assert "fetch" not in rules and {"fetch_archive", "write_joint_tables"} <= rules


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


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("auli2013", "no system rescores lattices with a recurrent model; take --configfile"),
        ("mi2016", "no system is an attention network; take --configfile"),
        ("--config tunning=1", "configuration: unknown key 'tunning'; did you mean 'tuning'?"),
    ],
)
def test_a_fault_stops_at_once_with_one_sentence(checkout: Path, arguments: str, sentence: str) -> None:
    done = snakemake(checkout, *arguments.split(), "-n", "--configfile", TINY)
    assert done.returncode != 0
    assert sentence in done.stdout + done.stderr
    # Snakemake shows where an input function raises something
    assert "--" not in arguments or "Traceback" not in done.stdout + done.stderr
