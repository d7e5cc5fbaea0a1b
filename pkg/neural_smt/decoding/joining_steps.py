"""Putting together what shards of a text were translated to, by a phrase-based search or by an attention network.

Nothing that takes long to load (Numba does) is loaded for it.
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from neural_smt.decoding.attention.results import AttentionStatistics
from neural_smt.decoding.statistics import PartStatistics
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, read_object, write_json, write_lines
from neural_smt.io.streams import stream_lines, stream_texts

log = logging.getLogger(__name__)


def join_translations(
    *,
    text: Path,
    parts: list[Path],
    part_statistics: list[Path],
    output: Path,
    statistics: Path,
    part_lists: list[Path] | None = None,
    nbest: Path | None = None,
    part_alignments: list[Path] | None = None,
    alignment: Path | None = None,
) -> None:
    """Write the translations of a text, its n-best lists (``nbest``), alignments and statistics out of those of shards.

    text: what was translated; parts, part_statistics, part_lists, part_alignments: what ``decode`` or
    ``translate_attention`` wrote of every shard. The seconds are those of all shards together.
    """
    lines = read_lines(text)
    kinds = {
        PartStatistics if "counts" in read_object(path, "decode the shards again") else AttentionStatistics
        for path in part_statistics
    }
    kind = kinds.pop()
    loaded: list[Any] = [kind.load(path) for path in part_statistics]
    owners = [member for part in loaded for member in part.members]
    if kinds or sorted(owners) != list(range(len(lines))):
        raise UserError(f"{parts[0]} and other shards do not make a translation of {text}; decode all shards again")
    for files, joined in ((parts, output), (part_alignments, alignment), (part_lists, nbest)):
        if files and joined:
            lists = _read_lists(files) if joined == nbest else ([line] for path in files for line in read_lines(path))
            found = dict(zip(owners, lists, strict=True))
            number = "{} ||| " if joined == nbest else ""
            write_lines(joined, (number.format(n) + line for n in range(len(lines)) for line in found[n]))
    result = kind.join(loaded)
    write_json(statistics, result.summarise())
    result.log_result()


def join_scores(*, parts: list[Path], output: Path) -> None:
    """Write the scored n-best lists of shards one after the other."""
    write_lines(output, stream_texts(parts))


def _read_lists(paths: Iterable[Path]) -> Iterator[list[str]]:
    """The lines of n-best lists without their numbers, by sentence."""
    from neural_smt.decoding.nbest import sentence_of

    for path in paths:
        numbered = enumerate(stream_lines(path), start=1)
        for number, group in groupby(numbered, key=lambda item: sentence_of(item[1])):
            lines = list(group)
            if number < 0:
                raise UserError(f"{path}, line {lines[0][0]}: no entry of an n-best list; decode the shards again")
            yield [line.partition(" ||| ")[2] for _, line in lines]
