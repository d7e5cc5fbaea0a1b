"""Phrase pairs consistent with a word alignment (Och and Ney 2004; Koehn et al. 2003), and how each is oriented.

Which pairs are taken, and their orientation, follow Moses' ``extract`` with ``msd-bidirectional-fe``: every target
span with a link is paired with the smallest source span that covers its links, provided that no word of that source
span is linked outside the target span; the source span is then widened over unaligned words on either side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.phrases.interning import intern_parts
from neural_smt.phrases.primitives import LONGEST_PHRASE, pack_span
from neural_smt.shards import in_threads

MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2

MOST_PAIRS = np.iinfo(np.int32).max
"""Occurrences are numbered by int32."""

RANGES_PER_THREAD = 8
"""More ranges than threads, so that no thread waits long for the slowest one."""


@dataclass(frozen=True)
class ExtractedPairs:
    """Every occurrence of a phrase pair, n of them in the order of the text; 17 bytes each.

    source, target: int32 ``[n]``, rows of ``source_phrases`` and ``target_phrases`` (int32 ``Ragged``, distinct, in
    shortlex order); links: uint64 ``[n]``, the links inside, bit ``8 j + i``; orientation: uint8 ``[n]``,
    3 x (orientation to the previous phrase) + (to the next one), each 0 monotone, 1 swap, 2 discontinuous.
    """

    source: np.ndarray
    target: np.ndarray
    links: np.ndarray
    orientation: np.ndarray
    source_phrases: Ragged
    target_phrases: Ragged

    def __len__(self) -> int:
        return len(self.source)


class _Marks(NamedTuple):
    """The links of one sentence pair, in arrays large enough for any of its range."""

    linked: np.ndarray
    """bool: ``linked[i + 1, j + 1]`` for source word i and target word j, with corners before and after the words"""
    source_reach: np.ndarray
    """int32 ``[words, 2]``: first and last partner of each source word, first > last when it has none"""
    target_reach: np.ndarray
    """the same of each target word"""
    target_rows: np.ndarray
    """uint64 ``[words]``: the partners of each target word, as bits counted from the first one"""


class PairSpans(NamedTuple):
    """Every occurrence of a phrase pair by its place: spans (``pack_span``) of its sentence pair; links and orientation
    as in ``ExtractedPairs``.
    """

    source_spans: Annotated[np.ndarray, "int32 [P] < *"]
    target_spans: Annotated[np.ndarray, "int32 [P] < *"]
    links: Annotated[np.ndarray, "uint64 [P]"]
    orientation: Annotated[np.ndarray, "uint8 [P] < 9"]


@kernel
def _orient(monotone: bool, swap: bool) -> int:
    """Orientation from the two corner links: exactly one of them decides."""
    if monotone == swap:
        return DISCONTINUOUS
    return MONOTONE if monotone else SWAP


@kernel
def _mark_links(links: np.ndarray, marks: _Marks, source_length: int, target_length: int) -> None:
    """Note the links (int16 ``[n, 2]``) of a sentence pair; its cells of ``marks.linked`` must be clear."""
    linked, source_reach, target_reach, target_rows = marks
    linked[0, 0] = True
    linked[source_length + 1, target_length + 1] = True
    source_reach[:source_length, 0] = target_length
    source_reach[:source_length, 1] = -1
    target_reach[:target_length, 0] = source_length
    target_reach[:target_length, 1] = -1
    target_rows[:target_length] = np.uint64(0)
    for link in range(len(links)):
        i, j = np.int64(links[link, 0]), np.int64(links[link, 1])
        linked[i + 1, j + 1] = True
        source_reach[i, 0] = min(source_reach[i, 0], j)
        source_reach[i, 1] = max(source_reach[i, 1], j)
        target_reach[j, 0] = min(target_reach[j, 0], i)
        target_reach[j, 1] = max(target_reach[j, 1], i)
    for link in range(len(links)):
        i, j = np.int64(links[link, 0]), np.int64(links[link, 1])
        if i - target_reach[j, 0] < LONGEST_PHRASE:
            target_rows[j] |= np.uint64(1) << np.uint64(i - target_reach[j, 0])


@kernel
def _clear_links(links: np.ndarray, marks: _Marks, source_length: int, target_length: int) -> None:
    """Clear the cells of ``marks.linked`` that ``_mark_links`` set: cheaper than clearing all of it."""
    marks.linked[0, 0] = False
    marks.linked[source_length + 1, target_length + 1] = False
    for link in range(len(links)):
        marks.linked[links[link, 0] + 1, links[link, 1] + 1] = False


@kernel
def _is_consistent(source_reach: np.ndarray, first: int, last: int, start: int, end: int) -> bool:
    """Whether the source words first..last have no link outside the target words start..end."""
    for i in range(first, last + 1):
        if source_reach[i, 1] >= 0 and (source_reach[i, 0] < start or source_reach[i, 1] > end):
            return False
    return True


@kernel
def _widen(
    span: tuple[int, int, int, int],
    links: np.uint64,
    marks: _Marks,
    source_length: int,
    max_length: int,
    out: PairSpans,
    position: int,
    write: bool,
) -> int:
    """Visit a minimal pair and those with the source side widened over unaligned words; return the next position."""
    first, last, start, end = span
    linked, source_reach, _, _ = marks
    i = first
    while i >= 0 and i > last - max_length and (i == first or source_reach[i, 1] < 0):
        k = last
        while k < source_length and k < i + max_length and (k == last or source_reach[k, 1] < 0):
            if write:
                # ``linked`` is shifted by one: the word before i is row i, the word after k is row k + 2.
                previous = _orient(linked[i, start], linked[k + 2, start])
                following = _orient(linked[k + 2, end + 2], linked[i, end + 2])
                out.source_spans[position] = pack_span(i, k - i + 1)
                out.target_spans[position] = pack_span(start, end - start + 1)
                out.links[position] = links << np.uint64(first - i)
                out.orientation[position] = 3 * previous + following
            position += 1
            k += 1
        i -= 1
    return position


@kernel
def _extract_sentence(
    marks: _Marks, source_length: int, target_length: int, max_length: int, out: PairSpans, position: int, write: bool
) -> int:
    """Visit the phrase pairs of one sentence pair, writing them from ``position`` on; return the next position."""
    _, source_reach, target_reach, target_rows = marks
    for start in range(target_length):
        first, last = source_length, -1
        links = np.uint64(0)
        for end in range(start, min(start + max_length, target_length)):
            if target_reach[end, 1] >= 0:
                lowest = min(first, target_reach[end, 0])
                last = max(last, target_reach[end, 1])
                if last - lowest >= max_length:
                    break
                row = target_rows[end] << np.uint64(target_reach[end, 0] - lowest)
                if first < source_length:
                    links <<= np.uint64(first - lowest)
                links |= row << np.uint64(LONGEST_PHRASE * (end - start))
                first = lowest
            if last >= 0 and _is_consistent(source_reach, first, last, start, end):
                span = (first, last, start, end)
                position = _widen(span, links, marks, source_length, max_length, out, position, write)
    return position


@kernel
def _extract_range(
    sentences: tuple[int, int],
    source_offsets: np.ndarray,
    target_offsets: np.ndarray,
    links: np.ndarray,
    link_offsets: np.ndarray,
    max_length: int,
    pair_offsets: np.ndarray,
    out: PairSpans,
    write: bool,
) -> None:
    """Count the pairs of each sentence of a range into ``pair_offsets[sentence + 1]``, or ``write`` them."""
    longest_source, longest_target = 0, 0
    for sentence in range(sentences[0], sentences[1]):
        longest_source = max(longest_source, source_offsets[sentence + 1] - source_offsets[sentence])
        longest_target = max(longest_target, target_offsets[sentence + 1] - target_offsets[sentence])
    marks = _Marks(
        np.zeros((longest_source + 2, longest_target + 2), dtype=np.bool_),
        np.empty((longest_source, 2), dtype=np.int32),
        np.empty((longest_target, 2), dtype=np.int32),
        np.empty(longest_target, dtype=np.uint64),
    )
    for sentence in range(sentences[0], sentences[1]):
        source_length = source_offsets[sentence + 1] - source_offsets[sentence]
        target_length = target_offsets[sentence + 1] - target_offsets[sentence]
        own = links[link_offsets[sentence] : link_offsets[sentence + 1]]
        _mark_links(own, marks, source_length, target_length)
        begin = pair_offsets[sentence] if write else 0
        end = _extract_sentence(marks, source_length, target_length, max_length, out, begin, write)
        if not write:
            pair_offsets[sentence + 1] = end
        _clear_links(own, marks, source_length, target_length)


def split_evenly(offsets: np.ndarray, threads: int) -> list[tuple[int, int]]:
    """Cut lists with these ``offsets`` (int64 ``[n + 1]``) into ranges (first, end) of lists about equal in size."""
    cuts = np.linspace(0, offsets[-1], RANGES_PER_THREAD * threads + 1)[1:-1]
    borders = [0, *np.searchsorted(offsets, cuts).tolist(), len(offsets) - 1]
    return [(first, end) for first, end in pairwise(borders) if first < end]


def run_ranges(function: Callable[..., None], offsets: np.ndarray, threads: int, *arguments: Any) -> None:
    """Call ``function(range, *arguments)`` on ``threads`` threads for the ranges of ``split_evenly``; the first error
    is raised.
    """
    in_threads(lambda part: function(part, *arguments), split_evenly(offsets, threads), threads)


def extract_spans(
    source: Ragged, target: Ragged, alignments: Ragged, max_length: int, threads: int = 1
) -> tuple[PairSpans, np.ndarray]:
    """Extract the places of all phrase pairs of at most ``max_length`` words a side (1 to 8) from an aligned text.

    source, target: int32 word ids per sentence; alignments: int16 ``[links, 2]`` per sentence, inside it (see
    ``alignment.pharaoh.check_alignments``). The pairs are counted first and then written into arrays of just the
    right size. Returns the pairs in the order of the text, and int64 ``[sentences + 1]``, where those of each sentence
    begin. The result does not depend on ``threads``.
    """
    if not 1 <= max_length <= LONGEST_PHRASE:
        raise UserError(f"max_length is {max_length}, but phrases of 1 to {LONGEST_PHRASE} words can be extracted")
    links = alignments.values.reshape(-1, 2)
    offsets = np.zeros(len(alignments) + 1, dtype=np.int64)

    def run(pairs: int, write: bool) -> PairSpans:
        out = PairSpans(*(np.empty(pairs, dtype=dtype) for dtype in (np.int32, np.int32, np.uint64, np.uint8)))
        text = source.offsets, target.offsets, links, alignments.offsets
        run_ranges(_extract_range, source.offsets, threads, *text, max_length, offsets, out, write)
        return out

    run(0, write=False)
    np.cumsum(offsets, out=offsets)
    check_pairs(int(offsets[-1]))
    return run(int(offsets[-1]), write=True), offsets


def check_pairs(pairs: int) -> None:
    """Raise ``UserError`` when so many occurrences cannot be numbered."""
    if pairs > MOST_PAIRS:
        advice = "raise the setting shards, select less text or lower max_length"
        raise UserError(f"{pairs} phrase pairs are more than {MOST_PAIRS}; {advice}")


def extract_pairs(source: Ragged, target: Ragged, links: Ragged, max_length: int, threads: int = 1) -> ExtractedPairs:
    """Extract all phrase pairs as ``extract_spans`` does, and number their phrases."""
    out, offsets = extract_spans(source, target, links, max_length, threads)
    sides = (source, Ragged(out.source_spans, offsets)), (target, Ragged(out.target_spans, offsets))
    phrases = in_threads(lambda side: intern_parts([side], max_length), sides, min(threads, 2))
    return ExtractedPairs(*out, *phrases)
