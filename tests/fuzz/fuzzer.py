"""Files damaged at random, read by worker processes with limits: whatever a reader makes of them, it is no fault.

``python fuzzer.py ROUNDS [SEED [NAME ...]]`` prints a table of what became of so many rounds, shared out among the
readers. A fault is named by reader, seed and round, and happens again with them.
"""

import gzip
import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from neural_smt.errors import LONGEST, sentence
from neural_smt.io.arrays import read_arrays, write_arrays

SECONDS, MEMORY = 10, 1 << 30
"""Of a round: processor time (and six times as much by the clock), and address space beyond what the program takes."""

OUTCOMES = ["equal", "refused", "other", "fault"]
"""The same as of the undamaged files; one sentence; another result; anything else."""

SCRAPS = [
    b"", b" ", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"|||", b"|", b" ||| ", b"-", b"0-0", b"9-9", b"1", b"-1", b"0.5",
    b"nan", b"inf", b"1e39", b"1e-99", b"1e999", b"9" * 20, b"9" * 400, b"9" * 5000, b"\xff", b"\xc3", b"\xc2\xa0",
    b"\xe2\x80\xa8", b"\xc2\xb2", b"\x1b[2J", b"\\", b"\\end\\", b"\\2-grams:", b"ngram 1=4", b"<s>", b"</s>", b"<unk>",
    b"<UNK>", b"x " * 300, b"path=", b"[feature]", b"#", b"null", b"true", b"[]", b"{}", b"[" * 2000, b'"', b'"a": ',
    b",", b"=", b"&a ", b"*a", b"!!int ", b"<<: ", b"../", b"/", b"\x7f\xff\xff\xff", b"\xff" * 8, b"\0" * 8,
]  # fmt: skip

Found = tuple[dict[str, Counter[str]], list[str]]

FORGED = ", forged"
"""Ends the names of readers of files that are as they were written, with other values."""

VALUES = [None, True, -1, 0.5, 10**30, float("nan"), "x", "", "../x", [], {}]


class Reader(NamedTuple):
    """A format: what writes an example into a folder, which is empty and the working directory, and what reads it.

    read: returns what JSON has, arrays, or objects of these; ``UserError`` names a file of the example. checked:
    whether the format notices any damage, so that another result is a fault.
    """

    name: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    checked: bool = False


def load(table: str) -> dict[str, Reader]:
    """The ``READERS`` of a module of the tests, by name."""
    tests = Path(__file__).resolve().parent.parent
    sys.path += map(str, [tests, *(path for path in tests.iterdir() if path.is_dir())])
    return {reader.name: Reader(*reader) for reader in importlib.import_module(table).READERS}


def damaged(good: bytes, chance: random.Random) -> bytes:
    """``good`` after up to four changes: bits turned; bytes put in, replaced or cut out; the end gone; lines moved,
    doubled or dropped. Now and then anything at all.
    """
    data = bytearray(good if chance.randrange(50) else chance.randbytes(400))
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        start, length = chance.randint(0, len(data)), chance.choice([0, 0, 1, 1, 2, 5, 40, 400])
        kind = chance.randrange(6)
        if kind == 0 and start < len(data):
            data[start] ^= 1 << chance.randrange(8)
        elif kind == 1:
            data[start : start + length] = chance.randbytes(length)
        elif kind == 2 and not chance.randrange(3):
            del data[start:]
        elif kind == 3:
            lines = data.splitlines(keepends=True) or [b""]
            line = lines.pop(chance.randrange(len(lines)))
            for _ in range(chance.randint(0, 2)):
                lines.insert(chance.randint(0, len(lines)), line)
            data = bytearray(b"".join(lines))
        else:
            data[start : start + length] = chance.choice(SCRAPS)
    return bytes(data)


def misshapen(good: bytes, chance: random.Random) -> bytes:
    """JSON or YAML with up to two values gone, doubled, or others in their places."""
    tree = [yaml.safe_load(good)]
    for _ in range(chance.randint(1, 2)):
        places: list[tuple[Any, Any]] = [(tree, 0)]
        for place, key in places:
            inside = place[key]
            keys = list(inside) if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()
            places += [(inside, key) for key in keys]
        place, key = chance.choice(places)
        place[key] = chance.choice([*VALUES, [place[key]], [place[key]] * 2, {"x": place[key]}])
        if place is not tree and not chance.randrange(4):
            del place[key]
    return json.dumps(tree[0]).encode()


def repacked(good: bytes, chance: random.Random) -> bytes:
    """A whole gzip file whose text is damaged."""
    return gzip.compress(damaged(gzip.decompress(good), chance), mtime=0)


