"""Long texts: shards that tokenise them, and steps that hold little of them in memory."""

import time
import tracemalloc
from pathlib import Path

import pytest

from neural_smt.corpus import steps, tokenisation
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines

LIMITS = {"max_length": 80, "max_ratio": 9}


@pytest.mark.parametrize("count", [1, 4, 16])
@pytest.mark.parametrize("tokenised", [False, True])
def test_shards_tokenise_the_whole_text(tmp_path: Path, count: int, tokenised: bool) -> None:
    write_lines(tmp_path / "raw.gz", [f"L\u2019eau, c'est {number} %\r" for number in range(11)])
    options = {"text": tmp_path / "raw.gz", "language": "fr", "tokenised": tokenised}
    steps.tokenise(**options, output=tmp_path / "whole")
    parts = [tmp_path / f"{number}-of-{count}" for number in range(1, count + 1)]
    for part in parts:
        steps.tokenise(**options, output=part, shard=part.name)
    assert b"".join(part.read_bytes() for part in parts) == (tmp_path / "whole").read_bytes()
    assert len(read_lines(tmp_path / "whole")) == 11
    assert max(len(read_lines(part)) for part in parts) == -(-11 // count)


def test_a_shard_that_is_none_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "raw", ["a"])
    with pytest.raises(UserError, match="shard 5 of 4"):
        steps.tokenise(text=tmp_path / "raw", language="en", output=tmp_path / "o", shard="5-of-4")


def test_processes_tokenise_a_stream_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenisation, "CHUNK", 7)
    read = []

    def lines():
        for number in range(400):
            read.append(number)
            yield f"Line {number}."

    found = tokenisation.tokenise_stream(lines(), "en", threads=2)
    assert next(found) == "Line 0 ."
    assert len(read) == 2 * 4 * 7, "no more of the text is read before the first line comes out"
    time.sleep(0.5)
    assert len(read) == 2 * 4 * 7, "nor while nobody asks for the next one"
    assert [next(found) for _ in range(399)] == [f"Line {number} ." for number in range(1, 400)]
    assert next(found, None) is None


def test_memory_does_not_grow_with_the_text(tmp_path: Path) -> None:
    line = "un deux trois quatre cinq six sept huit neuf dix"
    peaks = []
    for lines in (20_000, 80_000):
        for side in ("en", "fr"):
            write_lines(tmp_path / f"t.{side}", (line for _ in range(lines)))
        tracemalloc.start()
        steps.tokenise(text=tmp_path / "t.en", language="en", output=tmp_path / "o", tokenised=True)
        steps.clean_pairs(
            names=["t"],
            sources=[tmp_path / "t.en"],
            targets=[tmp_path / "t.fr"],
            source_output=tmp_path / "o.en",
            target_output=tmp_path / "o.fr",
            table=tmp_path / "t.csv",
            settings=LIMITS,
        )
        steps.clean_text(
            names=["t"], texts=[tmp_path / "t.fr"], output=tmp_path / "m", table=tmp_path / "m.csv", settings=LIMITS
        )
        steps.build_vocabulary(texts=[tmp_path / "t.fr"], output=tmp_path / "v")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(read_lines(tmp_path / "o.en")) == lines
    assert peaks[1] < 1.2 * peaks[0], "bytes"
    assert peaks[1] < (tmp_path / "t.en").stat().st_size
