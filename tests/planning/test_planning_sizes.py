"""Sizes of texts, what follows from them, and units of work."""

import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml

from neural_smt.errors import UserError
from neural_smt.experiment.configuration import complete
from neural_smt.planning import network_sizes
from neural_smt.planning.jobs import Job
from neural_smt.planning.quantities import (
    HAZARDS,
    Experiment,
    Quantities,
    expected_iterations,
    expected_lists,
    read_lists,
)
from neural_smt.planning.sizes import RATIOS, Text, count_text, count_words, expect_sizes, joined
from neural_smt.planning.throughputs import DOWNLOAD, PACKED, Line, Throughputs, costs, forecast_jobs


@pytest.fixture
def declared() -> dict[str, Any]:
    """An experiment whose texts are elsewhere."""
    side = {"url": "https://example.org/text.gz"}
    size = {"sentences": 1000, "words": 20_000}
    text = {"en": side, "fr": side, "size": size}
    return complete(
        {
            "experiment": "far",
            "languages": {"source": "en", "target": "fr"},
            "corpus": {
                "sources": {name: dict(text) for name in ("pool", "news", "dev", "test")},
                "train": ["pool"],
                "in_domain": ["news"],
                "dev": "dev",
                "test": ["test"],
            },
            "selection": {"method": "axelrod"},
            "plan": {"selected_pairs": 0.25},
            "systems": {"baseline": {"features": ["phrase", "language_model", "reordering"]}},
        }
    )


def job(rule: str, **wildcards: str) -> Job:
    return Job(rule, "", wildcards, (), ("results/far/x",), "", 1, 0, 1000)


def test_words_are_counted_as_they_will_be_tokenised(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("L'été, c'est beau.\nl'été".encode()))
    assert count_text(path) == (2, 4)
    assert count_words(path, True) == (2, 4, {"L'été,", "c'est", "beau.", "l'été"})
    lines, words, distinct = count_words(path, False)
    assert (lines, words) == (2, 9)
    assert distinct == {"L'", "l'", "été", ",", "c'", "est", "beau", "."}


def test_texts_are_joined_and_parted() -> None:
    both = joined([Text(2, {"en": 10, "fr": 12}), Text(1, {"fr": 3})])
    assert (both.lines, both.words, both.both) == (3, {"en": 10, "fr": 15}, 25)
    assert both.part(0.5, 0.2) == Text(1.5, {"en": 2.0, "fr": 3.0})


def test_sizes_follow_from_what_is_declared(declared: dict[str, Any], tmp_path: Path) -> None:
    sizes = expect_sizes(declared, RATIOS | {"kept lines": 0.5, "kept words": 0.5}, tmp_path)
    assert sizes.pool == Text(500, {"en": 10_000, "fr": 10_000})
    # a quarter of the pool beside all of the in-domain text
    assert sizes.data["selected"] == Text(625, {"en": 12_500, "fr": 12_500})
    assert sizes.data["all"] == Text(1000, {"en": 20_000, "fr": 20_000})
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
    assert sizes.sources["pool"] == Text(2, {"en": 5, "fr": 5})
    assert sizes.types == {"en": 5, "fr": 5}


def test_texts_of_unknown_size_are_named(declared: dict[str, Any], tmp_path: Path) -> None:
    del declared["corpus"]["sources"]["dev"]["size"]
    with pytest.raises(UserError, match=r"corpus\.sources\.dev: .* size: \{sentences"):
        expect_sizes(declared, RATIOS, tmp_path)


def test_the_full_size_experiments_declare_all_sizes(repository: Path, tmp_path: Path) -> None:
    for name, pairs in (("wmt14", 1_357.5e6), ("wmt12", 54.5e6)):
        path = repository / "experiments" / f"{name}.yaml"
        config = complete(yaml.safe_load(path.read_text(encoding="utf-8")))
        sizes = expect_sizes(config, RATIOS | {"kept words": 1.0}, tmp_path)
        # the words that the papers count, without the test sets of earlier years
        assert sizes.data["all"].words["fr"] == pytest.approx(pairs, rel=0.01)


