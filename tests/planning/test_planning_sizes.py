"""Sizes of texts, and what follows from them."""

import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml
from refusals import check_refused

from neural_smt.experiment.configuration import complete
from neural_smt.planning.sizes import RATIOS, Text, count_text, count_words, expect_sizes, joined


def test_words_are_counted_as_they_will_be_tokenised(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("L'été, c'est beau.\nl'été".encode()))
    assert count_text(path)[:2] == (2, 4)
    assert count_words(path, True) == (2, 4, {"L'été,", "c'est", "beau.", "l'été"})
    lines, words, distinct = count_words(path, False)
    assert (lines, words) == (2, 9)
    assert distinct == {"L'", "l'", "été", ",", "c'", "est", "beau", "."}


def test_texts_are_joined_and_parted() -> None:
    both = joined([Text(2, 10, 12), Text(1, target=3)])
    assert (both, both.both) == (Text(3, 10, 15), 25)
    assert both.part(0.5, 0.2) == Text(1.5, 2.0, 3.0)


def test_sizes_follow_from_what_is_declared(declared: dict[str, Any], tmp_path: Path) -> None:
    sizes = expect_sizes(declared, RATIOS | {"kept lines": 0.5, "kept words": 0.5}, tmp_path)
    assert sizes.kept["train"] == Text(500, 10_000, 10_000)
    # a quarter of the pool beside all of the in-domain text
    assert sizes.data["selected"] == Text(625, 12_500, 12_500)
    assert sizes.data["all"] == Text(1000, 20_000, 20_000)
    assert sizes.rows["selected"] == pytest.approx(RATIOS["rows per word"] * 12_500)
    assert sizes.types["en"] == pytest.approx(RATIOS["types"] * 20_000**0.5)


def test_texts_that_are_here_are_counted(declared: dict[str, Any], tmp_path: Path) -> None:
    for name in ("pool", "news", "dev", "test"):
        for language in ("en", "fr"):
            folder = tmp_path / "results" / "far" / "corpus" / "tokenised"
            folder.mkdir(parents=True, exist_ok=True)
            shards = {".1-of-2": "a b c\n", ".2-of-2": "d e\n"} if name == "pool" else {"": "a\n"}
            for shard, text in shards.items():
                (folder / f"{name}.{language}{shard}").write_text(text)
    sizes = expect_sizes(declared, RATIOS, tmp_path)
    assert sizes.sources["pool"] == Text(2, 5, 5)
    assert sizes.types == {"en": 5, "fr": 5}


def test_texts_of_unknown_size_are_named(declared: dict[str, Any], tmp_path: Path) -> None:
    del declared["corpus"]["sources"]["dev"]["size"]
    check_refused(["corpus.sources.dev", "size", "sentences"], expect_sizes, declared, RATIOS, tmp_path)


def test_the_full_size_experiments_declare_all_sizes(repository: Path, tmp_path: Path) -> None:
    for name, pairs in (("wmt14", 1_357.5e6), ("wmt12", 54.5e6)):
        path = repository / "experiments" / f"{name}.yaml"
        config = complete(yaml.safe_load(path.read_text(encoding="utf-8")))
        sizes = expect_sizes(config, RATIOS | {"kept words": 1.0}, tmp_path)
        # the words that the papers count, without the test sets of earlier years
        assert sizes.data["all"].target == pytest.approx(pairs, rel=0.01)
