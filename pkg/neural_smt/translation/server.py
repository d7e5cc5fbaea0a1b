"""A small web server for one machine: the page, and JSON behind it, within limits of length, rate and number."""

import asyncio
import errno
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler, stream_request_body

from neural_smt.errors import UserError
from neural_smt.translation.text import TextTranslator, as_data

logging.getLogger("tornado").setLevel(logging.WARNING)  # not a line for every odd client

HOST = "127.0.0.1"

HEADERS = {
    "Server": "neural_smt",
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
"""Connections that are open at the same time; each has one request."""

PATIENCE = 10.0
"""Seconds in which a client must have sent the headers, then the body, and in which it must take the answer."""


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


class RefusedRequest(HTTPError):
    """A request that gets no answer but a status of HTTP and a sentence (``get_message``)."""


@dataclass(eq=False)
class Service:
    """A system behind limits; translates for one request after another, in threads that end with the program.

    about: what the page says of the system; clock: seconds.
    """

    text: TextTranslator
    about: Mapping[str, Any]
    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._searching = threading.Lock()
        self._waiting, self._allowed, self._counted = 0, float(self.limits.burst), self.clock()

    def describe(self) -> dict[str, Any]:
        """What the page says of the system, and the limits that it keeps to."""
        limits = self.limits
        return {**self.about, "characters": limits.characters, "lines": limits.lines, "nbest": limits.nbest}

    async def answer(self, request: Any) -> dict[str, Any]:
        """The translations of ``text`` (lines), ``nbest`` of each; raises ``RefusedRequest``."""
        lines, nbest = self._read(request)
        with self._place():
            began, found = time.perf_counter(), Future[Any]()
            threading.Thread(target=self._translate, args=(found, lines, nbest), daemon=True).start()
            data = await asyncio.wrap_future(found)
            return {"sentences": data, "seconds": round(time.perf_counter() - began, 3)}

    def _translate(self, found: Future[Any], lines: list[str], nbest: int) -> None:
        try:
            with self._searching:
                sentences = self.text.translate(lines, nbest, explained=True)
            found.set_result([as_data(sentence, self.text.translator, explained=True) for sentence in sentences])
        except Exception as error:
            found.set_exception(error)

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
    def _place(self) -> Iterator[None]:
        """Count a request while it is worked on; raises ``RefusedRequest`` where there are too many."""
        now = self.clock()
        self._allowed = min(self.limits.burst, self._allowed + (now - self._counted) * self.limits.rate)
        self._counted = now
        if self._allowed < 1:
            raise RefusedRequest(429, "too many requests; wait a moment")
        if self._waiting >= self.limits.waiting:
            raise RefusedRequest(503, "others are waiting already; try again in a moment")
        self._allowed -= 1
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


class Server(HTTPServer):
    """Serves a service on this machine alone, bound when it is made; ``UserError`` where the port is taken."""

    connections = 0
    """Those that are open."""

    def initialize(self, service: Service, port: int) -> None:  # type: ignore[override]  # only made here
        """See ``HTTPServer``, which calls it."""
        try:
            self.sockets = bind_sockets(port, HOST)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise UserError(f"port {port} of {HOST}: {error.strerror}; choose another with --port") from None
        self.port = self.sockets[0].getsockname()[1]
        page = {"path": Path(__file__).with_name("page"), "default_filename": "index.html"}
        routes: list[Any] = [("/api/system", _System), ("/api/translate", _Translate), ("/(.*)", _Page, page)]
        ports = [f":{self.port}"] + [""] * (self.port == 80)  # which browsers leave out
        hosts = [host + port for host in (HOST, "localhost") for port in ports]
        pages = Application(routes, hosts=hosts, server=self, service=service, log_function=lambda handler: None)
        self.waiting: dict[IOStream, None] = {}  # for their requests, the longest first
        limits: Any = {"idle_connection_timeout": PATIENCE, "body_timeout": 2 * PATIENCE, "max_body_size": 2 * BODY}
        super().initialize(pages, no_keep_alive=True, **limits)

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Beyond ``CONNECTIONS``, close the one that has waited longest for its request, or else the new one."""
        if self.connections >= CONNECTIONS:
            if not self.waiting:
                return stream.close()
            oldest = next(iter(self.waiting))
            self.waiting.pop(oldest)
            oldest.close()
        self.connections += 1
        self.waiting[stream] = None
        return super().handle_stream(stream, address)

    def on_close(self, server_conn: Any) -> None:
        """Free the place of a connection."""
        super().on_close(server_conn)
        self.connections -= 1
        self.waiting.pop(server_conn.stream, None)

    async def serve(self) -> None:
        """Answer until cancelled."""
        self.add_sockets(self.sockets)
        try:
            await asyncio.Event().wait()
        finally:
            self.stop()


class _Handler(RequestHandler):
    """One request."""

    request: Any

    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Pages of other sites must not ask, whatever names they give this machine."""
        self.settings["server"].waiting.pop(self.request.connection.stream, None)
        hosts, origin = self.settings["hosts"], self.request.headers.get("Origin")
        if self.request.host not in hosts or origin not in (None, *(f"http://{host}" for host in hosts)):
            raise RefusedRequest(403, "ask from the page of this server")

    async def send(self, data: Any) -> None:
        """Send JSON, and leave a client that does not take it."""
        self.set_header("Content-Type", "application/json; charset=utf-8")
        sent = self.finish(json.dumps(data, ensure_ascii=False, allow_nan=False))
        try:
            await asyncio.wait_for(sent, PATIENCE)
        except TimeoutError:
            self.request.connection.stream.close()
        except StreamClosedError:  # it has left
            pass

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Say in a sentence what is wrong."""
        error = kwargs["exc_info"][1]
        what = self._reason if isinstance(error, HTTPError) else "this text could not be translated; the log says why"
        self.finish({"error": error.get_message() if isinstance(error, RefusedRequest) else what})

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Log faults, and not what was refused."""
        if not isinstance(value, HTTPError):
            super().log_exception(typ, value, tb)


class _Page(_Handler, StaticFileHandler):
    """The page and its parts."""


class _System(_Handler):
    """What the system is."""

    async def get(self) -> None:
        await self.send(self.settings["service"].describe())


@stream_request_body
class _Translate(_Handler):
    """Translations."""

    def initialize(self) -> None:
        self.body, self.late = b"", asyncio.get_running_loop().call_later(PATIENCE, self.give_up)

    def prepare(self) -> None:
        super().prepare()
        self.settings["server"].waiting[self.request.connection.stream] = None  # for the body

    def data_received(self, chunk: bytes) -> None:
        """A part of the request's body."""
        self.body += chunk

    def give_up(self) -> None:
        """Answer a request whose body has not come."""
        refused = RefusedRequest(408, f"the text did not come whole within {PATIENCE:g} seconds")
        self.send_error(408, exc_info=(type(refused), refused, None))

    def on_finish(self) -> None:
        self.late.cancel()

    on_connection_close = on_finish

    async def post(self) -> None:
        self.late.cancel()
        self.settings["server"].waiting.pop(self.request.connection.stream, None)
        body, kind = self.body, self.request.headers.get("Content-Type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            raise RefusedRequest(415, "send JSON (Content-Type: application/json)")
        if len(body) > BODY:
            raise RefusedRequest(413, f"the request has more than {BODY} bytes")
        try:
            request = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            raise RefusedRequest(400, "the body is not JSON in UTF-8") from None
        await self.send(await self.settings["service"].answer(request))
