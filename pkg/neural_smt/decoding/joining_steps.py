"""Putting together what shards of a text were translated to, by a phrase-based search or by an attention network."""

import logging
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from neural_smt.decoding.attention.results import AttentionStatistics
from neural_smt.decoding.nbest import sentence_of
from neural_smt.decoding.search import SearchPlan
from neural_smt.decoding.statistics import PartStatistics
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, read_object, write_json, write_lines
from neural_smt.io.streams import stream_lines

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
    # a search translates equal sentences once
    same = SearchPlan.of([line.split() for line in lines], 1).same if kind is PartStatistics else range(len(lines))
    loaded = [kind.load(path) for path in part_statistics]
    owners = [member for part in loaded for member in part.members]
    if kinds or sorted(owners) != sorted(set(same)):
        raise UserError(f"{parts[0]} and other shards do not make a translation of {text}; decode all shards again")
    for files, joined in ((parts, output), (part_alignments, alignment)):
        if files and joined:
            found = dict(zip(owners, (line for path in files for line in read_lines(path)), strict=True))
            write_lines(joined, (found[number] for number in same))
    if nbest and part_lists:
        lists = {
            part.members[number]: entries
            for part, path in zip(loaded, part_lists, strict=True)
            for number, entries in _read_lists(path)
        }
        numbered = enumerate(lists[number] for number in same)
        write_lines(nbest, (f"{number} ||| {entry}" for number, entries in numbered for entry in entries))
    result = kind.join(loaded, same)
    write_json(statistics, result.summarise())
    result.log_result()


def _read_lists(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of an n-best list without their numbers, by sentence."""
    numbered = enumerate(stream_lines(path), start=1)
    for number, group in groupby(numbered, key=lambda item: sentence_of(item[1])):
        lines = list(group)
        if number < 0:
            raise UserError(f"{path}, line {lines[0][0]}: no entry of an n-best list; decode the shards again")
        yield number, [line.partition(" ||| ")[2] for _, line in lines]
