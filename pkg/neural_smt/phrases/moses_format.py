"""Phrase and reordering tables as the text files of Moses: reading them into arrays, and writing them."""

import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, open_text, read_pieces
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.sorting import sort_pairs
from neural_smt.io.text_primitives import WordNumbers
from neural_smt.phrases import moses_kernels as kernels
from neural_smt.phrases.interning import gather_phrases, intern_phrases
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabularies, Vocabulary

log = logging.getLogger(__name__)

ORIENTATIONS = 6
"""Scores of a row of a reordering table."""

_SHOWN = 40
"""So many bytes of a token that cannot be read are shown."""

_SOURCES_AT_ONCE = 1 << 14
"""Source phrases written together."""


@dataclass(frozen=True)
class MosesRows:
    """E rows; source, target: int32 ``Ragged`` of word numbers; links: uint8 ``Ragged`` of ``[links, 2]``;
    scores: float32 ``[E, N]``; counts: int32 ``[E, 3]``. A reordering table has neither links nor counts.
    """

    source: Ragged
    target: Ragged
    links: Ragged
    scores: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.scores)


def read_rows(path: Path, words: WordNumbers, reordering: bool = False) -> MosesRows:
    """Read a phrase table, or a reordering table, piece by piece, numbering its words.

    Every row of a phrase table must have as many scores as the first. Raises ``UserError`` naming the line of a
    malformed row, and for a table without rows.
    """
    columns = ORIENTATIONS if reordering else 0
    parts: list[list[np.ndarray]] = []
    for lines, piece in read_pieces(path):
        columns = columns or _count_scores(piece)
        text = np.frombuffer(piece, dtype=np.uint8)
        rows = kernels.make_rows(len(text), columns)
        fault, line, place = kernels.scan_rows(text, 0, words.arrays, rows, reordering)
        while fault == kernels.NO_ROOM_FOR_WORD:
            words.enlarge(len(text))
            fault, line, place = kernels.scan_rows(text, line, words.arrays, rows, reordering)
        if fault != kernels.PARSED:
            number = lines + piece.count(b"\n", 0, line) + 1
            message = _explain(fault, place, piece, columns, reordering)
            raise UserError(f"{path}, line {number}: {message}; export the table again")
        row_count, *filled = rows.used.tolist()
        ends = (*filled, row_count, row_count, 0 if reordering else row_count)
        *arrays, counts = (array[:end].copy() for array, end in zip(rows, ends, strict=False))
        parts.append([*arrays, np.rint(counts).astype(np.int32)])
    if not parts:
        raise UserError(f"{path}: holds no phrase pair; export the table again")
    *values, lengths, scores, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    source, target, links = map(Ragged, values, map(offsets_of, lengths.T))
    return MosesRows(source, target, links, scores, counts)


def _explain(fault: int, place: int, piece: bytes, columns: int, reordering: bool) -> str:
    """What is wrong with a row; place: where in the piece, or the wrong number; columns: scores wanted."""
    token = re.compile(rb"[^ \t\r\n|]{0,%d}" % _SHOWN).match(piece, place)
    shown = repr(token[0].decode(errors="replace")) if token else "''"
    if fault == kernels.FIELDS or (fault == kernels.SCORES and reordering):
        rest = "six probabilities" if reordering else "scores ||| alignment"
        return f"expected 'source ||| target ||| {rest}'"
    if fault == kernels.LENGTH:
        return f"a phrase has {place} words; 1 to {kernels.LONGEST} can be read"
    if fault == kernels.SCORES:
        return f"has {place} scores where line 1 has {columns}" if place else "has no scores"
    if fault == kernels.RANGE or shown.strip("'+-").lower() in ("nan", "inf", "infinity"):
        return f"a score is not a probability ({shown})"
    if fault == kernels.OUTSIDE:
        return f"a link lies outside the phrases ({shown})"
    expected = {kernels.NUMBER: "number", kernels.LINK: "link i-j", kernels.COUNT: "count"}[fault]
    return f"a field cannot be read ({shown} is not a {expected})"


def _count_scores(piece: bytes) -> int:
    """How many scores the first row has; 1 where it has none, which the parser then finds wanting."""
    fields = piece.split(b"\n", 1)[0].rstrip(b"\r").split(b"|||", 3)
    return max(1, len(re.findall(rb"[^ \t]+", fields[2]))) if len(fields) > 2 else 1


