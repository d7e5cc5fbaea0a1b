"""ARPA files of back-off models, as SRILM, KenLM and others write and read them (plain or ``.gz``)."""

import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError, required
from neural_smt.io import text_primitives as primitives
from neural_smt.io.files import atomic, open_text, read_lines, read_pieces
from neural_smt.io.text_primitives import Words, index_words
from neural_smt.jit import kernel
from neural_smt.language_model.automaton import NgramError
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary

_BLANK = re.compile(rb"\s*")
_COUNT = re.compile(rb"ngram\s+(\d{1,3})\s*=\s*(\d{1,15})")
_OTHER_UNK = "<UNK>"
_ROWS_AT_ONCE = 1 << 16

PARSED, _TOO_MANY, _TOO_FEW, _NOT_A_NUMBER, _FIELDS, _POSITIVE = range(6)
FAULTS = {
    _TOO_MANY: "more {order}-grams than the {count} that the header declares",
    _TOO_FEW: "fewer {order}-grams than the {count} that the header declares",
    _NOT_A_NUMBER: "expected a number, which must be finite",
    _FIELDS: "expected 'log10-probability words [back-off]' with {order} words",
    _POSITIVE: "a log10 probability is above 0",
}

_BACKSLASH = 92
_LARGEST = np.float64(np.finfo(np.float32).max)


def read_arpa(path: Path, vocabulary: Vocabulary | None = None) -> tuple[list[NgramTable], Vocabulary]:
    """Read the n-grams of an ARPA file, orders 1, 2, ...

    With a vocabulary, n-grams with a word outside it are left out, since no query could reach them; without one, the
    vocabulary is the file's own unigrams in the order of the file (counts 0). A missing back-off weight is log10 0; a
    missing ``<unk>`` stays missing (``NgramModel`` gives it -100); ``<UNK>`` is ``<unk>``. All numbers are finite and
    no log10 probability is above 0. Raises ``UserError`` naming the line at fault.
    """
    data = b"".join(piece for _, piece in read_pieces(path))
    text = np.frombuffer(data, dtype=np.uint8)
    counts, position = _read_header(path, data)
    vocabulary = vocabulary or _unigram_vocabulary(path, data, position)
    index = index_words([*vocabulary.words, _OTHER_UNK])
    ids = np.append(np.arange(len(vocabulary)), UNK).astype(np.int32)
    tables = []
    for order, count in enumerate(counts, start=1):
        position = _expect(path, data, position, b"\\%d-grams:" % order)
        words = np.empty((count, order), dtype=np.int32)
        values = np.empty((count, 2), dtype=np.float32)
        position, rows, fault = _parse_ngrams(text, position, order < len(counts), index, ids, words, values)
        if fault != PARSED:
            raise _malformed(path, data, position, FAULTS[fault].format(order=order, count=count))
        if rows < count:
            words, values = words[:rows].copy(), values[:rows].copy()
        tables.append(NgramTable(words, values[:, 0].copy(), values[:, 1].copy()))
    _expect(path, data, position, b"\\end\\")
    return tables, vocabulary


