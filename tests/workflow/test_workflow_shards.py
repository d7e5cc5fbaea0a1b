"""The phrase table in shards, as Snakemake makes it: the same table as at once, and nothing left beside it."""

import shutil
from pathlib import Path

import pytest
import yaml
from checkouts import TINY, copy_results, planned, snakemake

from neural_smt.io.files import read_json

IN_SHARDS = {
    "extract_phrases",
    "consolidate_phrases",
    "count_targets",
    "score_phrases",
}


def test_the_number_of_shards_is_a_setting(checkout: Path) -> None:
    target = "results/tiny/phrases/table"
    in_shards = planned(checkout, target, "--configfile", TINY, "--config", "shards=3")
    assert in_shards >= IN_SHARDS | {"build_phrase_table"}
    at_once = planned(checkout, target, "--configfile", TINY)
    assert "build_phrase_table" in at_once
    assert not IN_SHARDS & at_once


@pytest.mark.slow
def test_a_table_made_in_shards_has_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    run = copy_results(finished, tmp_path / "shards")
    phrases = run / "results" / "tiny" / "phrases"
    shutil.rmtree(phrases / "table")
    # what is already there came about otherwise than in shards, but is the same
    options = ("results/tiny/phrases/table", "--configfile", TINY, "--config", "shards=4", "--rerun-triggers", "mtime")
    assert planned(run, *options) == IN_SHARDS | {"build_phrase_table"}
    done = snakemake(run, *options, "--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    made, whole = (
        {path.name: path.read_bytes() for path in (folder / "table").iterdir() if path.suffix}
        for folder in (phrases, finished / "results" / "tiny" / "phrases")
    )
    assert made == whole
    assert not list(phrases.glob("shards/*/*")), "what the shards leave is temporary"
    assert len(list((run / "results/tiny/benchmarks/phrases").glob("consolidate_phrases.*-of-4.tsv"))) == 4
    assert planned(run, *options) == set()


SHARDED = {
    "selection": {"train_selection_models", "score_pool"},
    "decoding": {"decode_shard", "join_translations"},
}
LISTS = {"decode_lists_shard", "join_lists"}
AT_ONCE = {"decode", "decode_lists"}
RESCORED = {
    "networks": {"cslm": {"order": 4, "projection": 8, "layers": [16, 8], "updates": 60}},
    "systems": {"rescored": {"base": "rnn", "features": [], "rescore": ["cslm"]}},
}

COLUMN = "rescoring/extracted/encoder_decoder"
TRANSLATION = "decoding/rnn/run1/news_test"
REMADE = {
    "decoding": {f"{TRANSLATION}.hypothesis": {"decode_shard", "join_translations"}},
    "rescoring": {f"{COLUMN}.safetensors": {"score_phrase_table", "join_columns"}},
    "selection": {
        "selection/train.fr": SHARDED["selection"] | {"tokenise", "clean_pairs", "select_pairs"},
        "selection/monolingual.fr": {"train_selection_models", "score_pool", "select_text"},
    },
}
"""What is made again in shards, and the rules that do it, one stage after the other against the flow of the data."""

CLEANED = ("train.en", "train.fr", "cleaning.train.csv")
"""The text that selection chooses from, and what it is made of."""

SAME = (".hypothesis", ".safetensors", ".fr", ".en", ".gz", ".csv")
"""Files that hold no times, and no plots."""


@pytest.mark.parametrize("stage", SHARDED)
def test_shards_share_the_work_of_a_stage(checkout: Path, stage: str) -> None:
    at_once = planned(checkout, stage, "--configfile", TINY)
    in_shards = planned(checkout, stage, "--configfile", TINY, "--config", "shards=4")
    assert in_shards >= SHARDED[stage]
    assert not SHARDED[stage] & at_once
    assert not AT_ONCE & in_shards


def test_shards_list_and_rescore(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.yaml").write_text(yaml.safe_dump(RESCORED), encoding="utf-8")
    files = ("results/tiny/tuning/rescored/run1/weights.json", "--configfile", TINY, str(tmp_path / "rows.yaml"))
    in_shards = planned(checkout, *files, "--config", "shards=4")
    assert in_shards >= LISTS
    assert not AT_ONCE & in_shards
    assert not LISTS & planned(checkout, *files)


@pytest.mark.slow
def test_what_shards_make_has_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    run, whole = copy_results(finished, tmp_path / "shards"), finished / "results/tiny"
    made = run / "results/tiny"
    for name in CLEANED:
        (made / "corpus" / name).unlink()
    # what is already there came about otherwise than in shards, but is the same
    options = ("--configfile", TINY, "--config", "shards=4", "--rerun-triggers", "mtime")
    for stage, files in REMADE.items():
        shutil.rmtree(made / stage)
        targets = [f"results/tiny/{name}" for name in files]
        assert planned(run, *targets, *options) == set().union(*files.values())
        done = snakemake(run, *targets, *options, "--cores", "2")
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        assert not list((made / stage).glob("**/*-of-*")), "what the shards leave is temporary"
        compared = [path for path in (made / stage).glob("**/*") if path.suffix in SAME]
        for path in compared:
            assert path.read_bytes() == (whole / path.relative_to(made)).read_bytes(), path.name
        assert {made / name for name in files} <= set(compared)
    for name in CLEANED:
        assert (made / "corpus" / name).read_bytes() == (whole / "corpus" / name).read_bytes()
    for name, timed in ((COLUMN, {"seconds", "pairs_per_second"}), (TRANSLATION, {"seconds", "sentences_per_second"})):
        found, expected = (read_json(folder / f"{name}.json") for folder in (made, whole))
        assert found.keys() == expected.keys()
        assert all(found[key] == expected[key] for key in found.keys() - timed)
