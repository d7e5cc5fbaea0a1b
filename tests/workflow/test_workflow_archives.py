"""Archives in the workflow: fetched once for all their members, from a loopback server; the papers' full-size plans."""

import gzip
import re
from pathlib import Path

import published_archives as published
import pytest
import yaml
from checkouts import planned, snakemake


def experiment(address: str) -> dict:
    """An experiment whose pairs are members of one archive, and whose sets are joined out of two kinds."""
    europarl, opus = f"{address}/{published.EUROPARL}", f"{address}/{published.OPUS}"
    return {
        "experiment": "mirrored",
        "languages": {"source": "en", "target": "fr"},
        "corpus": {
            "sources": {
                "europarl": {
                    side: {"url": europarl, "member": f"training/europarl-v7.fr-en.{side}"} for side in ("en", "fr")
                },
                "opus": {side: {"url": opus, "member": f"News.en-fr.{side}"} for side in ("en", "fr")},
                "both": {"join": ["europarl", "opus"]},
                "crawled": {"fr": {"url": f"{address}/news.2013.fr.shuffled.gz"}},
            },
            "train": ["europarl"],
            "monolingual": ["crawled"],
            "dev": "both",
            "test": ["opus"],
        },
        "systems": {"baseline": {"features": ["phrase", "language_model"]}},
    }


@pytest.mark.slow
def test_an_archive_is_downloaded_once(checkout: Path, tmp_path: Path) -> None:
    corpus = checkout / "results" / "mirrored" / "corpus"
    texts = ["extracted/europarl.en.gz", "extracted/europarl.fr.gz", "joined/both.en.gz", "raw/crawled.fr.gz"]
    targets = [str((corpus / text).relative_to(checkout)) for text in texts]
    with published.serve(published.publish(tmp_path / "published")) as server:
        (tmp_path / "mirrored.yaml").write_text(yaml.safe_dump(experiment(server.address)))
        command = [*targets, "--configfile", str(tmp_path / "mirrored.yaml"), "--cores", "2"]
        done = snakemake(checkout, *command)
        assert done.returncode == 0, done.stdout + done.stderr
        expected = [f"/{published.OPUS}", f"/{published.EUROPARL}", "/news.2013.fr.shuffled.gz"]
        assert sorted(server.asked) == sorted(expected)
        assert gzip.decompress((corpus / texts[1]).read_bytes()) == published.TARGET
        assert gzip.decompress((corpus / texts[2]).read_bytes()) == published.SOURCE + published.SOURCE
        assert len(list(corpus.rglob("*.sha256"))) == 3
        (corpus / texts[0]).unlink()  # out of the archive again
        done = snakemake(checkout, *command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(server.asked) == 3, "a second run downloads nothing"
        assert gzip.decompress((corpus / texts[0]).read_bytes()) == published.SOURCE


def counted(checkout: Path, *arguments: str) -> dict[str, int]:
    """How many jobs of each rule a dry run would execute."""
    done = snakemake(checkout, *arguments, "-n", "--quiet", "rules", "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(jobs) for name, jobs in re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE)}


@pytest.mark.slow
def test_dry_run_of_wmt14(checkout: Path) -> None:
    """Five archives of pairs and seven of test sets, seven years of news, every network of both papers."""
    jobs = counted(checkout, "cho2014", "mi2016", "--configfile", "experiments/wmt14.yaml")
    assert (jobs["fetch_archive"], jobs["extract_member"], jobs["fetch"], jobs["join_texts"]) == (12, 24, 7, 2)
    assert jobs["select_pairs"] == jobs["measure_network"] == 1
    assert jobs["train_network"] == 1 + 1 + 6
    assert jobs["tune"] == 4 * 3
    assert {"write_attention_tables", "write_paper_order", "measure_candidates", "measure_epochs"} <= jobs.keys()


@pytest.mark.slow
def test_dry_run_of_wmt12(checkout: Path, tmp_path: Path) -> None:
    """One archive of pairs and three of test sets, five years of news; and, for section 5, without the news."""
    command = ["auli2013", "--configfile", "experiments/wmt12.yaml"]
    jobs = counted(checkout, *command)
    assert (jobs["fetch_archive"], jobs["extract_member"], jobs["fetch"]) == (4, 10, 5)
    assert jobs["tune"] == 3 and jobs["build_representation"] == 14
    assert {"rescore_lattices", "measure_oracles", "write_joint_tables"} <= jobs.keys()
    (tmp_path / "joint.yaml").write_text("experiment: wmt12_joint\ncorpus: {monolingual: []}\n")
    rules = planned(checkout, *command, str(tmp_path / "joint.yaml"))
    assert "fetch" not in rules and {"fetch_archive", "write_joint_tables"} <= rules
