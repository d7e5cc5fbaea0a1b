"""Members of archives: fetched from a loopback server laid out as WMT's, refused where they leave their folder."""

import gzip
import hashlib
import os
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import published_archives as published
import pytest
from published_archives import refused, sha256

from neural_smt.corpus import archives, fetching, steps
from neural_smt.corpus.sources import archive_name, collect_archives
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines

ENGLISH = "training/europarl-v7.fr-en.en"


@pytest.fixture
def folder(tmp_path) -> Path:
    return published.publish(tmp_path / "published")


@pytest.fixture
def server(folder):
    with published.serve(folder) as running:
        yield running


def extract(archive: Path, member: str, output: Path) -> bytes:
    steps.extract_member(archive=archive, member=member, output=output)
    return gzip.decompress(output.read_bytes())


def test_members_of_every_kind_of_archive(folder, tmp_path):
    output = tmp_path / "out" / "a.en.gz"
    for kind in ("w:", "w:bz2", "w:xz"):  # what an archive is shows in the file, not in its name
        (folder / kind).write_bytes(published.packed({"./training/a.en": published.SOURCE, "b": b"x"}, kind))
    for archive, member, text in (
        (published.EUROPARL, ENGLISH, published.SOURCE),
        (published.EUROPARL, "./training//europarl-v7.fr-en.fr", published.TARGET),
        (published.OPUS, "News.en-fr.fr", published.TARGET),
        (published.GIGA_TAR, "giga-fren.release2.fixed.en.gz", gzip.decompress(published.GIGA)),
        *((kind, "training/a.en", published.SOURCE) for kind in ("w:", "w:bz2", "w:xz")),
    ):
        assert extract(folder / archive, member, output) == text
        first = output.read_bytes()
        assert archive != published.GIGA_TAR or first == published.GIGA, "what is gzipped is kept byte for byte"
        assert extract(folder / archive, member, output) and output.read_bytes() == first, "always the same"
    extract(folder / published.TEST, "test/newstest2013-src.en.sgm", output)
    segments = ["A Republican strategy to counter the re-election of Obama", "R&D 'grows', says AT&amp;T"]
    assert read_lines(output) == segments


@pytest.mark.parametrize("member", ["../a.en", "training/../../a", "/etc/passwd", "a\\..\\b", "..", "", "./", "a\0b"])
def test_members_that_leave_their_folder_are_refused(folder, tmp_path, member):
    message = refused(tmp_path / "a.gz", steps.extract_member, archive=folder / published.EUROPARL, member=member)
    assert message.startswith(f"'{member}' would leave the folder of its archive; name the file by its path inside")


def test_an_archive_of_names_that_leave_their_folder_writes_nothing_there(tmp_path):
    """Such names are never used, nor taken for what they would amount to."""
    outside = {"../outside.en": b"bad\n", "/outside.en": b"bad\n", "in/../text.en": b"bad\n", "in/text.en": b"good\n"}
    output = tmp_path / "deep" / "er" / "a.en.gz"
    for name, data in (("a.tgz", published.packed(outside)), ("a.zip", published.zipped(outside))):
        (tmp_path / name).write_bytes(data)
        assert extract(tmp_path / name, "in/text.en", output) == b"good\n"
        for member in ("text.en", "outside.en"):
            message = refused(tmp_path / "b.gz", steps.extract_member, archive=tmp_path / name, member=member)
            assert "has no member" in message
        assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(
            {"a.en.gz", *(file.name for file in tmp_path.glob("a.*"))}
        )


@pytest.mark.parametrize(
    ("kind", "target", "what"),
    [
        (tarfile.SYMTYPE, "/etc/passwd", "a link to /etc/passwd"),
        (tarfile.LNKTYPE, "../../secret", "a link to ../../secret"),
        *((kind, "", "a device or pipe") for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE)),
        (tarfile.DIRTYPE, "", "a folder"),
    ],
)
def test_links_devices_and_folders_are_refused(tmp_path, kind, target, what):
    entry, archive = tarfile.TarInfo("training/a.en"), tmp_path / "a.tgz"
    entry.type, entry.linkname = kind, target
    with tarfile.open(archive, mode="w:gz") as stored:
        stored.addfile(entry)
    message = refused(tmp_path / "a.gz", steps.extract_member, archive=archive, member="training/a.en")
    assert message == f"{archive}: its member training/a.en is {what}; name a regular file that anyone can read"


