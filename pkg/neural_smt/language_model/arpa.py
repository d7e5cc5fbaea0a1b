"""ARPA files of back-off models, as SRILM, KenLM and others write and read them (plain or ``.gz``)."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, check_text, open_text, read_bytes
from neural_smt.io.text_primitives import Words
from neural_smt.io.word_numbers import index_words
from neural_smt.language_model.arpa_kernels import FAULTS, PARSED, parse_ngrams
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary

_COUNT = re.compile(rb"ngram\s+(\d{1,3})\s*=\s*(\d{1,15})")
_OTHER_UNK = "<UNK>"
_ROWS_AT_ONCE = 1 << 16


def read_arpa(path: Path, vocabulary: Vocabulary | None = None) -> tuple[list[NgramTable], Vocabulary]:
    """Read the n-grams of an ARPA file, orders 1, 2, ...

    With a vocabulary, n-grams with a word outside it are left out, since no query could reach them; without one, the
    vocabulary is the file's own unigrams in the order of the file (counts 0). A missing back-off weight is log10 0; a
    missing ``<unk>`` stays missing (``NgramModel`` gives it -100); ``<UNK>`` is ``<unk>``. All numbers are finite and
    no log10 probability is above 0. Raises ``UserError`` naming the line at fault.
    """
    data = read_bytes(path)
    check_text(path, data)
    text = np.frombuffer(data, dtype=np.uint8)
    counts, position = _read_header(path, data)
    vocabulary = vocabulary or _unigram_vocabulary(path, data, position)
    index, ids = _index_vocabulary(vocabulary)
    tables = []
    for order, count in enumerate(counts, start=1):
        position = _expect(path, data, position, b"\\%d-grams:" % order)
        words = np.empty((count, order), dtype=np.int32)
        values = np.empty((count, 2), dtype=np.float32)
        position, rows, fault = parse_ngrams(text, position, order < len(counts), index, ids, words, values)
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
            highest = table is tables[-1]
            stream.write(f"\n\\{table.order}-grams:\n")
            for start in range(0, len(table), _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                columns = [[vocabulary.words[i] for i in column.tolist()] for column in table.words[rows].T]
                log10_prob = table.log10_prob[rows].tolist()
                ngrams = map(" ".join, zip(*columns, strict=True))
                if highest:
                    lines = (f"{p:.7g}\t{ngram}\n" for p, ngram in zip(log10_prob, ngrams, strict=True))
                else:
                    backoff = table.backoff[rows].tolist()
                    lines = (
                        f"{p:.7g}\t{ngram}\t{b:.7g}\n" for p, ngram, b in zip(log10_prob, ngrams, backoff, strict=True)
                    )
                stream.writelines(lines)
        stream.write("\n\\end\\\n")


def _read_header(path: Path, data: bytes) -> tuple[list[int], int]:
    """The declared number of n-grams of each order, and the position after the header."""
    position = data.find(b"\\data\\")
    if position < 0:
        raise UserError(f"{path}, line 1: no \\data\\ header; give a language model in ARPA format")
    position = _line_end(data, position)
    counts: list[int] = []
    while position < len(data):
        end = _line_end(data, position)
        line = data[position:end].strip()
        if line.startswith(b"\\"):
            break
        match = _COUNT.fullmatch(line)
        if line and (match is None or int(match[1]) != len(counts) + 1):
            raise _malformed(path, data, position, f"expected 'ngram {len(counts) + 1}=<count>'")
        if match:
            counts.append(int(match[2]))
            # The shortest line is '0 a b' with its line end; so no array is made larger than the file.
            if counts[-1] * (2 * len(counts) + 2) > len(data) + 1:
                raise _malformed(path, data, position, f"more {len(counts)}-grams than the file has room for")
        position = end
    if not counts:
        raise _malformed(path, data, position, "expected 'ngram 1=<count>'")
    return counts, position


def _expect(path: Path, data: bytes, position: int, title: bytes) -> int:
    """The position after the line ``title``, which may follow blank lines only."""
    while position < len(data):
        end = _line_end(data, position)
        line = data[position:end].strip()
        if line == title:
            return end
        if line:
            break
        position = end
    raise _malformed(path, data, position, f"expected '{title.decode()}'")


def _unigram_vocabulary(path: Path, data: bytes, position: int) -> Vocabulary:
    """The words of the unigram section, the reserved ones first."""
    words: list[str] = []
    position = _expect(path, data, position, b"\\1-grams:")
    while position < len(data):
        end = _line_end(data, position)
        fields = [field for field in data[position:end].rstrip(b"\r\n").replace(b"\t", b" ").split(b" ") if field]
        if len(fields) < 2:
            break
        words.append(fields[1].decode())
        position = end
    words = list(dict.fromkeys(word for word in words if word not in (*RESERVED, _OTHER_UNK)))
    return Vocabulary([*RESERVED, *words], [0] * (len(words) + len(RESERVED)))


def _index_vocabulary(vocabulary: Vocabulary) -> tuple[Words, np.ndarray]:
    """The words, found by their bytes, and the id of each (int32); ``<UNK>`` is ``<unk>``."""
    ids = np.arange(len(vocabulary), dtype=np.int32)
    if _OTHER_UNK in vocabulary:
        return index_words(vocabulary.words), ids
    return index_words([*vocabulary.words, _OTHER_UNK]), np.append(ids, np.int32(UNK))


def _line_end(data: bytes, position: int) -> int:
    """The position after the line that ``position`` lies in."""
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end + 1


def _malformed(path: Path, data: bytes, position: int, what: str) -> UserError:
    line = data.count(b"\n", 0, position) + 1
    return UserError(f"{path}, line {line}: {what}; the ARPA file is damaged, make it again")
