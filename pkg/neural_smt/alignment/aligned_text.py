"""Aligned text as word ids, read in parts, so that no more than one of them need be in memory."""

from dataclasses import dataclass
from pathlib import Path

from neural_smt.alignment.pharaoh import check_alignments, check_lines, parse_alignments
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import count_lines, count_parallel, stream_lines
from neural_smt.vocabulary import Vocabulary


@dataclass(frozen=True)
class AlignedText:
    """Sentence pairs: source, target: int32 ``Ragged`` of word ids; alignments: int16 ``Ragged`` of rows (source,
    target), shape ``[links, 2]``, all inside their sentence pair.
    """

    source: Ragged
    target: Ragged
    alignments: Ragged


def count_pairs(source: Path, target: Path, alignment: Path) -> int:
    """The number of sentence pairs; ``UserError`` when the three files differ in their numbers of lines."""
    lines = count_parallel(source, target)
    check_lines(alignment, source, count_lines(alignment), lines)
    return lines


def read_aligned(
    source: Path, target: Path, alignment: Path, vocabularies: tuple[Vocabulary, Vocabulary], part: range
) -> AlignedText:
    """The sentence pairs on some lines (from 0) of the files.

    Raises ``UserError`` naming the line of an alignment that cannot be read or lies outside its sentence pair.
    """
    sides = zip(vocabularies, (source, target), strict=True)
    texts = [vocabulary.encode(stream_lines(path, part)) for vocabulary, path in sides]
    links = parse_alignments(list(stream_lines(alignment, part)), alignment, part.start)
    check_alignments(links, texts[0].lengths, texts[1].lengths, alignment, source, part.start)
    return AlignedText(*texts, links)
