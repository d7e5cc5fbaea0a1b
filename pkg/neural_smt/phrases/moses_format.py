"""Phrase and reordering tables as the text files of Moses."""

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import numpy as np

from neural_smt.io.files import atomic, open_text
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.moses_reading import read_moses_text
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

_SOURCES_AT_ONCE = 1 << 14


def moses_vocabularies(phrase_table_path: Path) -> tuple[Vocabulary, Vocabulary]:
    """The source and target vocabulary of the words of a Moses phrase table, counted over its rows.

    Whoever wants the table too reads it only once with ``read_moses_text``.
    """
    return read_moses_text(phrase_table_path, None).vocabularies


def read_moses(
    phrase_table_path: Path,
    reordering_path: Path | None,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
) -> PhraseTable:
    """Read a Moses phrase table and its reordering table over given vocabularies, as ``read_moses_text`` does.

    Rows come in the order of ``PhraseTable``, whatever the order of the file, with all scores that they have. Raises
    ``UserError`` naming the line of a malformed row, of a word outside the vocabularies, or of a pair that stands
    there twice.
    """
    return read_moses_text(phrase_table_path, reordering_path).table(source_vocabulary, target_vocabulary)


def write_moses(
    table: PhraseTable,
    vocabularies: tuple[Vocabulary, Vocabulary],
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
        phrase_file, reordering_file = (
            stack.enter_context(open_text(stack.enter_context(atomic(path)), "w")) if path else None
            for path in (phrase_table_path, reordering_path)
        )
        for pairs, rows in _sorted_pairs(table, vocabularies):
            scores = table.scores[rows].T.tolist()
            scores += [list(map(math.exp, column[rows].tolist())) for column in (columns or {}).values()]
            fields = zip(
                pairs,
                _join("%.6g", scores),
                _links(table, rows),
                _join("%d", table.counts[rows].T.tolist()),
                strict=True,
            )
            phrase_file.writelines(f"{pair} {score} ||| {links} ||| {n} ||| |||\n" for pair, score, links, n in fields)
            if reordering_file:
                probabilities = _join("%.6g", table.reordering[rows].T.tolist())
                reordering_file.writelines(f"{pair} {row}\n" for pair, row in zip(pairs, probabilities, strict=True))


class _Formatted(dict):
    """Number -> its text, each made once: few distinct numbers occur."""

    def __init__(self, template: str):
        self.template = template

    def __missing__(self, number: float) -> str:
        text = self[number] = self.template % number
        return text


def _join(template: str, columns: list[list[float]]) -> Iterator[str]:
    """The numbers of each row as text."""
    formatted = _Formatted(template)
    return map(" ".join, zip(*(map(formatted.__getitem__, column) for column in columns), strict=True))


def _links(table: PhraseTable, rows: np.ndarray) -> Iterator[str]:
    """The alignment ``i-j i-j ...`` of each row; few distinct ones occur."""
    links = table.alignment.take(rows)
    values, offsets = links.values.tobytes(), (2 * links.offsets).tolist()
    known: dict[bytes, str] = {}
    for begin, end in pairwise(offsets):
        ends = values[begin:end]
        text = known.get(ends)
        if text is None:
            text = known[ends] = " ".join([f"{i}-{j}" for i, j in zip(ends[::2], ends[1::2], strict=True)])
        yield text


def _sorted_pairs(
    table: PhraseTable, vocabularies: tuple[Vocabulary, Vocabulary]
) -> Iterator[tuple[list[str], np.ndarray]]:
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