def test_links_folders_and_encrypted_files_of_zip_are_refused(tmp_path):
    link = zipfile.ZipInfo("link.en")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    locked = bytearray(published.zipped({"a.en": b"text\n"}))
    locked[6] |= 1  # of the local header
    locked[locked.index(b"PK\x01\x02") + 8] |= 1  # of the directory
    several = published.zipped({link: b"/etc/passwd", "training/": b""})
    for data, member, what in (
        (several, "link.en", "a link or device"),
        (several, "training", "a folder"),
        (locked, "a.en", "encrypted"),
    ):
        (tmp_path / "a.zip").write_bytes(data)
        message = refused(tmp_path / "a.gz", steps.extract_member, archive=tmp_path / "a.zip", member=member)
        assert f"is {what};" in message


def test_a_missing_member_names_the_nearest(folder, tmp_path):
    for archive, member, near in (
        (published.EUROPARL, "training/europarl-v7.fr-en.es", "training/europarl-v7.fr-en."),
        (published.OPUS, "News.en-fr.e", "News.en-fr.en"),
    ):
        message = refused(tmp_path / "a.gz", steps.extract_member, archive=folder / archive, member=member)
        assert message.startswith(f"{folder / archive}: has no member {member}; is it {near}")


def test_a_member_that_is_an_archive_itself_is_refused(folder, tmp_path):
    nested = tmp_path / "nested.tar"
    inner = {"inner.tgz": (folder / published.EUROPARL).read_bytes(), "b.zip": b"PK\x03\x04"}
    nested.write_bytes(published.packed(inner))
    for member in ("inner.tgz", "b.zip"):
        message = refused(tmp_path / "a.gz", steps.extract_member, archive=nested, member=member)
        assert message == f"{nested}, {member}: an archive of several files; name the one that is wanted as 'member'"


def test_damaged_archives_are_refused_at_the_download(folder, tmp_path):
    """Cut off, and with one byte changed in the middle."""
    random = {"a.en": os.urandom(40_000), "b.en": b"text\n"}  # does not shrink, so that the middle is data
    kinds = {"a.tgz": "w:gz", "a.tar.bz2": "w:bz2", "a.tar.xz": "w:xz", "a.tar": "w:"}
    whole = {name: published.packed(random, kind) for name, kind in kinds.items()} | {"a.zip": published.zipped(random)}
    damaged = {"text.tgz": [gzip.compress(b"text alone\n")]}
    for name, data in whole.items():
        half = len(data) // 2
        damaged[name] = [data[:half], data[:half] + bytes([data[half] ^ 0xFF]) + data[half + 1 :]]
    del damaged["a.tar"][1]  # holds no checksum of data
    for name, variants in damaged.items():
        for data in variants:
            (folder / name).write_bytes(data)
            side = {"path": name, "member": "b.en"}
            message = refused(tmp_path / "out" / name, steps.fetch_archive, side=side, mirror=str(folder))
            assert message.startswith(f"{folder / name}: a damaged archive, or none ("), name


def test_a_tar_archive_that_was_cut_off_before_it_was_compressed(tmp_path):
    """All checksums are right; that the member is short shows where it is read."""
    archive = tmp_path / "a.tgz"
    archive.write_bytes(gzip.compress(published.packed({"a.en": bytes(100_000)}, "w:")[:50_000]))
    message = refused(tmp_path / "a.gz", steps.extract_member, archive=archive, member="a.en")
    assert message.startswith(f"{archive}: a damaged archive, or none (")


def test_members_are_read_a_piece_at_a_time(tmp_path):
    data = os.urandom(3 * archives.PIECE + 5)
    for name, content in (("a.tgz", published.packed({"a": data})), ("a.zip", published.zipped({"a": data}))):
        (tmp_path / name).write_bytes(content)
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
    assert refused(output, steps.fetch_archive, side={"url": url}, mirror=None) == (
        f"europarl.tgz could not be obtained: {url}: the connection broke off before the end of the file; "
        "check the path, URL or data_mirror"
    )
    assert not list(output.parent.iterdir()), "no checksum of half a file is recorded"
    server.cut.clear()
    steps.fetch_archive(side={"url": url}, mirror=None, output=output)
    assert extract(output, ENGLISH, tmp_path / "a.gz") == published.SOURCE


@pytest.mark.parametrize("breaks", [True, False])
def test_a_transfer_that_fails_once_is_tried_again(server, tmp_path, monkeypatch, breaks):
    """It breaks off, or the server answers that it cannot."""
    monkeypatch.setattr(fetching, "RETRIES", 1)
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: server.cut.clear())
    if breaks:
        server.cut.add(f"/{published.OPUS}")
    server.failing = not breaks
    output = tmp_path / "out" / "opus.zip"
    steps.fetch_archive(side={"url": f"{server.address}/{published.OPUS}"}, mirror=None, output=output)
    assert extract(output, "News.en-fr.en", tmp_path / "a.gz") == published.SOURCE
    assert server.asked == [f"/{published.OPUS}"] * 2


