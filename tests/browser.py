"""Chromium without a window, driven over its debugging pipe: what a person sees and does."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

OFF = ("gpu", "quic", "background-networking", "component-update", "sync", "dev-shm-usage")
FLAGS = ["--headless", "--no-sandbox", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe"]
FLAGS += [f"--disable-{name}" for name in OFF]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

IN_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian's package chromium) here")

PATIENCE = 180.0
"""Seconds that one command may take, on a busy machine."""

NAVIGATION = 40.0
"""Seconds for a page to begin to appear: Chromium 150 sometimes never answers, and another one does at once."""


class PageLeftError(Exception):
    """A page was left for another one while it was asked for something."""


class BrowserGoneError(AssertionError):
    """The browser ended, or does not answer."""


class Browser:
    """One page of a browser of its own; requests: addresses it asked for, failures: of those that did not come; faults:
    what its console complained about.
    """

    def __init__(self, folder: Path):
        self._folder, self._number, self._kept = folder, 0, {}
        self.requests: list[str] = []
        self.failures: list[str] = []
        self.faults: list[str] = []
        self._start()

    def _start(self) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        shell = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, str(CHROMIUM), *FLAGS, f"--user-data-dir={self._folder}", "about:blank"],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._rest, self._session, self._answered = b"", None, {}
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        for method, parameters in self._kept.items():
            self.send(method, **parameters)

    def close(self) -> None:
        """End the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def send(self, method: str, patience: float = PATIENCE, **parameters: Any) -> dict[str, Any]:
        """Give a command; its result within so many seconds."""
        self._number += 1
        number, until = self._number, time.monotonic() + patience
        command: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        try:
            os.write(self._commands, json.dumps(command).encode() + b"\0")
        except BrokenPipeError:
            raise BrowserGoneError(f"{method}: the browser has ended") from None
        while number not in self._answered:
            self._receive(method, until)
        answer = self._answered.pop(number)
        if "context" in answer.get("error", {}).get("message", ""):
            raise PageLeftError(f"{method}: {answer['error']}")
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _receive(self, method: str, until: float) -> None:
        """Read what the browser has to say; the pipe's end means that it has ended."""
        ready, _, _ = select.select([self._answers], [], [], max(until - time.monotonic(), 0.0))
        data = os.read(self._answers, 1 << 20) if ready else b""
        if not data:
            raise BrowserGoneError(f"{method}: " + ("the browser ended" if ready else "no answer in time"))
        *messages, self._rest = (self._rest + data).split(b"\0")
        for message in map(json.loads, messages):
            self._note(message)
            if "id" in message:
                self._answered[message["id"]] = message

    def _note(self, message: dict[str, Any]) -> None:
        match message:
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": address}}}:
                self.requests.append(address)
            case {"method": "Network.loadingFailed", "params": failed} if not failed.get("canceled"):
                self.failures.append(json.dumps(failed))
            case {"method": "Runtime.consoleAPICalled", "params": {"type": "error" | "assert", "args": said}}:
                self.faults.append(json.dumps(said))
            case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": thrown}}:
                self.faults.append(json.dumps(thrown))
            case {"method": "Log.entryAdded", "params": {"entry": {"level": "error", "text": said}}}:
                self.faults.append(said)

    def window(self, width: int, height: int, phone: bool = False) -> None:
        """The size of what is seen, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self._keep("Emulation.setDeviceMetricsOverride", **size)

    def dark(self, wanted: bool) -> None:
        """What the user prefers."""
        value = "dark" if wanted else "light"
        self._keep("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def _keep(self, method: str, **parameters: Any) -> None:
        """Give a command that another browser gets too, should this one end."""
        self._kept[method] = parameters
        self.send(method, **parameters)

    def open(self, address: str) -> None:
        """Go to a page, with a new browser where the present one has ended, or does not answer."""
        try:
            self.send("Page.navigate", NAVIGATION, url=address)
        except BrowserGoneError as error:
            warnings.warn(f"{error}; another browser is started", stacklevel=2)
            self.close()
            self._start()
            self.send("Page.navigate", url=address)

    def value(self, expression: str, **context: Any) -> Any:
        """The value of a JavaScript expression."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, **context)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def framed(self, expression: str) -> Any:
        """The value of a JavaScript expression in the only frame of the page (None while there is none)."""
        children = self.send("Page.getFrameTree")["frameTree"].get("childFrames", [])
        if not children:
            return None
        (child,) = children
        world = self.send("Page.createIsolatedWorld", frameId=child["frame"]["id"])["executionContextId"]
        return self.value(expression, contextId=world)

    def wait(self, expression: str, framed: bool = False) -> None:
        """Wait until a JavaScript expression is true, in the page or in its frame."""
        until, look = time.monotonic() + PATIENCE, self.framed if framed else self.value
        while True:
            with contextlib.suppress(PageLeftError):  # the next page is the one to ask
                if look(expression):
                    return
            assert time.monotonic() < until, f"still not {expression}: {look('document.body.innerText')}"
            time.sleep(0.05)

    def click(self, chosen: str, framed: bool = False) -> None:
        """Press the mouse on the middle of what a CSS selector finds first, in the page or in its frame."""
        middle = f"""(() => {{
            const found = document.querySelector({json.dumps(chosen)});
            found.scrollIntoView({{block: "nearest"}});
            const box = found.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
        x, y = self.framed(middle) if framed else self.value(middle)
        if framed:
            left, top = self.value("(({x, y}) => [x, y])(document.querySelector('iframe').getBoundingClientRect())")
            x, y = x + left, y + top
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name: str, modifiers: int = 0) -> None:
        """Press a key that has a name (``Tab``, ``ArrowRight``); modifiers: 2 for control, 8 for shift."""
        code = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowLeft": 37}[name]
        text = {"Enter": "\r", " ": " "}.get(name) if not modifiers else None
        further = {"text": text} if text else {}
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            given = {"key": name, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            self.send("Input.dispatchKeyEvent", type=kind, **given, **(further if kind == "keyDown" else {}))

    def type(self, text: str) -> None:
        """Put text where the cursor is."""
        self.send("Input.insertText", text=text)

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """The whole page, or what is seen of it, as a PNG file."""
        taken = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))