@dataclass(frozen=True)
class MosesText:
    """A Moses phrase table as it was read, before its words have ids.

    path: its file; words: the distinct words; rows: its rows in the order of the file, words numbered as in
    ``words``; reordering: float32 ``[E, 6]``, the probabilities of each row.
    """

    path: Path
    words: list[str]
    rows: MosesRows
    reordering: np.ndarray

    @cached_property
    def vocabularies(self) -> Vocabularies:
        """The source and the target words, counted over the rows."""
        return self._vocabulary(self.rows.source), self._vocabulary(self.rows.target)

    def _vocabulary(self, phrases: Ragged) -> Vocabulary:
        counts = np.bincount(phrases.values, minlength=len(self.words)).tolist()
        return Vocabulary.from_counts(Counter({word: n for word, n in zip(self.words, counts, strict=True) if n}))

    def table(self, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary) -> PhraseTable:
        """The table over the ids of two vocabularies, rows in the order of ``PhraseTable``, with all their scores.

        Raises ``UserError`` naming the line of a word that the vocabularies lack or of a pair that stands there twice.
        """
        source, source_numbers = intern_phrases(self._phrases("source", source_vocabulary))
        target, target_numbers = intern_phrases(self._phrases("target", target_vocabulary))
        order, entry_offsets = sort_pairs(source_numbers, target_numbers, len(source), len(target))
        _refuse_twice(self.path, order, source_numbers, target_numbers)
        return PhraseTable(
            source=source,
            entry_offsets=entry_offsets,
            target=gather_phrases(target, target_numbers[order]),
            scores=self.rows.scores[order],
            alignment=gather_phrases(self.rows.links, order),
            counts=self.rows.counts[order],
            reordering=self.reordering[order],
            source_digest=source_vocabulary.digest,
            target_digest=target_vocabulary.digest,
            max_length=int(max(self.rows.source.lengths.max(), self.rows.target.lengths.max())),
        )

    def _phrases(self, side: str, vocabulary: Vocabulary) -> Ragged:
        """The phrases of one side of each row, as ids of a vocabulary."""
        phrases = getattr(self.rows, side)
        ids = np.array([vocabulary.index.get(word, -1) for word in self.words], dtype=np.int32)
        values = ids[phrases.values]
        missing = int(values.argmin())
        if values[missing] < 0:
            line = int(np.searchsorted(phrases.offsets, missing, side="right"))
            word = self.words[phrases.values[missing]]
            raise UserError(f"{self.path}, line {line}: {word!r} is not in the {side} vocabulary; use the table's own")
        return Ragged(values, phrases.offsets)


def read_moses_text(phrase_table_path: Path, reordering_path: Path | None) -> MosesText:
    """Read a Moses phrase table and its msd-bidirectional-fe reordering table (text, plain or ``.gz``), each once.

    Every row must have as many scores as the first. A pair that the reordering table lacks, or every pair without
    ``reordering_path``, gets probability 1 six times: as in Moses it costs nothing. Rows of the reordering table for
    other pairs are left out, as in Moses, but one of them must fit. A score of up to 15 digits and not below 1e-22 is
    read as by C's strtod and rounded to float32; any other may differ from that in the last bit. Raises ``UserError``
    naming the line of a malformed row.
    """
    words = WordNumbers()
    rows = read_rows(Path(phrase_table_path), words)
    if reordering_path is None:
        reordering = np.ones((len(rows), ORIENTATIONS), dtype=np.float32)
    else:
        reordering_rows = read_rows(Path(reordering_path), words, reordering=True)
        reordering = _match_rows(rows, reordering_rows, Path(phrase_table_path), Path(reordering_path))
    return MosesText(Path(phrase_table_path), words.words(), rows, reordering)


def _match_rows(rows: MosesRows, others: MosesRows, path: Path, reordering_path: Path) -> np.ndarray:
    """The reordering probabilities of each row, float32 ``[E, 6]``; normally both tables have the same rows."""
    sides = (rows.source, others.source), (rows.target, others.target)
    if all(all(map(np.array_equal, one.arrays, other.arrays)) for one, other in sides):
        return others.scores
    source, target = (intern_phrases(Ragged.concatenate(side))[1].astype(np.int64) for side in sides)
    pairs = (source << 32) | target
    order = np.argsort(pairs[len(rows) :], kind="stable").astype(np.int32)
    _refuse_twice(reordering_path, order, source[len(rows) :], target[len(rows) :])
    ordered = pairs[len(rows) :][order]
    place = np.minimum(np.searchsorted(ordered, pairs[: len(rows)]), len(ordered) - 1)
    found = ordered[place] == pairs[: len(rows)]
    if not found.any():
        raise UserError(f"{reordering_path}: has no phrase pair of {path}; give the reordering table made with it")
    if len(others) > found.sum():
        log.info("%s: %d rows are of pairs outside the phrase table", reordering_path, len(others) - found.sum())
    reordering = np.ones((len(rows), ORIENTATIONS), dtype=np.float32)
    reordering[found] = others.scores[order[place[found]]]
    return reordering


