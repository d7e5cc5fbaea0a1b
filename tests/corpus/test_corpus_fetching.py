"""Fetching from folders, mirrors and a loopback server; segments of test sets, beside sacreBLEU's reading of them."""

import gzip
import html
from collections.abc import Iterator
from pathlib import Path

import published_archives
import pytest
from published_archives import refused, sha256
from sacrebleu.dataset import DATASETS

from neural_smt.corpus import steps
from neural_smt.corpus.archives import read_segments
from neural_smt.corpus.sources import expand_test_set
from neural_smt.errors import UserError

TEXT = b"une phrase\nune autre\n"
PACKED = gzip.compress(TEXT, mtime=12345)


@pytest.fixture
def published(tmp_path) -> Path:
    folder = tmp_path / "published"
    (folder / "sub").mkdir(parents=True)
    (folder / "text.fr.gz").write_bytes(PACKED)
    (folder / "sub" / "text.fr").write_bytes(TEXT)
    return folder


@pytest.fixture
def server(published) -> Iterator[str]:
    with published_archives.serve(published) as running:
        yield running.address


def fetch(side, mirror, output):
    steps.fetch(side=side, mirror=None if mirror is None else str(mirror), output=output)


def fails(side, mirror, output) -> str:
    return refused(output, steps.fetch, side=side, mirror=None if mirror is None else str(mirror))


def test_a_download_is_checked_as_published_and_kept_gzipped(server, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    fetch({"url": f"{server}/text.fr.gz", "sha256": sha256(PACKED)}, None, output)
    assert output.read_bytes() == PACKED, "byte for byte"
    fetch({"url": f"{server}/sub/text.fr", "sha256": sha256(TEXT).upper()}, None, output)
    assert gzip.decompress(output.read_bytes()) == TEXT


def test_places_are_tried_in_their_order(server, published, tmp_path, monkeypatch):
    """The mirror, a folder or a base URL, then the path, then the URL."""
    monkeypatch.chdir(published)
    nowhere, empty = "http://127.0.0.1:9", tmp_path / "empty"
    for side, mirror, data in (
        ({"url": f"{nowhere}/elsewhere/text.fr.gz"}, published, PACKED),
        ({"url": f"{nowhere}/x.fr", "mirror_path": "sub/text.fr"}, published, TEXT),
        ({"path": "sub/text.fr"}, published, TEXT),
        ({"path": "sub/text.fr", "sha256": sha256(TEXT)}, f"{server}/", TEXT),
        ({"url": f"{server}/text.fr.gz"}, empty, PACKED),
        ({"path": "sub/text.fr"}, empty, TEXT),
        ({"path": str(published / "text.fr.gz")}, None, PACKED),
    ):
        output = tmp_path / "out" / "a.fr.gz"
        fetch(side, mirror, output)
        assert gzip.decompress(output.read_bytes()) == TEXT
        assert data == TEXT or output.read_bytes() == PACKED, "byte for byte"
        output.unlink()


def test_missing_files_are_named(server, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    message = fails({"url": f"{server}/none.gz"}, tmp_path / "empty", output)
    assert f"{tmp_path}/empty/none.gz: no such file" in message
    assert f"{server}/none.gz: the server answered 404 File not found" in message
    assert "no such file" in fails({"path": "nowhere.txt"}, None, output)


def test_refused_connections(tmp_path):
    assert fails({"url": "http://127.0.0.1:9/text.gz"}, None, tmp_path / "out" / "a.fr.gz") == (
        "a.fr.gz could not be obtained: http://127.0.0.1:9/text.gz: the connection was refused or broken; "
        "check the path, URL or data_mirror"
    )


def test_segments_are_those_that_sacrebleu_takes(tmp_path):
    (tmp_path / "set.sgm").write_bytes(published_archives.SGML)
    DATASETS["wmt13"]._convert_format(str(tmp_path / "set.sgm"), str(tmp_path / "set.txt"))
    expected = [html.unescape(line) for line in (tmp_path / "set.txt").read_text(encoding="utf-8").splitlines()]
    assert read_segments(published_archives.SGML, "set.sgm") == expected


def test_segments_over_lines_and_empty_ones():
    data = '<SEG id="1">eins\n  zwei</SEG><seg id="2"></seg>\n<hl><seg id="3"> drei\u00a0vier </seg></hl>'.encode()
    assert read_segments(data, "set.sgm") == ["eins zwei", "", "drei vier"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b'<seg id="1">a\n<seg id="2">b</seg>\n', "set.sgm, line 1: a <seg> without </seg>"),
        (b'<seg id="1">a</seg>\n\n<seg id="2">\xff</seg>\n', "set.sgm, line 3: not valid UTF-8"),
    ],
)
def test_what_is_no_test_set(data, sentence):
    with pytest.raises(UserError) as caught:
        read_segments(data, "set.sgm")
    assert str(caught.value).startswith(sentence)


def test_a_test_set_by_name():
    archive = {
        "url": "https://statmt.org/wmt14/test-full.tgz",
        "md5": "a8cd784e006feb32ac6f3d9ec7eb389a",
        "mirror_path": "wmt14/full/test-full.tgz",
    }
    assert expand_test_set("wmt14/full", "en", "fr") == {
        "en": archive | {"member": "test-full/newstest2014-fren-src.en.sgm"},
        "fr": archive | {"member": "test-full/newstest2014-fren-ref.fr.sgm"},
    }
    assert expand_test_set("wmt11", "fr", "en")["en"]["member"] == "newstest2011-src.en.sgm"


@pytest.mark.parametrize("name", ["wmt99", "wmt20", "iwslt17"])
def test_test_sets_that_cannot_be_had(name):
    sentence = f"sacreBLEU has no test set '{name}' for en-fr in one archive; it has .*wmt14/full"
    with pytest.raises(UserError, match=sentence):
        expand_test_set(name, "en", "fr")
