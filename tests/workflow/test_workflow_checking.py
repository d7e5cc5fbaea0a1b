"""Texts of one's own that do not fit: a dry run says so, and a start stops in its first job."""

from pathlib import Path

import pytest
import yaml
from checkouts import TINY, link_checkout, planned, refused, run, write_rows
from refusals import check_named

SOURCES = {"pool": "talks", "news": "inside", "news_dev": "tuned", "news_test": "short", "news_gold": "talks"}


@pytest.fixture(scope="module")
def ours(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with texts of its own in place of the generated ones; the sides of its test set differ in length."""
    folder = link_checkout(repository, tmp_path_factory.mktemp("ours"))
    lengths = dict.fromkeys(
        (f"{name}.{side}" for name in ("talks", "inside", "tuned", "more") for side in ("en", "fr")), 4
    )
    for name, lines in (lengths | {"short.en": 3, "short.fr": 2}).items():
        (folder / name).write_text("a line\n" * lines)
    config = yaml.safe_load((folder / TINY).read_text(encoding="utf-8"))
    sources = {name: {side: {"path": f"{text}.{side}"} for side in ("en", "fr")} for name, text in SOURCES.items()}
    config["corpus"] |= {"sources": sources, "monolingual": [], "gold": []}
    (folder / "ours.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return folder


def test_a_dry_run_reads_texts_that_are_here(ours: Path, tmp_path: Path) -> None:
    check_named(refused(ours, "-n", "--configfile", "ours.yaml"), ["short.en", "3 lines", "short.fr", 2])
    rules = planned(ours, "--configfile", "ours.yaml", write_rows(tmp_path, {"check": {"texts": False}}))
    assert {"fetch", "check_experiment", "tokenise", "align"} <= rules


def test_a_start_stops_in_its_first_job(ours: Path) -> None:
    english, french = (f"results/tiny/corpus/raw/news_test.{side}.gz" for side in ("en", "fr"))
    told = refused(ours, "phrases", "--configfile", "ours.yaml")
    check_named(told, ["error", english, "3 lines", french, 2])
    made = ours / "results" / "tiny" / "corpus"
    assert (made / "raw" / "pool.en.gz").is_file()
    assert not (made / "checked.json").exists() and not (made / "tokenised").exists()


@pytest.mark.slow
def test_another_text_does_not_make_the_others_again(ours: Path, tmp_path: Path) -> None:
    (ours / "short.fr").write_text("a line\n" * 3)
    target = "results/tiny/corpus/tokenised/pool.en"
    run(ours, target, "--configfile", "ours.yaml", "--forcerun", "fetch")
    assert (ours / target).read_text() == "a line\n" * 4
    assert not planned(ours, target, "--configfile", "ours.yaml")
    more = {"more": {side: {"path": f"more.{side}"} for side in ("en", "fr")}}
    corpus = {"sources": more, "test": ["news_test", "more"]}
    again = planned(ours, target, "--configfile", "ours.yaml", write_rows(tmp_path, {"corpus": corpus}))
    assert "check_experiment" in again
    assert "tokenise" not in again


def test_a_place_that_cannot_be_written_gets_a_sentence(repository: Path, tmp_path: Path) -> None:
    folder = link_checkout(repository, tmp_path / "checkout")
    (folder / ".snakemake").mkdir()
    (folder / ".snakemake" / "runs").touch()
    check_named(refused(folder, "--configfile", TINY), ["\n.snakemake/runs", "File exists"])
