"""Word alignments as text, and the text they align: one line a sentence pair, ``i-j`` links, counted from 0.

The same reader takes alignments made by hand, where ``i-j`` is a sure and ``i?j`` a possible link.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError, check_as_many
from neural_smt.io.files import atomic, check_as_long, open_text
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import count_lines, count_parallel, count_words, stream_lines
from neural_smt.jit import kernel
from neural_smt.vocabulary import Vocabularies

LARGEST_INDEX = np.iinfo(np.int16).max
"""Word positions are int16, so a sentence has at most 32,768 words."""

ALIGN_AGAIN = "align that text again"
CORRECT = "correct it, or name the language whose positions it gives first (links_from of its source)"

_SPACE, _TAB, _NEWLINE, _HYPHEN, _QUESTION = 32, 9, 10, 45, 63
_ZERO, _NINE = 48, 57


@kernel
def _parse(data: np.ndarray, values: np.ndarray, sure: np.ndarray, offsets: np.ndarray) -> tuple[int, int]:
    """Fill links, sure marks and line offsets from UTF-8 bytes; return (number of links, faulty line or -1).

    ``data`` ends with a newline. Between two separators stands ``digits mark digits`` or nothing.
    """
    links, line = 0, 0
    number, digits, left = 0, 0, -1
    mark = _HYPHEN
    for byte in data:
        if _ZERO <= byte <= _NINE:
            number = number * 10 + (np.int64(byte) - _ZERO)
            digits += 1
            if number > LARGEST_INDEX:
                return links, line
        elif byte in (_HYPHEN, _QUESTION):
            if left >= 0 or digits == 0:
                return links, line
            left, mark = number, byte
            number, digits = 0, 0
        elif byte in (_SPACE, _TAB, _NEWLINE):
            if left >= 0 and digits > 0:
                values[links, 0], values[links, 1] = left, number
                sure[links] = mark == _HYPHEN
                links += 1
            elif left >= 0 or digits > 0:
                return links, line
            number, digits, left = 0, 0, -1
            if byte == _NEWLINE:
                line += 1
                offsets[line] = links
        else:
            return links, line
    return links, -1


@kernel
def _put_number(out: np.ndarray, position: int, number: int) -> int:
    """Write ``number`` in decimal digits at ``position``; return the position after it."""
    power = 1
    while number // power >= 10:
        power *= 10
    while power > 0:
        out[position] = _ZERO + number // power % 10
        position += 1
        power //= 10
    return position


@kernel
def _format(values: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> int:
    """Write the links as text into ``out`` (uint8, at least 12 bytes a link and 1 a line); return its length."""
    position = 0
    for sentence in range(len(offsets) - 1):
        for link in range(offsets[sentence], offsets[sentence + 1]):
            if link > offsets[sentence]:
                out[position] = _SPACE
                position += 1
            position = _put_number(out, position, np.int64(values[link, 0]))
            out[position] = _HYPHEN
            position = _put_number(out, position + 1, np.int64(values[link, 1]))
        out[position] = _NEWLINE
        position += 1
    return position


def read_marked_alignments(path: Path, part: range | None = None, turned: bool = False) -> tuple[Ragged, np.ndarray]:
    """Read alignments made by hand: all links (int16 ``[links, 2]``: source, target) and bool ``[links]``, true where a
    link is sure.

    part: the lines (from 0) that are wanted; turned: whether the file gives the target's positions first. Raises
    ``UserError`` naming the line that holds anything but ``i-j`` and ``i?j``.
    """
    links, sure = _parse_lines(path, list(stream_lines(path, part)), part.start if part else 0)
    return Ragged(np.ascontiguousarray(links.values[:, :: -1 if turned else 1]), links.offsets), sure


def _parse_lines(path: Path, lines: list[str], before: int) -> tuple[Ragged, np.ndarray]:
    """The links of some lines of a file, and which are sure; before: how many lines precede them."""
    data = np.frombuffer("\n".join([*lines, ""]).encode(), dtype=np.uint8)
    # A link takes at least four bytes with the separator after it.
    values = np.empty((len(data) // 4 + 1, 2), dtype=np.int16)
    sure = np.empty(len(values), dtype=np.bool_)
    offsets = np.zeros(len(lines) + 1, dtype=np.int64)
    links, fault = _parse(data, values, sure, offsets)
    if fault >= 0:
        found = lines[fault] if len(lines[fault]) <= 60 else f"{lines[fault][:60]}..."
        raise UserError(
            f"{path}, line {before + fault + 1}: expected links such as 0-0 1-2 (positions up to {LARGEST_INDEX}) "
            f"but found {found!r}; write the alignment again in Pharaoh format"
        )
    return Ragged(values[:links].copy(), offsets), sure[:links].copy()


def read_gold(
    gold: Sequence[Path], turned: Collection[Path], sources: Sequence[Path], targets: Sequence[Path]
) -> list[tuple[Ragged, np.ndarray]]:
    """What ``read_marked_alignments`` reads of each of some files, whose links lie inside the sentences of these texts,
    or ``UserError``; turned: those that give the target's positions first.
    """
    check_as_many(gold=gold, sources=sources, targets=targets)
    found = []
    for path, source, target in zip(gold, sources, targets, strict=True):
        links, sure = read_marked_alignments(path, turned=path in turned)
        lengths = count_words(stream_lines(source)), count_words(stream_lines(target))
        check_alignments(links, lengths, path, source, advice=CORRECT)
        found.append((links, sure))
    return found


def read_alignments(path: Path, part: range | None = None) -> Ragged:
    """Read Pharaoh alignments: one list of links a line, int16 ``[links, 2]`` (source, target), in the file's order.

    part: the lines (from 0) that are wanted. Raises ``UserError`` naming the line of a malformed or a merely possible
    (``i?j``) link.
    """
    return _check_sure(path, *read_marked_alignments(path, part), part.start if part else 0)


def stream_alignments(path: Path, most: int) -> Iterator[Ragged]:
    """Yield what ``read_alignments`` reads, ``most`` lines at a time."""
    stream, before = stream_lines(path), 0
    while lines := list(islice(stream, most)):
        yield _check_sure(path, *_parse_lines(path, lines, before), before)
        before += len(lines)


def _check_sure(path: Path, alignments: Ragged, sure: np.ndarray, before: int) -> Ragged:
    if not sure.all():
        line = before + int(np.searchsorted(alignments.offsets, np.argmin(sure), side="right"))
        raise UserError(f"{path}, line {line}: holds a possible link (i?j), which only a gold alignment may have")
    return alignments


def check_alignments(
    alignments: Ragged,
    lengths: tuple[np.ndarray, np.ndarray],
    path: Path,
    text: Path,
    before: int = 0,
    advice: str = ALIGN_AGAIN,
) -> None:
    """Raise ``UserError`` unless every link of ``path`` points inside its sentence pair.

    lengths: words of each source and of each target sentence, int ``[n]``; ``text`` is the file to name beside
    ``path``; before: how many lines of both precede these; advice: what to do about a link outside.
    """
    check_as_long(path, text, len(alignments), len(lengths[0]), advice)
    outside = np.zeros(len(alignments.values), dtype=np.bool_)
    for side, of_side in enumerate(lengths):
        outside |= alignments.values[:, side] >= np.repeat(of_side.astype(np.int32), alignments.lengths)
    if outside.any():
        link = int(np.argmax(outside))
        i, j = alignments.values[link].tolist()
        sentence = int(np.searchsorted(alignments.offsets, link, side="right")) - 1
        raise UserError(
            f"{path}, line {before + sentence + 1}: link {i}-{j} lies outside the sentence pair of "
            f"{lengths[0][sentence]} and {lengths[1][sentence]} words in {text}; {advice}"
        )


def write_alignments(path: Path, parts: Iterable[Ragged]) -> int:
    """Write Pharaoh alignments, part after part, one line a sentence pair, atomically (``.gz`` compressed). Returns how
    many links there are.
    """
    links = 0
    with atomic(path) as temporary, open_text(temporary, "w") as stream:
        for alignments in parts:
            out = np.empty(12 * len(alignments.values) + len(alignments), dtype=np.uint8)
            length = _format(alignments.values, alignments.offsets, out)
            stream.write(out[:length].tobytes().decode("ascii"))
            links += len(alignments.values)
    return links


AlignedText = tuple[Ragged, Ragged, Ragged]
"""Sentence pairs: int32 word ids of the source and of the target side, and int16 rows (source, target) of links, shape
``[links, 2]``, all inside their sentence pair."""


def count_pairs(source: Path, target: Path, alignment: Path) -> int:
    """The number of sentence pairs; ``UserError`` when the three files differ in their numbers of lines."""
    lines = count_parallel(source, target)
    check_as_long(alignment, source, count_lines(alignment), lines, ALIGN_AGAIN)
    return lines


def read_aligned(
    source: Path, target: Path, alignment: Path, vocabularies: Vocabularies, part: range | None = None
) -> AlignedText:
    """The sentence pairs of three files, or those on some lines (from 0); no others are in memory.

    Raises ``UserError`` naming the line of an alignment that cannot be read or lies outside its sentence pair.
    """
    part = range(count_pairs(source, target, alignment)) if part is None else part
    texts = [words.encode(stream_lines(path, part)) for words, path in zip(vocabularies, (source, target), strict=True)]
    return _checked(texts, read_alignments(alignment, part), (alignment, source), part.start)


def stream_aligned(
    source: Path, target: Path, alignment: Path, vocabularies: Vocabularies, most: int
) -> Iterator[AlignedText]:
    """Yield what ``read_aligned`` reads, ``most`` sentence pairs at a time."""
    count_pairs(source, target, alignment)
    sides = zip(vocabularies, (source, target), strict=True)
    texts, before = [words.encode_pieces(stream_lines(path), most) for words, path in sides], 0
    for links, *pieces in zip(stream_alignments(alignment, most), *texts, strict=True):
        yield _checked(pieces, links, (alignment, source), before)
        before += len(links)


def _checked(texts: list[Ragged], links: Ragged, paths: tuple[Path, Path], before: int) -> AlignedText:
    """The parts of an aligned text; paths: of the alignment and of the source."""
    check_alignments(links, (texts[0].lengths, texts[1].lengths), *paths, before)
    return texts[0], texts[1], links
