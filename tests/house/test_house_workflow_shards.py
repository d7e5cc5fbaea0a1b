"""The phrase table in shards, as Snakemake makes it: the same table as at once, and nothing left beside it."""

import shutil
from pathlib import Path

import pytest
from workflow import TINY, copy_results, planned, snakemake

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