def _refuse_twice(path: Path, order: np.ndarray, source: np.ndarray, target: np.ndarray) -> None:
    """``UserError`` naming the first line that repeats a pair; ``order`` sorts the pairs stably."""
    repeated = (np.diff(source[order]) == 0) & (np.diff(target[order]) == 0)
    if repeated.any():
        line = int(order[1:][repeated].min()) + 1
        raise UserError(f"{path}, line {line}: this phrase pair stands here twice; remove one")


def write_moses(
    table: PhraseTable,
    vocabularies: Vocabularies,
    phrase_table_path: Path,
    reordering_path: Path | None,
    columns: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write the text files of Moses, rows in the order of its own tools (bytes of ``f ||| e |||``), atomically.

    reordering_path: None for a phrase table alone; columns: extra scores, natural logs, float ``[E]``; each goes after
    the scores of the table as its probability.
    Numbers have six significant digits, as Moses writes them.
    """
    with ExitStack() as stack:

        def opened(path: Path) -> IO[str]:
            return stack.enter_context(open_text(stack.enter_context(atomic(path)), "w"))

        phrase_file, reordering_file = opened(phrase_table_path), reordering_path and opened(reordering_path)
        for pairs, rows in _sorted_pairs(table, vocabularies):
            scores = table.scores[rows].T.tolist()
            scores += [list(map(math.exp, column[rows].tolist())) for column in (columns or {}).values()]
            counts = _join("%d", table.counts[rows].T.tolist())
            fields = zip(pairs, _join("%.6g", scores), _links(table, rows), counts, strict=True)
            phrase_file.writelines(f"{pair} {score} ||| {links} ||| {n} ||| |||\n" for pair, score, links, n in fields)
            if reordering_file:
                probabilities = _join("%.6g", table.reordering[rows].T.tolist())
                reordering_file.writelines(f"{pair} {row}\n" for pair, row in zip(pairs, probabilities, strict=True))


def _join(template: str, columns: list[list[float]]) -> Iterator[str]:
    """The numbers of each row as text, each distinct one made once: few occur."""
    formatted = cache(template.__mod__)
    return map(" ".join, zip(*(map(formatted, column) for column in columns), strict=True))


def _links(table: PhraseTable, rows: np.ndarray) -> Iterator[str]:
    """The alignment ``i-j i-j ...`` of each row; few distinct ones occur."""
    links = table.alignment.take(rows)
    values, offsets = links.values.tobytes(), (2 * links.offsets).tolist()
    text = cache(lambda ends: " ".join([f"{i}-{j}" for i, j in zip(ends[::2], ends[1::2], strict=True)]))
    return (text(values[begin:end]) for begin, end in pairwise(offsets))


def _sorted_pairs(table: PhraseTable, vocabularies: Vocabularies) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield many pairs ``f ||| e |||`` at a time and their rows, in the byte order of the text.

    UTF-8 sorts as code points do, so strings compare like the bytes they are written as.
    """
    sources = [f"{text} ||| " for text in _texts(table.source, vocabularies[0])]
    order = np.array(sorted(range(len(sources)), key=sources.__getitem__), dtype=np.int64)
    counts = np.diff(table.entry_offsets)
    for start in range(0, len(order), _SOURCES_AT_ONCE):
        chosen = order[start : start + _SOURCES_AT_ONCE]
        ends = np.cumsum(counts[chosen])
        rows = np.repeat(table.entry_offsets[chosen + 1] - ends, counts[chosen]) + np.arange(ends[-1])
        targets = list(_texts(table.target.take(rows), vocabularies[1]))
        pairs, places = [], []
        for phrase, begin, end in zip(chosen.tolist(), [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            # The blank after e takes part in the order, as it does in the file.
            group = sorted([(f"{targets[place]} |||", place) for place in range(begin, end)])
            pairs += [sources[phrase] + target for target, _ in group]
            places += [place for _, place in group]
        yield pairs, rows[places]


def _texts(phrases: Ragged, vocabulary: Vocabulary) -> Iterator[str]:
    words = [vocabulary.words[word] for word in phrases.values.tolist()]
    return (" ".join(words[begin:end]) for begin, end in pairwise(phrases.offsets.tolist()))
