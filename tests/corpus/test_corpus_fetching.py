"""Fetching from folders, mirrors and a loopback server."""

import gzip
from pathlib import Path

import published_archives
import pytest
from published_archives import refused, sha256

from neural_smt.corpus import fetching, steps
from neural_smt.io.files import read_lines

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
def running(published):
    with published_archives.serve(published) as running:
        yield running


@pytest.fixture
def server(running) -> str:
    return running.address


def fetch(side, mirror, output):
    steps.fetch(side=side, mirror=None if mirror is None else str(mirror), output=output)


def fails(side, mirror, output) -> str:
    return refused(output, steps.fetch, side=side, mirror=None if mirror is None else str(mirror))


def test_a_gzipped_download_is_kept_byte_for_byte(server, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    fetch({"url": f"{server}/text.fr.gz", "sha256": sha256(PACKED)}, None, output)
    assert output.read_bytes() == PACKED
    assert read_lines(output) == ["une phrase", "une autre"]


def test_a_plain_download_is_compressed_and_checked_as_published(server, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
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


def test_refused_connections_and_schemes(tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    message = fails({"url": "http://127.0.0.1:9/text.gz"}, None, output)
    assert message == (
        "a.fr.gz could not be obtained: http://127.0.0.1:9/text.gz: the connection was refused or broken; "
        "check the path, URL or data_mirror"
    )
    assert "'file' addresses are refused" in fails({"url": "file:///etc/hosts"}, None, output)
    assert "without 'url' and without 'path'" in fails({}, None, output)


def test_damaged_and_unusable_archives(published, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    (published / "short.gz").write_bytes(PACKED[:-6])
    (published / "many.zip").write_bytes(b"PK\x03\x04" + bytes(300))
    (published / "many.tar").write_bytes(bytes(257) + b"ustar" + bytes(300))
    assert "a damaged gzip file" in fails({"path": "short.gz"}, published, output)
    assert "an archive of several files" in fails({"path": "many.zip"}, published, output)
    assert "an archive of several files" in fails({"path": "many.tar"}, published, output)


def test_retries(running, tmp_path, monkeypatch):
    """A server that fails once is asked again."""
    monkeypatch.setattr(fetching, "RETRIES", 1)
    running.failing = True
    output = tmp_path / "out" / "a.fr.gz"
    fetch({"url": f"{running.address}/text.fr.gz"}, None, output)
    assert running.asked == ["/text.fr.gz"] * 2 and output.read_bytes() == PACKED