def write_arpa(path: Path, tables: Sequence[NgramTable], vocabulary: Vocabulary) -> None:
    """Write n-grams of orders 1, 2, ... as an ARPA file (``.gz`` is compressed), atomically; 7 significant digits."""
    with atomic(path) as temporary, open_text(temporary, "w") as stream:
        stream.write("\\data\\\n")
        stream.writelines(f"ngram {table.order}={len(table)}\n" for table in tables)
        for table in tables:
            scores = [table.log10_prob] if table is tables[-1] else [table.log10_prob, table.backoff]
            stream.write(f"\n\\{table.order}-grams:\n")
            for start in range(0, len(table), _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                words = [[vocabulary.words[i] for i in column.tolist()] for column in table.words[rows].T]
                log10_prob, *backoff = (map("{:.7g}".format, values[rows].tolist()) for values in scores)
                fields = zip(log10_prob, map(" ".join, zip(*words, strict=True)), *backoff, strict=True)
                stream.writelines("\t".join(row) + "\n" for row in fields)
        stream.write("\n\\end\\\n")


def _read_header(path: Path, data: bytes) -> tuple[list[int], int]:
    """The declared number of n-grams of each order, and the position after the header."""
    position = data.find(b"\\data\\")
    if position < 0:
        raise UserError(f"{path}, line 1: no \\data\\ header; give a language model in ARPA format")
    counts: list[int] = []
    _, position = _next_line(data, position)
    while True:
        start, end = _next_line(data, position)
        line = data[start:end].strip()
        if counts and line[:1] in (b"\\", b""):
            return counts, start
        match = _COUNT.fullmatch(line)
        if match is None or int(match[1]) != len(counts) + 1:
            raise _malformed(path, data, start, f"expected 'ngram {len(counts) + 1}=<count>'")
        counts.append(int(match[2]))
        # The shortest line is '0 a b' with its line end; so no array is made larger than the file.
        if counts[-1] * (2 * len(counts) + 2) > len(data) + 1:
            raise _malformed(path, data, start, f"more {len(counts)}-grams than the file has room for")
        position = end


def _next_line(data: bytes, position: int) -> tuple[int, int]:
    """Where the next line that is not blank begins, and where the one after it."""
    start = required(_BLANK.match(data, position)).end()
    return start, data.find(b"\n", start) + 1 or len(data)


def _expect(path: Path, data: bytes, position: int, title: bytes) -> int:
    """The position after the line ``title``, which may follow blank lines only."""
    start, end = _next_line(data, position)
    if data[start:end].strip() != title:
        raise _malformed(path, data, start, f"expected '{title.decode()}'")
    return end


def _unigram_vocabulary(path: Path, data: bytes, position: int) -> Vocabulary:
    """The words of the unigram section, the reserved ones first."""
    words: list[str] = []
    stream = io.BytesIO(data)
    stream.seek(_expect(path, data, position, b"\\1-grams:"))
    for line in stream:
        fields = [field for field in line.rstrip(b"\r\n").replace(b"\t", b" ").split(b" ") if field]
        if len(fields) < 2:
            break
        words.append(fields[1].decode())
    words = list(dict.fromkeys(word for word in words if word not in (*RESERVED, _OTHER_UNK)))
    return Vocabulary([*RESERVED, *words], [0] * (len(words) + len(RESERVED)))


def _malformed(path: Path, data: bytes, position: int, what: str) -> UserError:
    line = data.count(b"\n", 0, position) + 1
    return UserError(f"{path}, line {line}: {what}; the ARPA file is damaged, make it again")


@kernel
def _parse_ngrams(
    text: np.ndarray, position: int, inner: bool, index: Words, ids: np.ndarray, words: np.ndarray, values: np.ndarray
) -> tuple[int, int, int]:
    """Fill ``words`` (int32 [count, order]) and ``values`` (float32 [count, 2]: log10 probability, back-off).

    text: uint8, read from ``position`` to the first blank line or line that starts with a backslash; inner: whether
    there are longer n-grams, so that these may have a back-off weight; index, ids: the known words and the id of each
    (int32). Rows with a word that the index lacks are counted but not kept. Returns the position reached, the rows
    kept, and a fault or PARSED.
    """
    count, order = words.shape
    seen = 0
    row = 0
    while True:
        stop, following = primitives.find_line_end(text, position)
        start = primitives.skip_spaces(text, position, stop)
        if start == stop or text[start] == _BACKSLASH:
            return position, row, PARSED if seen == count else _TOO_FEW
        if seen == count:
            return position, row, _TOO_MANY
        seen += 1
        end = primitives.find_token_end(text, start, stop)
        log10_prob, good = primitives.parse_number(text, start, end)
        if not good or not abs(log10_prob) <= _LARGEST:
            return position, row, _NOT_A_NUMBER
        if log10_prob > 0:
            return position, row, _POSITIVE
        known = True
        for i in range(order):
            start = primitives.skip_spaces(text, end, stop)
            end = primitives.find_token_end(text, start, stop)
            if end == start:
                return position, row, _FIELDS
            number = index.slots[primitives.find_word(index, text, start, end)]
            known = known and number >= 0
            words[row, i] = ids[number] if number >= 0 else -1
        start = primitives.skip_spaces(text, end, stop)
        backoff = 0.0
        if inner and start < stop:
            end = primitives.find_token_end(text, start, stop)
            backoff, good = primitives.parse_number(text, start, end)
            if not good or not abs(backoff) <= _LARGEST:
                return position, row, _NOT_A_NUMBER
            start = primitives.skip_spaces(text, end, stop)
        if start < stop:
            return position, row, _FIELDS
        values[row, 0] = log10_prob
        values[row, 1] = backoff
        row += known
        position = following


def arpa_model(
    path: Path, tables: Sequence[NgramTable], own: Vocabulary, vocabulary: Vocabulary, quantise: bool = False
) -> NgramModel:
    """The model of what ``read_arpa(path)`` returned, over the ids of ``vocabulary``.

    So a file is read once, though the vocabulary of a system is known only after all its files have been read. N-grams
    with a word outside the vocabulary are left out. quantise: as of ``NgramModel.from_tables``. Raises ``UserError``
    naming the line of an n-gram that stands twice or whose context is missing.
    """
    ids = np.array([vocabulary.index.get(word, -1) for word in own.words], dtype=np.int32)
    tables = [_renumber(table, ids) for table in tables]
    try:
        return NgramModel.from_tables(tables, vocabulary, quantise)
    except NgramError as error:
        words = [vocabulary.words[word] for word in error.ngram]
        fault = f"line {_find_line(path, words)}: {' '.join(words)!r} {error.reason}"
        raise UserError(f"{path}, {fault}; the ARPA file is damaged, make it again") from None


def _renumber(table: NgramTable, ids: np.ndarray) -> NgramTable:
    words = ids[table.words]
    known = (words >= 0).all(axis=1)
    return NgramTable(words[known], table.log10_prob[known], table.backoff[known])


def _find_line(path: Path, words: Sequence[str]) -> int:
    """The last line of an n-gram in an ARPA file, where it must stand."""
    order, found = 0, 0
    for number, line in enumerate(read_lines(path), start=1):
        order += line.strip() == f"\\{order + 1}-grams:"
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        same = [RESERVED[UNK] if word == _OTHER_UNK else word for word in fields[1 : len(words) + 1]] == list(words)
        if order == len(words) and same:
            found = number
    return found
