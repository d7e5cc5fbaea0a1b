"""Fetching from folders, mirrors and a loopback server; segments of test sets, beside sacreBLEU's reading of them."""

import gzip
import html
import socket
from functools import partial

import published_archives as published
import pytest
from published_archives import NEWS, PUBLISHED, TARGET, TEST, TEXT, refused, sha256
from refusals import check_refused
from sacrebleu.dataset import DATASETS

from neural_smt.corpus import fetching, steps
from neural_smt.corpus.archives import read_segments

PACKED = published.made(NEWS, PUBLISHED[NEWS])
NOWHERE = "http://127.0.0.1:9"


def test_a_download_is_checked_as_published_and_kept_gzipped(server, tmp_path):
    output = tmp_path / "out" / "a.fr.gz"
    steps.fetch(side={"url": f"{server.address}/{NEWS}", "sha256": sha256(PACKED)}, mirror=None, output=output)
    assert output.read_bytes() == PACKED, "byte for byte"
    steps.fetch(side={"url": f"{server.address}/{TEXT}", "sha256": sha256(TARGET).upper()}, mirror=None, output=output)
    assert gzip.decompress(output.read_bytes()) == TARGET


def test_places_are_tried_in_their_order(server, folder, tmp_path, monkeypatch):
    """The mirror, a folder or a base URL, then the path, then the URL."""
    monkeypatch.chdir(folder)
    empty = str(tmp_path / "empty")
    for side, mirror, data in (
        ({"url": f"{NOWHERE}/elsewhere/{NEWS}"}, str(folder), PACKED),
        ({"url": f"{NOWHERE}/x.fr", "mirror_path": TEXT}, str(folder), TARGET),
        ({"path": TEXT}, str(folder), TARGET),
        ({"path": TEXT, "sha256": sha256(TARGET)}, f"{server.address}/", TARGET),
        ({"url": f"{server.address}/{NEWS}"}, empty, PACKED),
        ({"path": TEXT}, empty, TARGET),
        ({"path": str(folder / NEWS)}, None, PACKED),
    ):
        output = tmp_path / "out" / "a.fr.gz"
        steps.fetch(side=side, mirror=mirror, output=output)
        assert gzip.decompress(output.read_bytes()) == TARGET
        assert data == TARGET or output.read_bytes() == PACKED, "byte for byte"
        output.unlink()


def test_missing_files_and_refused_connections_are_named(server, tmp_path):
    fetch = tmp_path / "out" / "a.fr.gz", steps.fetch
    pieces = f"{tmp_path}/empty/none.gz", "no such file", f"{server.address}/none.gz", "404"
    refused(pieces, *fetch, side={"url": f"{server.address}/none.gz"}, mirror=str(tmp_path / "empty"))
    pieces = "a.fr.gz", f"{NOWHERE}/text.gz", "connection", "data_mirror"
    refused(pieces, *fetch, side={"url": f"{NOWHERE}/text.gz"}, mirror=None)


@pytest.mark.parametrize("page", [b"<!doctype html>\n<title>Log in</title>\n", b"Come back later.\n", b""])
def test_what_a_server_says_instead_of_a_file_is_not_kept_with_its_checksum(server, folder, tmp_path, page):
    output = tmp_path / "out" / "a.fr.gz"
    for name in (NEWS, published.OPUS, published.EUROPARL):
        step = steps.fetch if name == NEWS else steps.fetch_archive
        (folder / name).write_bytes(page)
        url = f"{server.address}/{name}"
        refused(url, output, step, side={"url": url}, mirror=None)
        assert not list(output.parent.iterdir())


def test_servers_that_hang_are_given_up_and_the_log_says_so(server, tmp_path, monkeypatch, caplog):
    """One says nothing at all, the other no more from the middle of the file on."""
    caplog.set_level("INFO")
    for name, value in (("TIMEOUT", 0.2), ("ATTEMPTS", 2), ("TELL_EVERY", 0)):
        monkeypatch.setattr(fetching, name, value)
    monkeypatch.setattr(fetching.time, "sleep", lambda seconds: None)
    server.cut.add(f"/{NEWS}")
    server.waits = 1
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for address in (f"http://127.0.0.1:{silent.getsockname()[1]}", server.address):
            url, output = f"{address}/{NEWS}", tmp_path / "out" / "a.fr.gz"
            refused(["a.fr.gz", url, "0.2 s", "data_mirror"], output, steps.fetch, side={"url": url}, mirror=None)
            said = [message for message in caplog.messages if url in message]
            assert sum("0.2 s" in message for message in said) == 2 and "2 of 2" in " ".join(said)
    steps.fetch(side={"url": f"{server.address}/{TEXT}"}, mirror=None, output=output)
    assert f"{TEXT}: 65.5kB of " in caplog.text