def forged(good: bytes, chance: random.Random) -> bytes:
    """A file of arrays with right checksums, in which up to two arrays have other values, shapes or types."""
    path = Path("forged")
    path.write_bytes(good)
    arrays = read_arrays(path, mapped=False)
    for name in chance.choices(list(arrays), k=chance.randint(1, 2)):
        array = arrays[name]
        values = array.reshape(-1).view(np.uint8)
        kind = chance.randrange(6)
        if kind == 0:
            array = array[1:] if chance.randrange(2) and array.ndim else np.concatenate([array, array], axis=-1)
        elif kind == 1:
            array = array.astype(chance.choice([np.int32, np.int64, np.float32, np.uint8]))
        elif kind == 2 and len(values):
            array.reshape(-1)[chance.randrange(array.size)] = chance.choice([0, 1, 127, 200])
        elif kind == 3:
            array = np.ascontiguousarray(array.T)
        elif len(values):
            place = chance.randrange(len(values))
            values[place : place + 8] = chance.choice([0, 255, 127, 1, values[place] ^ (1 << chance.randrange(8))])
        arrays[name] = array
    write_arrays(path, arrays, arrays.meta)
    data = path.read_bytes()
    path.unlink()
    return data


def content(result: Any) -> str:
    """What was read as text that can be compared."""
    return json.dumps(result, default=lambda one: one.tolist() if hasattr(one, "tolist") else vars(one))


def outcome(reader: Reader, good: str, names: list[str]) -> tuple[str, str]:
    """What becomes of the damaged files: one of ``OUTCOMES``, and what is to be said of it."""
    try:
        same = content(reader.read(Path())) == good
        return ("equal", "") if same else ("fault", "another result, and no word") if reader.checked else ("other", "")
    except Exception as error:
        told = None if isinstance(error, MemoryError) else sentence(error)
        if told is None:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return "fault", f"{type(error).__name__}: {str(error)[:100]} ({Path(last.filename).name}:{last.lineno})"
        clean = told.isprintable() and len(told) <= LONGEST and "\n" not in str(error)
        named = isinstance(error, OSError) or any(name in told for name in [*names, "no such file"])
        named |= reader.name.endswith(FORGED)  # where all of it together is at fault
        return ("refused", told) if clean and named else ("fault", f"no sentence that names a file: {told}")


def work(table: str, waiting: str, seed: str, rounds: str, seconds: str) -> None:
    """A worker: the rounds that are left, each reader in a folder of its own; a line of JSON before and after each."""
    readers, inside = load(table), {".gz": repacked, ".json": misshapen, ".yaml": misshapen}
    for place, (name, first) in enumerate(json.loads(waiting)):
        reader, folder = readers[name], Path(str(place)).absolute()
        folder.mkdir()
        os.chdir(folder)
        reader.write(Path())
        good = content(reader.read(Path()))
        originals = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        for number in range(first, int(rounds)):
            chance = random.Random(f"{name} {seed} {number}")
            path = chance.choice(list(originals))
            change = inside.get(path.suffix if chance.randrange(2) else "", damaged)
            if not reader.checked and b'"xxh3"' in originals[path] and chance.randrange(4):
                change = forged
            data = change(originals[path], chance)
            path.unlink()  # what is mapped stays what it was
            path.write_bytes(data)
            print(json.dumps([name, number]), flush=True)
            for timer, times in ((signal.ITIMER_PROF, 1), (signal.ITIMER_REAL, 6)):
                signal.setitimer(timer, times * float(seconds))
            found = outcome(reader, good, [one.name for one in originals])
            for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
                signal.setitimer(timer, 0)
            print(json.dumps([name, number, *found]), flush=True)
            path.unlink()
            path.write_bytes(originals[path])
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.chdir("..")


def run(table: str, rounds: int, seed: int = 1, names: Sequence[str] = (), seconds: float = SECONDS) -> Found:
    """Counts of outcomes by reader, after so many rounds of each, and the faults. A worker that ends is replaced.

    table: module with ``READERS``; names: those that are run (all of them).
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in names or load(table)}
    faults, waiting, ended = [], [(name, 0) for name in counts], False
    while not ended:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
            options = [table, json.dumps(waiting), str(seed), str(rounds), str(seconds)]
            command = [sys.executable, __file__, "--work", *options]
            worker = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True)
            name, number, found = waiting[0][0], -1, [""]
            for line in worker.stdout:
                name, number, *found = json.loads(line)
                if found:
                    counts[name][found[0]] += 1
                    faults += [f"{name} {seed} {number}: {found[1]}"] if found[0] == "fault" else []
            ended = worker.wait() == 0
            errors.seek(0)
            if found and not ended:
                raise RuntimeError(f"the fuzzer ended after {name} {seed} {number}: {errors.read()[-2000:]}")
        if not ended:
            counts[name]["fault"] += 1
            how = signal.strsignal(-worker.returncode) if worker.returncode < 0 else "it left Python"
            faults.append(f"{name} {seed} {number}: ended ({how})")
            waiting = [(name, number + 1), *waiting[1 + [one for one, _ in waiting].index(name) :]]
    return counts, faults


def main(rounds: str, seed: str = "1", *names: str) -> int:
    """Print the faults and the table of outcomes; 1 where there are faults."""
    counts, faults = run("readers", -(-int(rounds) // len(names or load("readers"))), int(seed), names)
    table = pd.DataFrame(counts, index=OUTCOMES).fillna(0).astype(int).T
    table.loc["all"] = table.sum()
    table.insert(0, "rounds", table.sum(axis=1))
    print("\n".join([*faults, table.to_markdown(intfmt=",")]))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(work(*sys.argv[2:]) if sys.argv[1] == "--work" else main(*sys.argv[1:]))
