"""Attention networks as a user runs them: from text to their tables on the tiny experiment."""

from pathlib import Path

import pytest
import torch
from checkouts import TINY, copy_results, planned, run, translated

from neural_smt.io.files import read_csv, read_json, read_lines, read_yaml
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.folder import Trained

ROWS = Path(__file__).with_name("attention_rows.yaml")


@pytest.mark.slow
def test_rows_of_attention_networks_come_out(finished: Path, tmp_path: Path) -> None:
    checkout = copy_results(finished, tmp_path / "checkout")
    configuration = ["mi2016", "--configfile", TINY, str(ROWS)]
    run(checkout, *configuration)
    folder, systems = checkout / "results" / "tiny", read_yaml(ROWS)["systems"]
    references = read_lines(folder / "corpus/tokenised/news_test.fr")
    for system, row in systems.items():
        assert len(read_lines(folder / f"decoding/{system}/run1/news_test.hypothesis")) == len(references)
        assert 0 <= read_json(folder / f"evaluation/{system}/run1/news_test.json")["sacrebleu"] <= 100
        assert (folder / f"evaluation/{system}/run2/news_test.json").exists() == ("base" in row)
        assert (folder / f"tuning/{system}").exists() == ("base" in row)
    check_networks(folder)
    for system in ("rescored_attention", "attention_lattices"):
        assert len(read_json(folder / f"tuning/{system}/run2/weights.json")["Attention0"]) == 1
    assert {"Attention0", "Attention1", "Recurrent0"} <= read_json(folder / "tuning/together/run1/weights.json").keys()
    replaced = read_lines(folder / "decoding/full_unk/run1/news_test.hypothesis")
    assert "<unk>" not in " ".join(replaced).split()
    rows = {row["system"] for row in read_csv(folder / "report/attention.csv")}
    assert {"baseline", *systems} - {"attention_lattices", "together"} <= rows
    table = [row["system"] for row in read_csv(folder / "report/table1.csv")]
    assert set(systems) <= set(table)
    assert translated(checkout, configuration[2:], systems) == [f"{name} 0 True" for name in systems]
    assert planned(checkout, *configuration) == set()
    check_shards(checkout, folder)


def check_shards(checkout: Path, folder: Path) -> None:
    """Shards of a set make what was made at once."""
    made = folder / "decoding/full_unk/run1/news_test.hypothesis"
    whole = {path: path.read_bytes() for path in (made, made.with_suffix(".align"))}
    made.unlink()
    options = ("--configfile", TINY, str(ROWS), "--config", "shards=3", "--rerun-triggers", "mtime")
    target = str(made.relative_to(checkout))
    assert planned(checkout, target, *options) == {"translate_attention", "join_attention"}
    run(checkout, target, *options)
    assert {path: path.read_bytes() for path in whole} == whole


def check_networks(folder: Path) -> None:
    """Every network is trained on the words it should be, and the epochs of two of them are measured."""
    cpu = torch.device("cpu")
    sizes = {
        name: Trained.load(folder / f"training/{name}/model", AttentionNetwork, cpu).network.config.target_words
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