def test_iterations_end_by_chance_or_at_the_last() -> None:
    assert expected_iterations(3, 0.0) == 3
    assert expected_iterations(3, 0.5) == pytest.approx(1 + 0.5 + 0.25)
    assert expected_iterations(100, 0.1) == pytest.approx(10, rel=0.01)
    assert read_lists(2) == 1 + 1.75
    assert expected_lists(2, 0.0) == read_lists(2)


def test_multiply_adds_of_networks() -> None:
    gated = {"unit": "gated", "hidden": 10, "embedding": 4, "maxout": 5, "rank": 3}
    read, written = network_sizes.encoder_decoder(gated, 100)
    assert read == 3 * 10 * 14
    assert written == 3 * 10 * 14 + 2 * 5 * 24 + 5 * 3 + 100 * (3 + network_sizes.OUTPUT)
    assert network_sizes.encoder_decoder({**gated, "unit": "tanh"}, 0)[0] == 10 * 14
    small = {"order": 4, "projection": 2, "layers": [6, 5]}
    assert network_sizes.cslm(small, 10) == (3 * 2 * 6 + 6 * 5, 10 * (5 + network_sizes.OUTPUT))


def test_units_of_jobs(declared: dict[str, Any], tmp_path: Path) -> None:
    sizes = expect_sizes(declared, RATIOS | {"kept lines": 1.0, "kept words": 1.0}, tmp_path)
    x = Experiment(declared, sizes, HAZARDS, {"tuning/baseline/run1": 2})

    def quantities(rule: str, **wildcards: str) -> dict[str, float]:
        of, cost = Quantities(job(rule, **wildcards), x), costs()[rule]
        return {kind: of.value(getattr(cost, kind)) for kind in ("cpu", "memory", "disk")}

    assert quantities("tokenise", source="pool", language="fr")["cpu"] == 20_000
    # 25,000 words of each side in 1,250 sentences; five iterations
    declared["alignment"]["aligner"] = "fast_align"
    x = Experiment(declared, sizes, HAZARDS, {"tuning/baseline/run1": 2})
    assert quantities("align", data="far")["cpu"] == 5 * 25_000 * 25_000 / 1250
    rows = sizes.rows["all"]
    assert quantities("build_phrase_table", data="far/data/all") == dict.fromkeys(("cpu", "memory", "disk"), rows)
    tuned = Quantities(job("tune", system="baseline", run="1"), x)
    once = Quantities(job("decode", system="baseline", run="1", set="dev"), x)
    assert tuned["stack_hypotheses"] == 2 * 20_000 * (200 + 600)
    assert once["stack_hypotheses"] == 20_000 * (200 + 100)
    declared["shards"] = 4
    x = Experiment(declared, sizes, HAZARDS, {})
    assert quantities("score_pool", text="train", scatteritem="1-of-4")["cpu"] == pytest.approx(1.167 * 40_000 / 4)
    # every step has all rows of its shard in memory, and does its share of the work
    shard = quantities("count_targets", data="far/data/all", scatteritem="1-of-4")
    assert (shard["memory"], shard["cpu"]) == (rows / 4, pytest.approx(0.2 * rows / 4))


def test_downloads_take_time_of_their_own(declared: dict[str, Any], tmp_path: Path) -> None:
    sizes = expect_sizes(declared, RATIOS, tmp_path)
    rates = Throughputs({"fetch": {"cpu": Line(1.0, 0.0), "memory": Line(5.0, 0.0), "disk": Line(0.0, 2.0)}})
    fetch = job("fetch", source="pool", side="en")
    (far,) = forecast_jobs([fetch], Experiment(declared, sizes, HAZARDS, {}), rates)
    assert (far.seconds, far.disk, far.basis) == (1 + 20_000 * PACKED / DOWNLOAD, 40_000, "assumed")
    declared["data_mirror"] = "/data"
    (near,) = forecast_jobs([fetch], Experiment(declared, sizes, HAZARDS, {}), rates)
    assert (near.seconds, near.basis) == (1.0, "measured")