def test_references_are_resolved_in_texts_that_are_declared_so(tmp_path):
    escaped, output = "R&amp;D &lt; 5&nbsp;%\n\nl&#39;&eacute;t&eacute;&#10;\n", tmp_path / "out" / "a.fr.gz"
    for name in ("a.fr", "a.fr.gz", "a.tgz"):
        (tmp_path / name).write_bytes(published.made(name, {"a.fr": escaped} if name == "a.tgz" else escaped))
    extract = partial(steps.extract_member, archive=tmp_path / "a.tgz", member="a.fr")
    for unescape, lines in ((True, "R&D < 5 %\n\nl'été\n"), (False, escaped)):
        for name in ("a.fr", "a.fr.gz"):
            steps.fetch(side={"path": name, "unescape": unescape}, mirror=str(tmp_path), output=output)
            assert gzip.decompress(output.read_bytes()).decode() == lines
        extract(output=output, unescape=unescape)
        assert gzip.decompress(output.read_bytes()).decode() == lines
    assert [path.name for path in output.parent.iterdir()] == ["a.fr.gz"]


def test_files_of_ones_own_may_change(tmp_path):
    text, output = tmp_path / "mine.fr", tmp_path / "out" / "mine.fr.gz"
    for content in (b"une phrase\n", b"une autre\n"):
        text.write_bytes(content)
        steps.fetch(side={"path": str(text)}, mirror=None, output=output)
        assert gzip.decompress(output.read_bytes()) == content
    assert [path.name for path in output.parent.iterdir()] == ["mine.fr.gz"]


def test_joined_texts_end_their_lines(tmp_path):
    texts = [tmp_path / "a", tmp_path / "b.gz", tmp_path / "empty", tmp_path / "c"]
    for text, content in zip(texts, (b"one\ntwo", gzip.compress(b"three\n"), b"", b"four"), strict=True):
        text.write_bytes(content)
    steps.join_texts(texts=texts, output=tmp_path / "all.gz")
    assert gzip.decompress((tmp_path / "all.gz").read_bytes()) == b"one\ntwo\nthree\nfour\n"
    texts[3].write_bytes(b"\xff\n")
    refused([texts[3], "line 1", "UTF-8"], tmp_path / "other.gz", steps.join_texts, texts=texts)


def test_segments_are_those_that_sacrebleu_takes(tmp_path):
    sgml = PUBLISHED[TEST]["test/newstest2013-src.en.sgm"].encode()
    (tmp_path / "set.sgm").write_bytes(sgml)
    DATASETS["wmt13"]._convert_format(str(tmp_path / "set.sgm"), str(tmp_path / "set.txt"))
    expected = [html.unescape(line) for line in (tmp_path / "set.txt").read_text(encoding="utf-8").splitlines()]
    assert read_segments(sgml, "set.sgm") == expected


def test_segments_over_lines_and_empty_ones():
    data = '<SEG id="1">eins\n  zwei</SEG><seg id="2"></seg>\n<hl><seg id="3"> drei\u00a0vier </seg></hl>'.encode()
    assert read_segments(data, "set.sgm") == ["eins zwei", "", "drei vier"]


UNENDED = b'<seg id="1">a\n<seg id="2">b</seg>\n', ["set.sgm", "line 1", "<seg>"]
BROKEN = b'<seg id="1">a</seg>\n\n<seg id="2">\xff</seg>\n', ["set.sgm", "line 3", "UTF-8", "0xff"]
MIXED = b'<src><seg id="1">a</seg></src><ref><seg id="1">b</seg></ref>', ["set.sgm", "ref, src"]


@pytest.mark.parametrize(("data", "pieces"), [UNENDED, BROKEN, MIXED])
def test_what_is_no_test_set(data, pieces):
    check_refused(pieces, read_segments, data, "set.sgm")
