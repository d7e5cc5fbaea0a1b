"""The texts of an experiment looked through once, before hours are spent on them."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from neural_smt.alignment.pharaoh import read_marked_alignments
from neural_smt.corpus.fetching import is_url, locations, published_name
from neural_smt.corpus.sources import ALIGNMENT, published_sources
from neural_smt.errors import UserError
from neural_smt.io.files import read_pieces, unequal_lengths
from neural_smt.planning.sizes import Text


class _Absent(UserError):
    """A text that should be on this machine is not."""


TOKENS_PER_WORD = 1.15
"""Tokens that a word between blanks becomes, about."""


def check_source(sides: Mapping[str, Path], tokenised: bool) -> Text:
    """The size of a source whose sides are good: UTF-8, not empty, and of one length.

    sides: language, or ``alignment``, -> its text (plain or ``.gz``). Raises ``UserError`` for the first fault.
    """
    lines: dict[str, int] = {}
    words: dict[str, float] = {}
    for side, path in sides.items():
        if side == ALIGNMENT:
            lines[side] = len(read_marked_alignments(path)[0])
        else:
            lines[side], words[side] = _count(path, tokenised)
        if not lines[side]:
            raise UserError(f"{path}: empty; give a text, one sentence a line")
    first = next(iter(sides))
    for side, path in sides.items():
        if lines[side] != lines[first]:
            raise unequal_lengths(sides[first], lines[first], path, lines[side])
    return Text(lines[first], words)


def _count(path: Path, tokenised: bool) -> tuple[int, float]:
    """Lines and tokens of a text. A NUL in what is still to be tokenised is dropped there."""
    lines = words = 0
    for _, piece in read_pieces(path, nul=not tokenised):
        lines += piece.count(b"\n") + (not piece.endswith(b"\n"))
        words += len(piece.split())
    return lines, words * (1.0 if tokenised else TOKENS_PER_WORD)


def local_file(side: Mapping[str, Any], where: str, mirror: str) -> Path | None:
    """The file that a side will be fetched from, where it is on this machine; None for what is to be downloaded.

    Raises ``UserError``, naming the side (``where``), for a file that nothing else can stand in for.
    """
    places = [place for place in locations(dict(side), mirror) if not is_url(place)]
    for place in map(Path, places):
        if place.is_file():
            return place
    if not side.get("url") and not is_url(mirror):
        raise _Absent(f"{where}: {' and '.join(places)}: no such file; correct its path, or set data_mirror")
    return None


def find_sides(config: Mapping[str, Any], name: str, sides: Iterable[str]) -> dict[str, Path | None]:
    """The texts of a source's sides where they are on this machine, and neither in an archive nor SGML.

    Raises ``UserError`` as ``local_file`` does.
    """
    found = {}
    for side in sides:
        declared = config["corpus"]["sources"][name][side]
        path = local_file(declared, f"corpus.sources.{name}.{side}", config["data_mirror"])
        packed = "member" in declared or published_name(dict(declared)).endswith(".sgm")
        found[side] = None if packed else path
    return found


def check_here(config: Mapping[str, Any]) -> None:
    """Check all texts that are on this machine; what is missing is left to be told where it is fetched."""
    for name, sides in published_sources(config):
        with suppress(_Absent):
            files = find_sides(config, name, sides)
            here = {side: path for side, path in files.items() if path is not None}
            if here:
                check_source(here, config["corpus"]["sources"][name]["tokenised"])
