"""What the server answers, and what it refuses."""

import asyncio
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from refusals import check_named, check_refused
from small_results import ABOUT, serving, translator

from neural_smt.io.files import read_yaml
from neural_smt.translation.server import BODY, CONNECTIONS, Limits, RefusedRequest, Server, Service
from neural_smt.translation.text import TextTranslator

REFUSED = read_yaml(Path(__file__).with_name("refused_requests.yaml"))
LONG = {"$long": "a" * 2001, "$lines": "a\n" * 21, "$deep": "[" * 30000, "$large": " " * (BODY + 1)}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> TextTranslator:
    return TextTranslator(translator(tmp_path_factory.mktemp("small")), "en", "fr")


@pytest.fixture
def server(text: TextTranslator) -> Iterator[Server]:
    with serving(text) as opened:
        yield opened


def ask(
    server: Server, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def post(server: Server, request: Any, **headers: str) -> tuple[int, Any]:
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    headers = {"Content-Type": "application/json", **headers}
    status, _, answer = ask(server, "POST", "/api/translate", headers, body)
    return status, json.loads(answer)


def test_translations_are_those_of_the_command(server: Server, text: TextTranslator) -> None:
    status, answer = post(server, {"text": "a b c\n\nc\n", "nbest": 2})
    assert status == 200
    expected = text.translate(["a b c", "c"], nbest=2)
    for found, wanted in zip(answer["sentences"], expected, strict=True):
        assert found["translation"] == wanted.best.text
        assert [candidate["text"] for candidate in found["candidates"]] == [c.text for c in wanted.candidates]
    candidates = answer["sentences"][0]["candidates"]
    assert sum(candidates[0]["shares"].values()) == pytest.approx(candidates[0]["score"], abs=1e-4)


def test_the_page_comes_whole_from_this_server(server: Server) -> None:
    for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        status, headers, body = ask(server, "GET", path)
        assert status == 200 and headers["Content-Type"].startswith(kind) and len(body) > 500
        assert b"http://" not in body.replace(b"http://www.w3.org/2000/svg", b"") and b"https://" not in body
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
    status, headers, body = ask(server, "HEAD", "/")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 500
    status, _, body = ask(server, "GET", "/api/system")
    assert (status, json.loads(body)) == (200, {**ABOUT, "characters": 2000, "lines": 20, "nbest": 10})


@pytest.mark.parametrize(("request_", "status", "pieces"), REFUSED["bodies"])
def test_requests_beyond_limits_are_refused(server: Server, request_: Any, status: int, pieces: list) -> None:
    if isinstance(request_, str):
        request_ = LONG.get(request_, request_).encode()
    elif isinstance(request_, dict) and "text" in request_:
        request_["text"] = LONG.get(request_["text"], request_["text"])
    answered, answer = post(server, request_)
    assert answered == status and answer.keys() == {"error"}
    check_named(answer["error"], pieces)
    assert post(server, {"text": "a"})[0] == 200, "and the next is answered"


@pytest.mark.parametrize(("method", "path", "headers", "status"), REFUSED["requests"])
def test_what_is_not_for_the_page_is_refused(
    server: Server, caplog: pytest.LogCaptureFixture, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert ask(server, method, path, headers)[0] == status
    assert not caplog.records


def test_the_page_itself_may_ask_by_either_name(server: Server) -> None:
    for host in ("127.0.0.1", "localhost"):
        name = f"{host}:{server.port}"
        assert post(server, {"text": "a"}, Host=name, Origin=f"http://{name}")[0] == 200


def test_only_this_machine_can_reach_it_on_a_free_port(server: Server, text: TextTranslator) -> None:
    assert [bound.getsockname()[0] for bound in server.sockets] == ["127.0.0.1"]
    check_refused([f"port {server.port} of 127.0.0.1", "--port"], Server, Service(text, ABOUT), server.port)


def wait_until(reached: Callable[[], bool], said: str) -> None:
    until = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < until, said
        time.sleep(0.05)


def test_connections_beyond_the_limit_close_those_that_say_nothing(server: Server) -> None:
    with ExitStack() as opened:
        address = "127.0.0.1", server.port
        silent = [opened.enter_context(socket.create_connection(address, timeout=60)) for _ in range(CONNECTIONS)]
        wait_until(lambda: server.connections == CONNECTIONS, "not all are open")
        assert post(server, {"text": "a"})[0] == 200
        assert silent[0].recv(1) == b""
        wait_until(lambda: server.connections == CONNECTIONS - 1, "an answered one is still counted")


def test_connections_beyond_the_limit_wait_for_no_answers(text: TextTranslator) -> None:
    slow = Slow(text)
    with serving(slow) as server, ThreadPoolExecutor() as pool:
        asked = [pool.submit(post, server, {"text": "a"}) for _ in range(4)]
        wait_until(lambda: server.connections == 4 and not server.waiting, "not all have asked")
        server.connections += CONNECTIONS - 4
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as further:
            assert further.recv(1) == b""
        slow.go_on.set()
        assert [one.result()[0] for one in asked] == [200] * 4


@pytest.mark.parametrize(("sent", "statuses"), REFUSED["connections"])
def test_a_connection_has_one_request_and_little_time(
    text: TextTranslator, monkeypatch: pytest.MonkeyPatch, caplog, sent: list[str], statuses: list[str]
) -> None:
    monkeypatch.setattr("neural_smt.translation.server.PATIENCE", 0.5)
    with serving(text) as server, socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        with suppress(ConnectionError):
            for piece in sent:
                client.sendall(piece.replace("$port", str(server.port)).encode())
                time.sleep(0.1)
        with suppress(ConnectionResetError):
            assert re.findall(r"^HTTP/1.1 (\d+)", client.makefile().read(), re.MULTILINE) == statuses
        assert post(server, {"text": "a"})[0] == 200
    assert not caplog.records


@pytest.mark.parametrize("leaves", [False, True])
def test_clients_that_take_no_answer_are_left(text: TextTranslator, monkeypatch, caplog, leaves: bool) -> None:
    monkeypatch.setattr("neural_smt.translation.server.PATIENCE", 0.5)
    with serving(text, "a" * (1 << 25)) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"GET /api/system HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n".encode())
        wait_until(lambda: server.connections == 1, "not asked")
        if leaves:
            client.close()
        wait_until(lambda: server.connections == 0, "still open")
    assert not caplog.records


def test_requests_have_a_rate(text: TextTranslator) -> None:
    now = [0.0]
    service = Service(text, ABOUT, Limits(burst=2, rate=0.5), clock=lambda: now[0])
    for _ in range(2):
        asyncio.run(service.answer({"text": "a"}))
    for _ in range(2):
        with pytest.raises(RefusedRequest, match=r"429: .*too many requests"):
            asyncio.run(service.answer({"text": "a"}))
        now[0] += 2.0
        asyncio.run(service.answer({"text": "a"}))


class Slow:
    """A text translator that waits until it is let go; at most one thread is ever inside."""

    def __init__(self, text: TextTranslator):
        self.text, self.translator, self.go_on = text, text.translator, threading.Event()
        self.inside, self.most = 0, 0

    def translate(self, lines: list[str], nbest: int, explained: bool) -> Any:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.go_on.wait(60)
        self.inside -= 1
        return self.text.translate(lines, nbest, explained)


def test_few_requests_wait_and_one_is_worked_on(text: TextTranslator) -> None:
    slow = Slow(text)
    service = Service(slow, ABOUT, Limits(waiting=3))

    async def ask_four() -> None:
        waiting = [asyncio.create_task(service.answer({"text": "a"})) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RefusedRequest, match=r"503: .*others are waiting"):
            await service.answer({"text": "a"})
        slow.go_on.set()
        await asyncio.gather(*waiting)
        assert slow.most == 1 and (await service.answer({"text": "a"}))["sentences"]

    asyncio.run(ask_four())


def test_a_fault_is_answered_and_logged(text: TextTranslator, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Slow):
        def translate(self, lines: list[str], nbest: int, explained: bool) -> Any:
            raise ZeroDivisionError("inside")

    with serving(Broken(text)) as opened:
        status, answer = post(opened, {"text": "a"})
    assert status == 500 and "inside" not in json.dumps(answer)
    assert "ZeroDivisionError" in caplog.text


def test_files_of_the_page_are_packaged(repository: Path) -> None:
    assert '"neural_smt.translation" = ["page/*"]' in (repository / "pyproject.toml").read_text(encoding="utf-8")
