"""Phrase and reordering tables as the text files of Moses."""

import math
from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.files import atomic, open_text, read_lines
from neural_smt.phrases.interning import intern_phrases, sort_pairs
from neural_smt.phrases.primitives import LENGTH_BITS
from neural_smt.phrases.table import PhraseTable
from neural_smt.ragged import Ragged
from neural_smt.vocabulary import Vocabulary

SIDES = ("source", "target")

LONGEST = (1 << LENGTH_BITS) - 1
"""Longest phrase that can be read, in words."""


def moses_vocabularies(phrase_table_path: Path) -> tuple[Vocabulary, Vocabulary]:
    """The source and target vocabulary of the words of a Moses phrase table, counted over its rows."""
    rows = [line.split("|||", 2) for line in read_lines(phrase_table_path)]
    for number, row in enumerate(rows, start=1):
        if len(row) < 3:
            raise UserError(f"{phrase_table_path}, line {number}: expected 'source ||| target ||| scores ...'")
    return Vocabulary.from_sentences(row[0] for row in rows), Vocabulary.from_sentences(row[1] for row in rows)


def read_moses(
    phrase_table_path: Path,
    reordering_path: Path | None,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
) -> PhraseTable:
    """Read a Moses phrase table and its msd-bidirectional-fe reordering table (text, plain or ``.gz``).

    Rows come in the order of ``PhraseTable``, whatever the order of the file, with as many scores as the first row has.
    A pair that the reordering table lacks, or every pair without ``reordering_path``, gets probability 1 six
    times: as in Moses it costs nothing. Raises ``UserError`` naming the line of a malformed row, of a word outside
    the vocabularies, or of a pair that stands there twice.
    """
    rows = _PhraseRows(Path(phrase_table_path), source_vocabulary, target_vocabulary)
    for number, line in enumerate(read_lines(phrase_table_path), start=1):
        rows.add(line, number)
    reordering = np.ones((len(rows), 6), dtype=np.float32)
    if reordering_path is not None:
        _read_reordering(Path(reordering_path), rows, reordering)
    return rows.table(reordering)