def test_wrong_checksums_of_archives(server, folder, tmp_path):
    """A mirror's file is not skipped for the URL."""
    data = (folder / published.EUROPARL).read_bytes()
    url, output = f"{server.address}/{published.EUROPARL}", tmp_path / "out" / "europarl.tgz"
    for mirror, place in ((None, url), (str(folder), folder / published.EUROPARL)):
        for name, algorithm in (("sha256", hashlib.sha256), ("md5", hashlib.md5)):
            good = algorithm(data).hexdigest()
            bad = "0" * len(good)
            assert refused(output, steps.fetch_archive, side={"url": url, name: bad}, mirror=mirror) == (
                f"{place}: its {name} is {good} but the configuration declares {bad}; "
                f"the file has changed or is damaged, so remove it or correct the {name}"
            )
            steps.fetch_archive(side={"url": url, name: good}, mirror=mirror, output=output)
            output.unlink()


def test_the_checksum_of_the_first_download_holds(server, folder, tmp_path):
    output, record = tmp_path / "out" / "europarl.tgz", tmp_path / "out" / "europarl.tgz.sha256"
    side = {"url": f"{server.address}/{published.EUROPARL}"}
    fetch = partial(steps.fetch_archive, mirror=None, output=output)
    fetch(side=side)
    known = sha256((folder / published.EUROPARL).read_bytes())
    assert record.read_text() == f"{known}  {side['url']}\n"
    (folder / published.EUROPARL).write_bytes(published.packed({ENGLISH: b"another text\n"}))
    other = sha256((folder / published.EUROPARL).read_bytes())
    output.unlink()
    assert refused(output, steps.fetch_archive, side=side, mirror=None) == (
        f"{side['url']}: its sha256 is {other} but that of the first download was {known} "
        f"({record}); the file has changed or is damaged, so fetch it from elsewhere, or remove the record to accept it"
    )
    fetch(side=side | {"sha256": other})
    assert record.read_text().startswith(known), "what is declared needs no record"
    record.write_text("nonsense\n")
    with pytest.raises(UserError, match="line 1: not a SHA-256; remove the file"):
        fetch(side=side)
    record.unlink()
    fetch(side=side)
    assert record.read_text() == f"{other}  {side['url']}\n"
    elsewhere = {"url": f"{server.address}/{published.OPUS}"}
    fetch(side=elsewhere)
    assert record.read_text().endswith(f"  {elsewhere['url']}\n"), "another address is another file"
    text = {"url": f"{server.address}/news.2013.fr.shuffled.gz"}
    steps.fetch(side=text, mirror=None, output=tmp_path / "news.fr.gz")
    known = sha256((tmp_path / "news.fr.gz").read_bytes())
    assert (tmp_path / "news.fr.gz.sha256").read_text() == f"{known}  {text['url']}\n"


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
    message = refused(tmp_path / "other.gz", steps.join_texts, texts=texts)
    assert message.startswith(f"{texts[3]}, line 1: not valid UTF-8")


def test_archives_are_collected_once():
    url = "https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz"
    sides = {"en": {"url": url, "member": "a.en", "sha256": "1" * 64}, "fr": {"url": url, "member": "a.fr"}}
    sources = {"europarl": sides, "pool": {"part": "train"}, "plain": {"fr": {"path": "x.fr"}, "tokenised": True}}
    name = "www.statmt.org/wmt13/training-parallel-europarl-v7.tgz"
    assert collect_archives(sources) == {name: {"url": url, "sha256": "1" * 64}}
    sides["fr"]["sha256"] = "2" * 64
    with pytest.raises(UserError, match=r"corpus.sources.europarl.fr.sha256: 2+ here, but 1+ at another side"):
        collect_archives(sources)


@pytest.mark.parametrize(
    ("side", "name"),
    [
        ({"url": "https://h.org:81/a/../b c.tgz?x=1"}, "h.org_81/a/b_c.tgz"),
        ({"path": "/data/../x.zip"}, "data/x.zip"),
        ({"path": "wmt/{x}.tar"}, "wmt/_x_.tar"),
    ],
)
def test_archives_are_kept_under_names_that_are_safe(side, name):
    assert archive_name(side) == name
