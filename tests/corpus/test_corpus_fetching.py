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


def test_the_mirror_folder_comes_first(published, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    fetch({"url": "http://127.0.0.1:9/elsewhere/text.fr.gz"}, published, output)
    assert output.read_bytes() == PACKED
    fetch({"url": "http://127.0.0.1:9/x.fr", "mirror_path": "sub/text.fr"}, published, output)
    assert gzip.decompress(output.read_bytes()) == TEXT
    fetch({"path": "sub/text.fr"}, published, output)
    assert gzip.decompress(output.read_bytes()) == TEXT


def test_a_base_url_as_mirror(server, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    fetch({"path": "sub/text.fr", "sha256": sha256(TEXT)}, f"{server}/", output)
    assert gzip.decompress(output.read_bytes()) == TEXT


def test_after_the_mirror_the_path_and_the_url(server, published, tmp_path, monkeypatch):
    output = tmp_path / "out" / "a.fr.gz"
    fetch({"url": f"{server}/text.fr.gz"}, tmp_path / "empty", output)
    assert output.read_bytes() == PACKED
    monkeypatch.chdir(published)
    fetch({"path": "sub/text.fr"}, tmp_path / "empty", output)
    assert gzip.decompress(output.read_bytes()) == TEXT
    fetch({"path": str(published / "text.fr.gz")}, None, output)
    assert output.read_bytes() == PACKED


def test_a_wrong_sha256_is_refused(server, published, tmp_path):
    """A mirror's file is not skipped for the URL."""
    output = tmp_path / "out" / "a.fr.gz"
    url = f"{server}/text.fr.gz"
    for mirror, place in ((None, url), (published, published / "text.fr.gz")):
        assert fails({"url": url, "sha256": "0" * 64}, mirror, output) == (
            f"{place}: its sha256 is {sha256(PACKED)} but the configuration declares {'0' * 64}; "
            "the file has changed or is damaged, so remove it or correct the sha256"
        )


def test_missing_files_are_named(server, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    message = fails({"url": f"{server}/none.gz"}, tmp_path / "empty", output)
    assert f"{tmp_path}/empty/none.gz: no such file" in message
    assert f"{server}/none.gz: the server answered 404 File not found" in message
    assert "no such file" in fails({"path": "nowhere.txt"}, None, output)


def test_refused_connections(tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    message = fails({"url": "http://127.0.0.1:9/text.gz"}, None, output)
    assert message == (
        "a.fr.gz could not be obtained: http://127.0.0.1:9/text.gz: the connection was refused or broken; "
        "check the path, URL or data_mirror"
    )


def test_damaged_and_unusable_archives(published, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    (published / "short.gz").write_bytes(PACKED[:-6])
    (published / "many.zip").write_bytes(b"PK\x03\x04" + bytes(300))
    (published / "many.tar").write_bytes(bytes(257) + b"ustar" + bytes(300))
    assert "a damaged gzip file" in fails({"path": "short.gz"}, published, output)
    assert "an archive of several files" in fails({"path": "many.zip"}, published, output)
    assert "an archive of several files" in fails({"path": "many.tar"}, published, output)


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
        (b"<doc>\n</doc>", "set.sgm: holds no <seg>"),
        (b'<seg id="1">a</seg>\n<seg id="2">b\n', "set.sgm, line 2: a <seg> without </seg>"),
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
