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
from typing import Any

import yaml
from refusals import check_refused

PUBLISHED = yaml.safe_load(Path(__file__).with_name("published.yaml").read_text(encoding="utf-8"))
EUROPARL, GIGA, TEST, OPUS, NEWS, TEXT = PUBLISHED
SOURCE, TARGET = (PUBLISHED[EUROPARL][f"training/europarl-v7.fr-en.{side}"].encode() for side in ("en", "fr"))


def made(name: str, contents: str | bytes | Mapping[str, Any]) -> bytes:
    """A file of the kind that its name tells: a text, or an archive of files that are made likewise.

    A member that is no regular file is given by its type in tar or its mode in zip, and where it leads.
    """
    if not isinstance(contents, Mapping):
        data = contents.encode() if isinstance(contents, str) else contents
        return gzip.compress(data, mtime=3) if name.endswith(".gz") else data
    buffer, suffix = io.BytesIO(), name.rpartition(".")[2]
    zipped, mode = suffix == "zip", f"w:{ {'tar': '', 'tgz': 'gz'}.get(suffix, suffix) }"
    with zipfile.ZipFile(buffer, "w") if zipped else tarfile.open(fileobj=buffer, mode=mode) as archive:
        for member, inside in contents.items():
            kind, target = inside if isinstance(inside, list) else (None, "")
            data = target.encode() if kind else made(member, inside)
            if zipped:
                entry = zipfile.ZipInfo(member)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (kind or 0) << 16
                archive.writestr(entry, data)
            else:
                entry = tarfile.TarInfo(member)
                entry.size, entry.linkname = 0 if kind else len(data), target
                entry.type = getattr(tarfile, kind or "REGTYPE")
                archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def publish(folder: Path) -> Path:
    """Write archives of WMT's layout, and texts that are published alone."""
    for name, contents in PUBLISHED.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(made(name, contents))
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
        threading.Event().wait(self.server.waits)
        self.close_connection = True


@contextmanager
def serve(folder: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    """Serve a folder on loopback: ``address``, ``asked`` (paths in order), ``cut`` (paths that break off half-way,
    after ``waits`` seconds), ``failing`` (whether the first request fails)."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Mirror, directory=folder)) as running:
        running.asked, running.cut, running.failing, running.waits = [], set(), False, 0
        running.address = f"http://127.0.0.1:{running.server_port}"
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def refused(pieces: object, output: Path, step, **arguments) -> None:
    """A step fails with a sentence that names the pieces, and leaves nothing half-written."""
    check_refused(pieces, step, output=output, **arguments)
    assert not output.exists() and (not output.parent.exists() or not list(output.parent.glob(".*")))


def sha256(data: bytes) -> str:
    """As it is declared."""
    return hashlib.sha256(data).hexdigest()
