"""Shards share the work of a stage, and make the same bytes as one job does."""

import shutil
from pathlib import Path

import pytest
from checkouts import TINY, copy_results, dry_run, planned, run, write_rows

from neural_smt.io.files import read_json

PHRASES = {"extract_phrases", "consolidate_phrases", "count_targets", "score_phrases"}
SELECTION = {"train_selection_models", "score_pool"}
JOINS = {"join_translations", "join_lists", "join_scores", "join_columns"}
"""Rules that only several shards need: a whole text takes less time in one job, which joins nothing."""

RESCORED = {
    "networks": {"cslm": {"order": 4, "projection": 8, "layers": [16, 8], "updates": 60}},
    "systems": {"rescored": {"base": "rnn", "features": [], "rescore": ["cslm"]}},
}

COLUMN = "rescoring/extracted/encoder_decoder"
TRANSLATION = "decoding/rnn/run1/news_test"
REMADE = {
    "decoding": {f"{TRANSLATION}.hypothesis": {"decode", "join_translations"}},
    "rescoring": {f"{COLUMN}.safetensors": {"score_phrase_table", "join_columns"}},
    "phrases": {"phrases/table": PHRASES | {"build_phrase_table"}},
    "selection": {
        "selection/train.fr": SELECTION | {"tokenise", "clean_pairs", "select_pairs"},
        "selection/monolingual.fr": SELECTION | {"select_text"},
    },
}
"""What is made again in shards, and the rules that do it, one stage after the other against the flow of the data."""

CLEANED = ("train.en", "train.fr", "cleaning.train.csv")
"""The text that selection chooses from, and what it is made of."""

SAME = (".hypothesis", ".safetensors", ".fr", ".en", ".gz", ".csv")
"""Files that hold no times, and no plots."""


def test_shards_share_the_work_of_a_stage(checkout: Path, tmp_path: Path) -> None:
    stages = ("selection", "phrases", "decoding", "--configfile", TINY, write_rows(tmp_path, RESCORED))
    one, three = (dry_run(checkout, *stages, "--config", f"shards={count}").jobs for count in (1, 3))
    assert three.keys() == one.keys() | PHRASES | SELECTION | JOINS and not (PHRASES | SELECTION | JOINS) & one.keys()
    assert three["score_pool"] == 3 * three["train_selection_models"]
    shared = {"decode", "decode_lists", "score_lists", "score_phrase_table"}
    assert {rule: three[rule] / one[rule] for rule in shared} == dict.fromkeys(shared, 3)


@pytest.mark.slow
def test_what_shards_make_has_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    copy, whole = copy_results(finished, tmp_path / "shards"), finished / "results/tiny"
    made = copy / "results/tiny"
    for name in CLEANED:
        (made / "corpus" / name).unlink()
    # what is already there came about otherwise than in shards, but is the same
    options = ("--configfile", TINY, "--config", "shards=4", "--rerun-triggers", "mtime")
    for stage, files in REMADE.items():
        shutil.rmtree(made / stage)
        targets = [f"results/tiny/{name}" for name in files]
        assert planned(copy, *targets, *options) == set().union(*files.values())
        run(copy, *targets, *options)
        assert planned(copy, *targets, *options) == set()
        assert not list((made / stage).glob("**/*-of-*")), "what the shards leave is temporary"
        compared = [path for path in (made / stage).rglob("*") if path.suffix in SAME or path.parent.name == "table"]
        for path in compared:
            assert path.read_bytes() == (whole / path.relative_to(made)).read_bytes(), path.name
        assert {made / name for name in files} <= {*compared, *(path.parent for path in compared)}
    assert len(list((made / "benchmarks/phrases").glob("consolidate_phrases.*-of-4.tsv"))) == 4
    for name in CLEANED:
        assert (made / "corpus" / name).read_bytes() == (whole / "corpus" / name).read_bytes()
    for name, timed in ((COLUMN, {"seconds", "pairs_per_second"}), (TRANSLATION, {"seconds", "sentences_per_second"})):
        found, expected = (read_json(folder / f"{name}.json") for folder in (made, whole))
        assert found.keys() == expected.keys()
        assert all(found[key] == expected[key] for key in found.keys() - timed)
