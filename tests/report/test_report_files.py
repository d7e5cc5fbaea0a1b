"""Files that the report is made from, and its pages, by the configuration of an experiment."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.experiment.configuration import complete
from neural_smt.report.files import EVERY_PAGE, ReportFiles, every, listed_paths

TRANSLATING = {"networks": {"attention": {"kind": "attention", "learning_curve": True}}}
TRANSLATING |= {"systems": {"limited": {"features": [], "translate": {"network": "attention"}}}}


def files(repository: Path, **further: dict[str, Any]) -> ReportFiles:
    """Of the tiny experiment, with further entries in its sections."""
    config = yaml.safe_load((repository / "experiments" / "tiny.yaml").read_text(encoding="utf-8"))
    for section, entries in further.items():
        config[section] = config.get(section, {}) | entries if isinstance(entries, dict) else entries
    return ReportFiles(complete(config))


def test_paths_of_nested_files_and_of_all_values() -> None:
    nested = {"a": ["results/x", {"b": "results/y", "kept": "best", "most": 3}]}
    assert listed_paths(nested, "results/z") == ["results/x", "results/y", "results/z"]
    assert every("{a}.{b}", a=[1, 2], b="xy") == ["1.x", "1.y", "2.x", "2.y"]


def test_every_page_of_an_experiment_has_what_it_shows(repository: Path) -> None:
    pages = files(repository).pages()
    assert {"systems", "networks", "curve_encoder_decoder", "figure4_cho2014", "costs"} <= pages.keys()
    assert not {"tables_auli2013", "tables_mi2016", "classes", "data", "scaling", "map", "curve_cslm"} & pages.keys()
    assert pages["curve_encoder_decoder"]["title"] == "Learning curve: encoder_decoder"
    assert pages["curve_encoder_decoder"]["figures"] == ["training/encoder_decoder/curve.png"]
    assert pages["cleaning"]["tables"][0] == "corpus/cleaning.train.csv"
    for page in [*pages.values(), *EVERY_PAGE.values()]:
        assert page["part"] and page["title"] and page["about"]


def test_attention_networks_have_one_run_and_pages(repository: Path) -> None:
    found = files(repository, **TRANSLATING)
    assert {"tables_mi2016", "vocabularies", "curve_attention"} <= found.pages().keys()
    assert found.runs("limited") == [1]
    made_from = found.attention()
    assert made_from["systems"]["limited"]["network"] == "attention"
    assert set(made_from["curves"]["attention"]) == {"model", "curve", "held_out"}
    assert "results/tiny/training/attention/epochs.csv" in listed_paths(made_from)


@pytest.mark.parametrize("count", [1, 3])
def test_benchmarks_are_those_of_all_shards(repository: Path, count: int) -> None:
    jobs = [job.removeprefix("results/tiny/benchmarks/") for job in files(repository, shards=count).benchmarks()]
    shards = [f".{number}-of-{count}.tsv" for number in range(1, count + 1)] if count > 1 else [".tsv"]
    decoded = {f"{name}.run1.{part}" for name in ("baseline", "rnn") for part in ("news_dev", "news_test")}
    for rule, names in (
        ("decoding/decode/", decoded),
        ("rescoring/score_phrase_table.", {"encoder_decoder.extracted"}),
        ("phrases/extract_phrases", {""} if count > 1 else ()),
    ):
        expected = {f"{rule}{name}{shard}" for name in names for shard in shards}
        assert {job for job in jobs if job.startswith(rule)} == expected
    assert len(jobs) == len(set(jobs))
