"""Members of archives: fetched from a loopback server laid out as WMT's, refused where they leave their folder."""

import gzip
import hashlib
import os
from functools import partial
from pathlib import Path

import published_archives as published
import pytest
import yaml
from published_archives import made, refused, sha256
from refusals import check_refused

from neural_smt.corpus import archives, fetching, steps
from neural_smt.corpus.sources import archive_name, collect_archives, expand_test_set

TABLES = yaml.safe_load(Path(__file__).with_name("archives.yaml").read_text(encoding="utf-8"))
ENGLISH = "training/europarl-v7.fr-en.en"


def extract(archive: Path, member: str, output: Path) -> bytes:
    steps.extract_member(archive=archive, member=member, output=output)
    return gzip.decompress(output.read_bytes())


@pytest.mark.parametrize(("archive", "member", "text"), TABLES["members"])
def test_members_of_every_kind_of_archive(folder, tmp_path, archive, member, text):
    for name, kind in (("plain", "tar"), ("bzipped", "tar.bz2"), ("xzipped", "tar.xz")):
        (folder / name).write_bytes(made(f"a.{kind}", {"./training/a.en": published.SOURCE, "b": "x"}))
    output = tmp_path / "out" / "a.en.gz"
    assert extract(folder / archive, member, output) == text.encode()
    first = output.read_bytes()
    assert not member.endswith(".gz") or first == made(member, text), "what is gzipped is kept byte for byte"
    assert extract(folder / archive, member, output) and output.read_bytes() == first, "always the same"


@pytest.mark.parametrize(("name", "members", "member", "pieces"), TABLES["refused"])
def test_members_that_are_refused(tmp_path, name, members, member, pieces):
    archive = tmp_path / name
    archive.write_bytes(made(name, members))
    pieces = pieces or [f"'{member}'", "archive"]
    refused(pieces, tmp_path / "a.gz", steps.extract_member, archive=archive, member=member)


def test_an_archive_of_names_that_leave_their_folder_writes_nothing_there(tmp_path):
    """Such names are never used, nor taken for what they would amount to."""
    outside = {"../outside.en": "bad\n", "/outside.en": "bad\n", "in/../text.en": "bad\n", "in/text.en": "good\n"}
    output = tmp_path / "deep" / "er" / "a.en.gz"
    for name in ("a.tgz", "a.zip"):
        (tmp_path / name).write_bytes(made(name, outside))
        assert extract(tmp_path / name, "in/text.en", output) == b"good\n"
        for member in ("text.en", "outside.en"):
            given = {"archive": tmp_path / name, "member": member}
            refused([name, "no member", member], tmp_path / "b.gz", steps.extract_member, **given)
        assert {path for path in tmp_path.rglob("*") if path.is_file()} == {output, *tmp_path.glob("a.*")}


def test_encrypted_files_of_zip_are_refused(tmp_path):
    archive, data = tmp_path / "a.zip", bytearray(made("a.zip", {"a.en": "text\n"}))
    data[6] |= 1  # of the local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # of the directory
    archive.write_bytes(data)
    given = {"archive": archive, "member": "a.en"}
    refused([archive, "a.en", "encrypted"], tmp_path / "a.gz", steps.extract_member, **given)


@pytest.mark.parametrize("name", ["a.tgz", "a.tar.bz2", "a.tar.xz", "a.tar", "a.zip", "text.tgz"])
def test_damaged_archives_are_refused_at_the_download(tmp_path, name):
    """Cut off, and with one byte changed in the middle; and what is no archive."""
    # does not shrink, so that the middle is data
    data = made(name, {"a.en": os.urandom(40_000), "b.en": "text\n"})
    half = len(data) // 2
    damaged = [data[:half], data[:half] + bytes([data[half] ^ 0xFF]) + data[half + 1 :]]
    if name == "a.tar":  # holds no checksum of data
        del damaged[1]
    for content in [gzip.compress(b"text alone\n")] if name == "text.tgz" else damaged:
        (tmp_path / name).write_bytes(content)
        side = {"path": name, "member": "b.en"}
        pieces = tmp_path / name, "damaged"
        refused(pieces, tmp_path / "out" / name, steps.fetch_archive, side=side, mirror=str(tmp_path))


def test_a_tar_archive_that_was_cut_off_before_it_was_compressed(tmp_path):
    """All checksums are right; that the member is short shows where it is read."""
    archive = tmp_path / "a.tgz"
    archive.write_bytes(gzip.compress(made("a.tar", {"a.en": bytes(100_000)})[:50_000]))
    refused([archive, "damaged"], tmp_path / "a.gz", steps.extract_member, archive=archive, member="a.en")


@pytest.mark.parametrize("name", ["a.tgz", "a.zip"])
def test_members_are_read_a_piece_at_a_time(tmp_path, name):
    data = os.urandom(3 * archives.PIECE + 5)
    (tmp_path / name).write_bytes(made(name, {"a": data}))
    pieces = list(archives.member_pieces(tmp_path / name, "a"))
    assert max(map(len, pieces)) <= archives.PIECE
    assert b"".join(pieces) == data


