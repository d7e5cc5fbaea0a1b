"""Every reader under some damage (``make fuzz`` does more of it), and the fuzzer, which notices every kind of fault."""

import os
import re
import signal
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from fuzzer import Reader, run

from neural_smt.errors import UserError

ROUNDS = 25


def test_no_reader_has_a_fault() -> None:
    counts, faults = run("readers", ROUNDS)
    assert not faults, "\n".join(faults)
    assert all(own.total() == ROUNDS for own in counts.values())
    assert sum(own["refused"] for own in counts.values()) > 5 * ROUNDS


def refuse() -> None:
    raise UserError("it is damaged")


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "crash": (lambda: os.kill(os.getpid(), signal.SIGSEGV), r"ended \(Segmentation fault\)"),
    "hang": (lambda: max(count()), r"ended \(Profiling timer expired\)"),
    "memory": (lambda: bytearray(1 << 34), r"MemoryError: .*\(test_fuzz.py:\d+\)"),
    "traceback": (lambda: 1 / 0, r"ZeroDivisionError: division by zero \(test_fuzz.py:\d+\)"),
    "garbage": (lambda: 1, "another result, and no word"),
    "riddle": (refuse, "no sentence that names a file: it is damaged"),
}


def read(fault: Callable[[], Any], folder: Path) -> Any:
    return 0 if (folder / "file").read_bytes() == bytes(999) else fault()


READERS = [
    Reader(name, lambda folder: (folder / "file").write_bytes(bytes(999)), partial(read, fault), checked=True)
    for name, (fault, _) in FAULTS.items()
]


def test_faults_are_noticed_and_the_next_worker_goes_on() -> None:
    counts, faults = run("test_fuzz", 3, seconds=0.5)
    assert {name: own.total() for name, own in counts.items()} == dict.fromkeys(FAULTS, 3)
    for name, (_, said) in FAULTS.items():
        own = [fault for fault in faults if fault.startswith(name)]
        assert len(own) == counts[name]["fault"] > 0
        assert all(re.fullmatch(rf"{name} 1 \d: {said}", fault) for fault in own), own
    again = run("test_fuzz", 3, names=["traceback"])[1]
    assert again == [fault for fault in faults if fault.startswith("traceback")]
