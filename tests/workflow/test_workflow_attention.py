"""Attention networks as a user runs them: planned, refused, and from text to their tables on the tiny experiment."""

from pathlib import Path

import pytest
import yaml
from checkouts import TINY, copy_results, planned, snakemake, translated

from neural_smt.io.files import read_csv, read_json, read_lines
from neural_smt.networks.attention.network import load_attention
from neural_smt.networks.device import select_device

SMALL = {"hidden": 12, "embedding": 8, "attention": 8, "maxout": 8, "rank": 8, "clip": 100, "batch": 16, "epochs": 2}

ROWS = {
    "vocabulary_selection": {"frequent": 30, "sets": {"few": {"frequent": 5, "phrases": 0}}},
    "networks": {
        "attention": SMALL | {"learning_curve": True},
        "attention_fixed": {"base": "attention", "fix_embeddings": 1},
        "jean": {"base": "attention", "tau": 400, "vocabulary": "few", "learning_curve": False},
        "full": {"base": "attention", "target_words": 100, "vocabulary": "all", "learning_curve": False},
    },
    "systems": {
        "limited": {"features": [], "translate": {}},
        "limited_unk": {"features": [], "translate": {"replace_unknown": True}},
        "jean": {"features": [], "translate": {"network": "jean"}},
        "full_unk": {"features": [], "translate": {"network": "full", "replace_unknown": True}},
        "top_50": {"features": [], "translate": {"vocabulary": "few"}},
        "rescored_attention": {
            "base": "baseline",
            "features": [],
            "rescore": ["attention"],
            "rescoring": {"nbest": 10},
        },
    },
    "tuning": {"runs": 2},
}
"""Networks with limited target vocabularies, with parts of the text and with a shortlist; one whose embeddings are
fixed; what they translate alone, with words in place of unknown ones, and the lists that one of them rescores.
"""


@pytest.mark.parametrize("experiment", ["multi30k_nmt", "news_nmt"])
def test_dry_run(checkout: Path, experiment: str) -> None:
    rules = planned(checkout, "mi2016", "--configfile", f"experiments/{experiment}.yaml")
    assert {"build_network_vocabulary", "build_candidates", "measure_candidates", "train_network"} <= rules
    assert {"measure_epochs", "translate_attention", "write_attention_tables"} <= rules
    assert {"tune", "decode", "score_lists", "tune_reranking", "rerank"} <= rules
    assert not {"score_phrase_table", "measure_network", "write_joint_tables"} & rules


def test_the_paper_needs_rows(checkout: Path) -> None:
    done = snakemake(checkout, "mi2016", "-n", "--configfile", TINY)
    assert done.returncode != 0
    assert "no system is an attention network; take --configfile" in done.stdout + done.stderr


@pytest.mark.slow
def test_rows_of_attention_networks_come_out(finished: Path, tmp_path: Path) -> None:
    checkout = copy_results(finished, tmp_path / "checkout")
    (checkout / "rows.yaml").write_text(yaml.safe_dump(ROWS), encoding="utf-8")
    configuration = ["mi2016", "--configfile", TINY, "rows.yaml", "--cores", "2"]
    done = snakemake(checkout, *configuration)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    folder = checkout / "results" / "tiny"
    references = read_lines(folder / "corpus/tokenised/news_test.fr")
    for system, row in ROWS["systems"].items():
        assert len(read_lines(folder / f"decoding/{system}/run1/news_test.hypothesis")) == len(references)
        assert 0 <= read_json(folder / f"evaluation/{system}/run1/news_test.json")["sacrebleu"] <= 100
        assert (folder / f"evaluation/{system}/run2/news_test.json").exists() == ("base" in row)
        assert (folder / f"tuning/{system}").exists() == ("base" in row)
    check_networks(folder)
    weights = read_json(folder / "tuning/rescored_attention/run2/weights.json")
    assert len(weights["Attention0"]) == 1
    replaced = read_lines(folder / "decoding/full_unk/run1/news_test.hypothesis")
    assert "<unk>" not in " ".join(replaced).split()
    rows = {row["system"] for row in read_csv(folder / "report/attention.csv")}
    assert set(ROWS["systems"]) | {"baseline"} <= rows
    table = [row["system"] for row in read_csv(folder / "report/table1.csv")]
    assert set(ROWS["systems"]) <= set(table)
    assert translated(checkout, [TINY, "rows.yaml"], ROWS["systems"]) == [f"{name} 0 True" for name in ROWS["systems"]]
    assert planned(checkout, *configuration[:-2]) == set()
    check_shards(checkout, folder)


def check_shards(checkout: Path, folder: Path) -> None:
    """Shards of a set make what was made at once."""
    made = folder / "decoding/full_unk/run1/news_test.hypothesis"
    whole = {path: path.read_bytes() for path in (made, made.with_suffix(".align"))}
    made.unlink()
    options = ("--configfile", TINY, "rows.yaml", "--config", "shards=3", "--rerun-triggers", "mtime")
    target = str(made.relative_to(checkout))
    assert planned(checkout, target, *options) == {"translate_attention", "join_attention"}
    done = snakemake(checkout, target, *options, "--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert {path: path.read_bytes() for path in whole} == whole


def check_networks(folder: Path) -> None:
    """Every network is trained on the words it should be, and the epochs of two of them are measured."""
    sizes = {
        name: load_attention(folder / f"training/{name}/model", select_device("cpu")).network.config.target_words
        for name in ("attention", "jean", "full")
    }
    assert sizes["full"] == 103, "and the three reserved words"
    assert sizes["jean"] == sizes["attention"] > 103
    learnt, fixed = (read_csv(folder / f"training/{name}/epochs.csv") for name in ("attention", "attention_fixed"))
    assert [row["epoch"] for row in learnt] == [row["epoch"] for row in fixed] == ["1", "2"]
    assert learnt[0]["perplexity"] == fixed[0]["perplexity"], "the same until the embeddings are fixed"
    assert learnt[1]["perplexity"] != fixed[1]["perplexity"]
    assert not list((folder / "training/jean/epochs").glob("[0-9]*"))
    decoded = {
        system: read_json(folder / f"decoding/{system}/run1/news_test.json") for system in ("limited", "jean", "top_50")
    }
    assert decoded["top_50"]["mean_vocabulary"] < decoded["limited"]["mean_vocabulary"]
    assert decoded["jean"]["mean_vocabulary"] == decoded["top_50"]["mean_vocabulary"]
