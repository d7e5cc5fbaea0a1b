"""A small web server for one machine: the page, and JSON behind it, within limits of length, rate and number."""

import errno
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any

from neural_smt.errors import UserError
from neural_smt.translation.text import TextTranslator, as_data

log = logging.getLogger(__name__)

HOST = "127.0.0.1"

PAGE = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/drawing.js": ("drawing.js", "text/javascript; charset=utf-8"),
}
"""Path -> file of the package and its type."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer: the browser fetches nothing from elsewhere, and shows the page in no other one."""

BODY = 1 << 15
"""Bytes of a request's body: text within the limit of characters fits, however it is escaped."""

CONNECTIONS = 16
"""Connections that are open at the same time."""

PATIENCE = 10.0
"""Seconds that a connection may be silent."""


@dataclass(frozen=True)
class Limits:
    """characters, lines, nbest: of a request; waiting: requests that are worked on or wait for it; burst: requests that
    may come at once; rate: requests a second after these.
    """

    characters: int = 2000
    lines: int = 20
    nbest: int = 10
    waiting: int = 4
    burst: int = 20
    rate: float = 4.0


class RefusedRequest(Exception):
    """A request that gets no answer but a status of HTTP and a sentence."""

    def __init__(self, status: int, sentence: str):
        super().__init__(sentence)
        self.status = status


@dataclass(eq=False)
class Service:
    """A system behind limits; threads may ask at the same time, and are served one after another.

    about: what the page says of the system; clock: seconds.
    """

    text: TextTranslator
    about: Mapping[str, Any]
    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._searching, self._counting = threading.Lock(), threading.Lock()
        self._waiting, self._allowed, self._counted = 0, float(self.limits.burst), self.clock()

    def describe(self) -> dict[str, Any]:
        """What the page says of the system, and the limits that it keeps to."""
        limits = self.limits
        return {**self.about, "characters": limits.characters, "lines": limits.lines, "nbest": limits.nbest}

    def answer(self, request: Any) -> dict[str, Any]:
        """The translations of ``text`` (lines), ``nbest`` of each; raises ``RefusedRequest``."""
        lines, nbest = self._read(request)
        with self._place():
            began = time.perf_counter()
            with self._searching:
                sentences = self.text.translate(lines, nbest, explained=True)
            data = [as_data(sentence, self.text.translator, explained=True) for sentence in sentences]
            return {"sentences": data, "seconds": round(time.perf_counter() - began, 3)}

    def _read(self, request: Any) -> tuple[list[str], int]:
        limits = self.limits
        if not isinstance(request, dict) or not request.keys() <= {"text", "nbest"}:
            raise RefusedRequest(400, 'send {"text": ..., "nbest": ...}')
        text, nbest = request.get("text"), request.get("nbest", 1)
        if not isinstance(text, str) or not isinstance(nbest, int) or isinstance(nbest, bool):
            raise RefusedRequest(400, "text must be a string and nbest a number")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise RefusedRequest(400, "text holds half a character (a lone surrogate)")
        if not 1 <= nbest <= limits.nbest:
            raise RefusedRequest(400, f"nbest must be from 1 to {limits.nbest}")
        if len(text) > limits.characters:
            raise RefusedRequest(413, f"the text has {len(text)} characters; send {limits.characters} at most")
        lines = [line for line in text.split("\n") if line.strip()]
        if not lines:
            raise RefusedRequest(400, "there is no text to translate")
        if len(lines) > limits.lines:
            raise RefusedRequest(413, f"the text has {len(lines)} lines; send {limits.lines} at most")
        return lines, nbest

    @contextmanager
    def _place(self):
        """Count a request while it is worked on; raises ``RefusedRequest`` where there are too many."""
        with self._counting:
            now = self.clock()
            gained = (now - self._counted) * self.limits.rate
            self._allowed, self._counted = min(self.limits.burst, self._allowed + gained), now
            if self._allowed < 1:
                raise RefusedRequest(429, "too many requests; wait a moment")
            if self._waiting >= self.limits.waiting:
                raise RefusedRequest(503, "others are waiting already; try again in a moment")
            self._allowed -= 1
            self._waiting += 1
        try:
            yield
        finally:
            with self._counting:
                self._waiting -= 1


class Server(ThreadingTCPServer):
    """Serves a service on this machine alone, bound when it is made; ``UserError`` where the port is taken."""

    daemon_threads = allow_reuse_address = True

    def __init__(self, service: Service, port: int):
        self.service = service
        page = Path(__file__).with_name("page")
        self.page = {path: ((page / name).read_bytes(), kind) for path, (name, kind) in PAGE.items()}
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise UserError(f"port {port} of {HOST}: {error.strerror}; choose another with --port") from None
        self.server_port = self.server_address[1]

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse connections beyond ``CONNECTIONS``."""
        return self._places.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, then free its place."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    server_version, sys_version = "neural_smt", ""
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def do_GET(self) -> None:
        """The page and its parts, and what the system is."""
        self._answer(self._get)

    do_HEAD = do_GET
    """The same without the body."""

    def do_POST(self) -> None:
        """Translations."""
        self._answer(self._post)

    def _answer(self, make: Any) -> None:
        try:
            self._check_origin()
            self._send(200, *make())
        except RefusedRequest as refused:
            self.close_connection = True  # the body may not have been read
            self._send(refused.status, *_json({"error": str(refused)}))
        except ConnectionError:
            self.close_connection = True
        except Exception:
            log.exception("a request failed")
            self.close_connection = True
            self._send(500, *_json({"error": "this text could not be translated; the log says why"}))

    def _check_origin(self) -> None:
        """Pages of other sites must not ask, whatever names they give this machine."""
        port = self.server.server_port
        hosts = {f"{host}:{port}" for host in (HOST, "localhost")}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in hosts or origin not in (None, *(f"http://{host}" for host in hosts)):
            raise RefusedRequest(403, "ask from the page of this server")

    def _get(self) -> tuple[bytes, str]:
        path = self.path.partition("?")[0]
        if path == "/api/system":
            return _json(self.server.service.describe())
        if path in self.server.page:
            return self.server.page[path]
        raise RefusedRequest(405 if path == "/api/translate" else 404, f"there is no page {path[:80]}")

    def _post(self) -> tuple[bytes, str]:
        if self.path != "/api/translate":
            raise RefusedRequest(404, f"there is nothing to send to {self.path[:80]}")
        if self.headers.get_content_type() != "application/json":
            raise RefusedRequest(415, "send JSON (Content-Type: application/json)")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise RefusedRequest(411, "say how long the body is (Content-Length)")
        if len(length) > 9 or int(length) > BODY:
            raise RefusedRequest(413, f"the request has more than {BODY} bytes")
        try:
            request = json.loads(self.rfile.read(int(length)).decode("utf-8"))
        except (ValueError, RecursionError):
            raise RefusedRequest(400, "the body is not JSON in UTF-8") from None
        return _json(self.server.service.answer(request))

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests go to the log where it is asked for details."""
        log.debug(format, *args)


def _json(data: Any) -> tuple[bytes, str]:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8"), "application/json; charset=utf-8"
