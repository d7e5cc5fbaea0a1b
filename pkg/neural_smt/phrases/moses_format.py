"""Phrase and reordering tables as the text files of Moses."""

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from neural_smt.files import atomic, open_text
from neural_smt.phrases.moses_reading import read_moses_text
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary


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
    columns = columns or {}
    format_scores = " ".join(["%.6g"] * (table.scores.shape[1] + len(columns)))
    format_reordering = " ".join(["%.6g"] * 6)
    with ExitStack() as stack:
        phrase_file, reordering_file = (
            stack.enter_context(open_text(stack.enter_context(atomic(path)), "w")) if path else None
            for path in (phrase_table_path, reordering_path)
        )
        for source, entry, target in _sorted_entries(table, vocabularies):
            scores = [*table.scores[entry].tolist(), *(math.exp(column[entry]) for column in columns.values())]
            links = " ".join([f"{i}-{j}" for i, j in table.alignment[entry].tolist()])
            counts = " ".join(map(str, table.counts[entry].tolist()))
            phrase_file.write(f"{source}{target} {format_scores % tuple(scores)} ||| {links} ||| {counts} ||| |||\n")
            if reordering_file:
                probabilities = format_reordering % tuple(table.reordering[entry].tolist())
                reordering_file.write(f"{source}{target} {probabilities}\n")


def _sorted_entries(table: PhraseTable, vocabularies: tuple[Vocabulary, Vocabulary]) -> Iterator[tuple[str, int, str]]:
    """Yield ``f ||| ``, the row, and ``e |||`` in the byte order of the text.

    UTF-8 sorts as code points do, so strings compare like the bytes they are written as.
    """
    sources = [f"{vocabularies[0].text(phrase.tolist())} ||| " for phrase in table.source]
    for phrase in sorted(range(len(sources)), key=sources.__getitem__):
        entries = range(int(table.entry_offsets[phrase]), int(table.entry_offsets[phrase + 1]))
        rows = [(f"{vocabularies[1].text(table.target[entry].tolist())} |||", entry) for entry in entries]
        for target, entry in sorted(rows):
            yield sources[phrase], entry, target
