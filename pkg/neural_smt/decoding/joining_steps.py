"""Putting together what shards of a text were translated and scored to."""

import logging
from collections.abc import Iterable
from itertools import chain, groupby
from pathlib import Path

from neural_smt.decoding.attention.statistics import AttentionStatistics
from neural_smt.decoding.search import SearchPlan
from neural_smt.decoding.statistics import PartStatistics, sum_asked, summarise
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_json, write_lines
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
) -> None:
    """Write the translations of a text, its n-best lists (``nbest``) and statistics out of those of its shards.

    text: what was decoded; parts, part_statistics, part_lists: what ``decode`` wrote of every shard. The seconds are
    those of all shards together.
    """
    same = SearchPlan.of([line.split() for line in read_lines(text)], 1).same
    loaded = [PartStatistics.load(path) for path in part_statistics]
    owners = [member for part in loaded for member in part.members]
    _check_whole(owners, set(same), parts, text)
    lines = [line for part in parts for line in read_lines(part)]
    translated = dict(zip(owners, lines, strict=True))
    scores = dict(zip(owners, (score for part in loaded for score in part.scores), strict=True))
    unknown = dict(zip(owners, (count for part in loaded for count in part.unknown), strict=True))
    write_lines(output, (translated[number] for number in same))
    if nbest and part_lists:
        lists = {
            part.members[number]: entries
            for part, path in zip(loaded, part_lists, strict=True)
            for number, entries in _read_lists(path)
        }
        numbered = enumerate(lists[number] for number in same)
        write_lines(nbest, (f"{number} ||| {entry}" for number, entries in numbered for entry in entries))
    seconds, threads = sum(part.seconds for part in loaded), loaded[0].threads
    asked = sum_asked([part.asked for part in loaded])
    content = summarise([scores[n] for n in same], [unknown[n] for n in same], seconds, threads, asked)
    write_json(statistics, content)
    log.info("%d sentences of %d shards, %.1f s of search", len(same), len(parts), seconds)


def join_attention(
    *,
    text: Path,
    parts: list[Path],
    part_statistics: list[Path],
    part_alignments: list[Path],
    output: Path,
    statistics: Path,
    alignment: Path,
) -> None:
    """Write what an attention network made of a text out of that of its shards.

    text: what was translated; parts, part_statistics, part_alignments: what ``translate_attention`` wrote of every
    shard.
    """
    loaded = [AttentionStatistics.load(path) for path in part_statistics]
    members = [member for part in loaded for member in part.members]
    _check_whole(members, range(len(read_lines(text))), parts, text)
    for files, joined in ((parts, output), (part_alignments, alignment)):
        lines = dict(zip(members, (line for path in files for line in read_lines(path)), strict=True))
        write_lines(joined, (lines[number] for number in range(len(members))))
    result = AttentionStatistics.join(loaded)
    write_json(statistics, result.summarise())
    result.log_result()


def join_scores(*, parts: list[Path], output: Path) -> None:
    """Write the scored n-best lists of shards one after the other."""
    write_lines(output, chain.from_iterable(map(stream_lines, parts)))


def _check_whole(members: list[int], expected: Iterable[int], parts: list[Path], text: Path) -> None:
    """Raise ``UserError`` unless the shards have every sentence once."""
    if sorted(members) != sorted(expected):
        raise UserError(f"{parts[0]} and other shards do not make a translation of {text}; decode all shards again")


def _read_lists(path: Path) -> list[tuple[int, list[str]]]:
    """The lines of an n-best list without their numbers, by sentence."""
    split = (_split(path, position, line) for position, line in enumerate(stream_lines(path), start=1))
    return [(number, [entry for _, entry in lines]) for number, lines in groupby(split, key=lambda both: both[0])]


def _split(path: Path, position: int, line: str) -> tuple[int, str]:
    number, bar, entry = line.partition(" ||| ")
    if not bar or not (number.isascii() and number.isdigit()):
        raise UserError(f"{path}, line {position}: no entry of an n-best list; decode the shards again")
    return int(number), entry