def test_an_archive_is_kept_as_it_is_published(server, folder, tmp_path):
    output = tmp_path / "out" / "deep" / "europarl.tgz"
    steps.fetch_archive(side={"url": f"{server.address}/{published.EUROPARL}"}, mirror=None, output=output)
    assert output.read_bytes() == (folder / published.EUROPARL).read_bytes()
    assert output.stat().st_mode & 0o777 == 0o644
    steps.fetch_archive(side={"url": "http://127.0.0.1:9/wmt13/en-fr.txt.zip"}, mirror=str(folder), output=output)
    assert output.read_bytes() == (folder / published.OPUS).read_bytes()
    assert (folder / published.OPUS).is_file(), "a mirror keeps its files"


def test_a_broken_transfer(server, tmp_path):
    """A server that sends half of what it promised: nothing is kept, and the next attempt begins anew."""
    url = f"{server.address}/{published.EUROPARL}"
    server.cut.add(f"/{published.EUROPARL}")
    output = tmp_path / "out" / "europarl.tgz"
    pieces = "europarl.tgz", url, "broke off", "data_mirror"
    refused(pieces, output, steps.fetch_archive, side={"url": url}, mirror=None)
    assert not list(output.parent.iterdir()), "no checksum of half a file is recorded"
    server.cut.clear()
    steps.fetch_archive(side={"url": url}, mirror=None, output=output)
    assert extract(output, ENGLISH, tmp_path / "a.gz") == published.SOURCE


@pytest.mark.parametrize("breaks", [True, False])
def test_a_transfer_that_fails_once_is_tried_again(server, tmp_path, monkeypatch, breaks):
    """It breaks off, or the server answers that it cannot."""
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    monkeypatch.setattr("time.sleep", lambda _: server.cut.clear())
    if breaks:
        server.cut.add(f"/{published.OPUS}")
    server.failing = not breaks
    output = tmp_path / "out" / "opus.zip"
    steps.fetch_archive(side={"url": f"{server.address}/{published.OPUS}"}, mirror=None, output=output)
    assert extract(output, "News.en-fr.en", tmp_path / "a.gz") == published.SOURCE
    assert server.asked == [f"/{published.OPUS}"] * 2


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_wrong_checksums_of_archives(server, folder, tmp_path, algorithm):
    """A mirror's file is not skipped for the URL."""
    good = hashlib.new(algorithm, (folder / published.EUROPARL).read_bytes()).hexdigest()
    bad = "0" * len(good)
    url, output = f"{server.address}/{published.EUROPARL}", tmp_path / "out" / "europarl.tgz"
    for mirror, place in ((None, url), (str(folder), folder / published.EUROPARL)):
        side = {"url": url, algorithm: bad}
        refused([place, algorithm, good, bad], output, steps.fetch_archive, side=side, mirror=mirror)
        steps.fetch_archive(side={"url": url, algorithm: good}, mirror=mirror, output=output)
        output.unlink()


def test_the_checksum_of_the_first_download_holds(server, folder, tmp_path):
    output, record = tmp_path / "out" / "europarl.tgz", tmp_path / "out" / "europarl.tgz.sha256"
    side = {"url": f"{server.address}/{published.EUROPARL}"}
    fetch = partial(steps.fetch_archive, mirror=None, output=output)
    fetch(side=side)
    known = sha256((folder / published.EUROPARL).read_bytes())
    assert record.read_text() == f"{known}  {side['url']}\n"
    (folder / published.EUROPARL).write_bytes(made(published.EUROPARL, {ENGLISH: "another text\n"}))
    other = sha256((folder / published.EUROPARL).read_bytes())
    output.unlink()
    refused([side["url"], other, known, record], output, steps.fetch_archive, side=side, mirror=None)
    fetch(side=side | {"sha256": other})
    assert record.read_text().startswith(known), "what is declared needs no record"
    record.write_text("nonsense\n")
    check_refused(["line 1", "SHA-256"], fetch, side=side)
    record.unlink()
    fetch(side=side)
    assert record.read_text() == f"{other}  {side['url']}\n"
    elsewhere = {"url": f"{server.address}/{published.OPUS}"}
    fetch(side=elsewhere)
    assert record.read_text().endswith(f"  {elsewhere['url']}\n"), "another address is another file"
    text = {"url": f"{server.address}/{published.NEWS}"}
    steps.fetch(side=text, mirror=None, output=tmp_path / "news.fr.gz")
    known = sha256((tmp_path / "news.fr.gz").read_bytes())
    assert (tmp_path / "news.fr.gz.sha256").read_text() == f"{known}  {text['url']}\n"


def test_archives_are_collected_once():
    url = "https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz"
    sides = {"en": {"url": url, "member": "a.en", "sha256": "1" * 64}, "fr": {"url": url, "member": "a.fr"}}
    sources = {"europarl": sides, "pool": {"part": "train"}, "plain": {"fr": {"path": "x.fr"}, "tokenised": True}}
    name = "www.statmt.org/wmt13/training-parallel-europarl-v7.tgz"
    assert collect_archives(sources) == {name: {"url": url, "sha256": "1" * 64}}


@pytest.mark.parametrize(("side", "name"), TABLES["names"])
def test_archives_are_kept_under_names_that_are_safe(side, name):
    assert archive_name(side) == name


@pytest.mark.parametrize(("name", "source", "target", "sides"), TABLES["test_sets"])
def test_a_test_set_by_name(name, source, target, sides):
    assert expand_test_set(name, source, target) == sides


@pytest.mark.parametrize("name", ["wmt99", "wmt20", "iwslt17"])
def test_test_sets_that_cannot_be_had(name):
    check_refused(["sacreBLEU", f"'{name}'", "wmt14/full"], expand_test_set, name, "en", "fr")
