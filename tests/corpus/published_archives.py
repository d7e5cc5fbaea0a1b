"""A loopback server of archives laid out as WMT's, which counts what it is asked for and can break off."""

import gzip
import hashlib
import http.server
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from neural_smt.errors import UserError

SOURCE = b"Resumption of the session\nI declare resumed the session\n"
TARGET = "Reprise de la session\nJe déclare reprise la session\n".encode()
GIGA = gzip.compress(b"Changement climatique Canada\n", mtime=7)
SGML = b"""<srcset setid="newstest2013" srclang="any">
<doc sysid="ref" docid="abcnews/226439" genre="news" origlang="cs">
<p>
<seg id="1">A Republican strategy  to counter the re-election of Obama </seg>
<seg id="2">R&amp;D &#39;grows&#39;, says AT&amp;amp;T</seg>
</p>
</doc>
</srcset>
"""
EUROPARL = "training-parallel-europarl-v7.tgz"
GIGA_TAR = "training-giga-fren.tar"
TEST = "wmt13/test.tgz"
OPUS = "en-fr.txt.zip"


def packed(members: Mapping[str, bytes], kind: str = "w:gz") -> bytes:
    """A tar archive of regular files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=kind) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def zipped(members: Mapping[str | zipfile.ZipInfo, bytes]) -> bytes:
    """A zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def publish(folder: Path) -> Path:
    """Write archives of WMT's layout, and news text that is gzipped alone."""
    (folder / "wmt13").mkdir(parents=True)
    sides = {"training/europarl-v7.fr-en.en": SOURCE, "training/europarl-v7.fr-en.fr": TARGET}
    (folder / EUROPARL).write_bytes(packed({"training/europarl-v7.de-en.de": b"Wiederaufnahme\n", **sides}))
    giga = {"giga-fren.release2.fixed.en.gz": GIGA, "giga-fren.release2.fixed.fr.gz": GIGA}
    (folder / GIGA_TAR).write_bytes(packed(giga, "w:"))
    sgml = {"test/newstest2013-src.en.sgm": SGML, "test/newstest2013-src.fr.sgm": SGML}
    (folder / TEST).write_bytes(packed(sgml))
    (folder / OPUS).write_bytes(zipped({"README": b"terms", "News.en-fr.en": SOURCE, "News.en-fr.fr": TARGET}))
    (folder / "news.2013.fr.shuffled.gz").write_bytes(gzip.compress(TARGET, mtime=3))
    return folder


class Mirror(http.server.SimpleHTTPRequestHandler):
    """A file server without a log; ``asked``, ``cut`` and ``failing`` belong to the server."""

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.failing and len(self.server.asked) == 1:
            self.send_error(503)
            return
        if self.path not in self.server.cut:
            super().do_GET()
            return
        data = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True


@contextmanager
def serve(folder: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    """Serve a folder on loopback: ``address``, ``asked`` (paths in order), ``cut`` (paths that break off half-way),
    ``failing`` (whether the first request fails)."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Mirror, directory=folder)) as running:
        running.asked, running.cut, running.failing = [], set(), False
        running.address = f"http://127.0.0.1:{running.server_port}"
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def refused(output: Path, step, **arguments) -> str:
    """The one sentence of a step that fails, and leaves nothing half-written."""
    with pytest.raises(UserError) as caught:
        step(output=output, **arguments)
    assert not output.exists() and (not output.parent.exists() or not list(output.parent.glob(".*")))
    message = str(caught.value)
    assert "\n" not in message
    return message


def sha256(data: bytes) -> str:
    """As it is declared."""
    return hashlib.sha256(data).hexdigest()