class _PhraseRows:
    """The rows of a phrase table in the order of its file."""

    def __init__(self, path: Path, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary):
        self.path = path
        self.vocabularies = source_vocabulary, target_vocabulary
        self.pairs: list[tuple[str, str]] = []
        self.words = array("i"), array("i")
        self.lengths = array("i"), array("i")
        self.scores = array("f")
        self.width = 0
        self.counts = array("i")
        self.alignment_numbers: dict[str, int] = {}
        self.alignment_links: list[list[tuple[int, int]]] = []
        self.alignment_reach: list[tuple[int, ...]] = []
        self.alignments = array("i")

    def __len__(self) -> int:
        return len(self.pairs)

    def fail(self, number: int, reason: str) -> UserError:
        return UserError(f"{self.path}, line {number}: {reason}")

    def add(self, line: str, number: int) -> None:
        """Parse one row: f ||| e ||| scores ||| alignment ||| counts ||| (ignored fields)."""
        fields = [field.strip() for field in line.split("|||")]
        if len(fields) < 4:
            raise self.fail(number, "expected 'source ||| target ||| scores ||| alignment'; export the table again")
        for side in (0, 1):
            self._add_phrase(side, fields[side], number)
        self.pairs.append((fields[0], fields[1]))
        try:
            scores = [float(score) for score in fields[2].split()]
            if len(scores) != (self.width or len(scores)) or not scores:
                raise self.fail(number, f"has {len(scores)} scores, the rows before {self.width}; export it again")
            self.width = len(scores)
            self.scores.extend(scores)
            self.counts.extend(_counts(fields[4] if len(fields) > 4 else ""))
            self.alignments.append(self._alignment(fields[3]))
        except ValueError as error:
            raise self.fail(number, f"a field cannot be read ({error}); export the table again") from None

    def _add_phrase(self, side: int, phrase: str, number: int) -> None:
        words = phrase.split()
        if not 0 < len(words) <= LONGEST:
            raise self.fail(number, f"a phrase has {len(words)} words; 1 to {LONGEST} can be read")
        index = self.vocabularies[side].index
        try:
            self.words[side].extend([index[word] for word in words])
        except KeyError as error:
            reason = f"{error.args[0]!r} is not in the {SIDES[side]} vocabulary; use that of the table"
            raise self.fail(number, reason) from None
        self.lengths[side].append(len(words))

    def _alignment(self, text: str) -> int:
        """The number of an alignment ``i-j i-j ...``; few distinct ones occur."""
        number = self.alignment_numbers.get(text)
        if number is None:
            number = self.alignment_numbers[text] = len(self.alignment_links)
            links = [(int(i), int(j)) for i, j in (link.split("-") for link in text.split())]
            self.alignment_links.append(links)
            self.alignment_reach.append(tuple(max(side, default=-1) for side in zip(*links, strict=True)) or (-1, -1))
        return number

    def _links(self) -> Ragged:
        """The links of each row, uint8 ``[links, 2]``; ``UserError`` when one lies outside its phrases."""
        numbers = np.frombuffer(self.alignments, dtype=np.int32)
        lengths = np.stack([np.frombuffer(side, dtype=np.int32) for side in self.lengths], axis=1)
        outside = (np.array(self.alignment_reach)[numbers] >= lengths).any(axis=1)
        if outside.any():
            raise self.fail(int(outside.argmax()) + 1, "a link lies outside the phrases; export the table again")
        flat = Ragged.from_lists([[end for link in links for end in link] for links in self.alignment_links], np.uint8)
        return Ragged(flat.values.reshape(-1, 2), flat.offsets // 2).take(numbers)

    def _phrases(self, side: int) -> Ragged:
        offsets = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.frombuffer(self.lengths[side], dtype=np.int32), out=offsets[1:])
        return Ragged(np.frombuffer(self.words[side], dtype=np.int32), offsets)

    def table(self, reordering: np.ndarray) -> PhraseTable:
        """The table, rows put in order; reordering: float32 ``[E, 6]`` in the order of the file."""
        if not self.pairs:
            raise UserError(f"{self.path}: holds no phrase pair; export the table again")
        scores = np.frombuffer(self.scores, dtype=np.float32).reshape(len(self), -1)
        impossible = ~((scores >= 0) & (scores < np.inf)).all(axis=1)
        if impossible.any():
            raise self.fail(int(impossible.argmax()) + 1, "a score is not a probability; export the table again")
        alignment = self._links()
        source, source_numbers = intern_phrases(self._phrases(0))
        target, target_numbers = intern_phrases(self._phrases(1))
        order, entry_offsets = sort_pairs(source_numbers, target_numbers, len(source), len(target))
        repeated = (np.diff(source_numbers[order]) == 0) & (np.diff(target_numbers[order]) == 0)
        if repeated.any():
            raise self.fail(int(order[1:][repeated].min()) + 1, "this phrase pair stands here twice; remove one")
        return PhraseTable(
            source=source,
            entry_offsets=entry_offsets,
            target=target.take(target_numbers[order]),
            scores=scores[order],
            alignment=alignment.take(order),
            counts=np.frombuffer(self.counts, dtype=np.int32).reshape(-1, 3)[order],
            reordering=reordering[order],
            source_digest=self.vocabularies[0].digest,
            target_digest=self.vocabularies[1].digest,
            max_length=max(max(self.lengths[0]), max(self.lengths[1])),
        )


def _counts(text: str) -> list[int]:
    """Three counts c(e) c(f) c(f,e); older tables have none, or only the first two."""
    counts = [round(float(count)) for count in text.split()[:3]]
    return counts + [0] * (3 - len(counts))


def _read_reordering(path: Path, rows: _PhraseRows, reordering: np.ndarray) -> None:
    """Fill ``reordering`` (float32 ``[E, 6]``) from a reordering table, normally sorted as the phrase table is."""
    row_of: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        fields = [field.strip() for field in line.split("|||")]
        scores = fields[2].split() if len(fields) == 3 else []
        if len(scores) != 6:
            raise UserError(f"{path}, line {number}: expected 'source ||| target ||| six probabilities'")
        pair = fields[0], fields[1]
        row: int | None = number - 1
        if row >= len(rows) or rows.pairs[row] != pair:
            row_of = row_of or {pair: row for row, pair in enumerate(rows.pairs)}
            row = row_of.get(pair)
        if row is not None:
            try:
                reordering[row] = [float(score) for score in scores]
            except ValueError as error:
                raise UserError(f"{path}, line {number}: a field cannot be read ({error})") from None


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
