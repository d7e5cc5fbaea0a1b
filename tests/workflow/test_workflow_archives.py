"""Archives in the workflow: fetched once for all their members, from a loopback server."""

import gzip
from pathlib import Path

import published_archives as published
import pytest
from checkouts import refused, run, write_rows


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
        "check": {"texts": False},  # one text stands for several sets
    }


@pytest.mark.slow
def test_an_archive_is_downloaded_once(checkout: Path, tmp_path: Path) -> None:
    corpus = checkout / "results" / "mirrored" / "corpus"
    texts = ["extracted/europarl.en.gz", "extracted/europarl.fr.gz", "joined/both.en.gz", "raw/crawled.fr.gz"]
    targets = [str((corpus / text).relative_to(checkout)) for text in texts]
    with published.serve(published.publish(tmp_path / "published")) as server:
        command = [*targets, "--configfile", write_rows(tmp_path, experiment(server.address))]
        run(checkout, *command)
        expected = [f"/{published.OPUS}", f"/{published.EUROPARL}", "/news.2013.fr.shuffled.gz"]
        assert sorted(server.asked) == sorted(expected)
        assert gzip.decompress((corpus / texts[1]).read_bytes()) == published.TARGET
        assert gzip.decompress((corpus / texts[2]).read_bytes()) == published.SOURCE + published.SOURCE
        assert len(list(corpus.rglob("*.sha256"))) == 3
        (corpus / texts[0]).unlink()  # out of the archive again
        run(checkout, *command)
        assert len(server.asked) == 3, "a second run downloads nothing"
        (corpus / texts[3]).unlink()
        (tmp_path / "published" / published.NEWS).unlink()
        assert "the server answered 404" in refused(checkout, *command, "--retries", "2")
        assert server.asked[3:] == [f"/{published.NEWS}"], "no job is repeated"
        assert gzip.decompress((corpus / texts[0]).read_bytes()) == published.SOURCE
