"""What the served page asks: translations within limits of length, rate and number."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from neural_smt.translation.formats import as_data
from neural_smt.translation.text import TextTranslator


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


class Service:
    """A system behind limits; threads may ask at the same time, and are served one after another."""

    def __init__(
        self,
        text: TextTranslator,
        about: Mapping[str, Any],
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.limits = limits or Limits()
        self._text, self._about, self._clock = text, dict(about), clock
        self._searching = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0
        self._allowed, self._counted = float(self.limits.burst), clock()

    def describe(self) -> dict[str, Any]:
        """What the page says of the system, and the limits that it keeps to."""
        limits = self.limits
        return {**self._about, "characters": limits.characters, "lines": limits.lines, "nbest": limits.nbest}

    def answer(self, request: Any) -> dict[str, Any]:
        """The translations of ``text`` (lines), ``nbest`` of each; raises ``RefusedRequest``."""
        lines, nbest = self._read(request)
        with self._place():
            began = time.perf_counter()
            with self._searching:
                sentences = self._text.translate(lines, nbest, explained=True)
            data = [as_data(sentence, self._text.translator, explained=True) for sentence in sentences]
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
            now = self._clock()
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
