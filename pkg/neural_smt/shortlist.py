"""The words a network knows: the most frequent of each side; others are ``[UNK]`` (Cho et al. 2014, section 4.1)."""

import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.streams import stream_lines
from neural_smt.io.tables import write_rows
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary

log = logging.getLogger(__name__)

SIDES = ("source", "target")


READ_TOGETHER = 1 << 16
"""Lines whose words are looked up at a time."""


def most_frequent(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """The reserved entries and the ``size`` most frequent words of ``vocabulary``, which is ordered by count."""
    end = len(RESERVED) + size
    return Vocabulary(vocabulary.words[:end], vocabulary.counts[:end])


def repeated_words(lines: Iterable[str]) -> Vocabulary:
    """The words of tokenised sentences that occur at least twice (Auli et al. 2013, sections 4.1 and 5.4)."""
    words = Vocabulary.from_sentences(lines)
    return most_frequent(words, int(np.count_nonzero(words.counts > 1)))


def shortlist_ids(vocabulary: Vocabulary, shortlist: Vocabulary) -> np.ndarray:
    """int32 ``[len(vocabulary)]``: the shortlist id of every id of ``vocabulary``.

    Words outside the shortlist become ``UNK``, and so do words of the text that are spelt like a reserved entry: a
    network must meet the end symbol at the end only.
    """
    ids = shortlist.ids(vocabulary.words)
    ids[: len(RESERVED)] = UNK
    return ids


def build_shortlists(
    *,
    source_text: Path,
    target_text: Path,
    size: int,
    coverage: dict[str, list[str]],
    source_output: Path,
    target_output: Path,
    table: Path,
) -> None:
    """Keep the most frequent words of each side of the training text and measure what they cover.

    size: words kept of each side, besides the reserved entries; coverage: name of a set -> its source and target text.
    Writes two vocabulary files and a CSV table with the columns set, side, running_words, covered, fraction.
    """
    if size < 1:
        raise UserError(f"the shortlist size is {size}; set it to 1 or more words")
    rows = []
    outputs = (source_output, target_output)
    for index, (side, text, output) in enumerate(zip(SIDES, (source_text, target_text), outputs, strict=True)):
        shortlist = most_frequent(Vocabulary.from_sentences(stream_lines(text)), size)
        if len(shortlist) == len(RESERVED):
            raise UserError(f"{text}: no words to make a shortlist of; check the corpus stage")
        shortlist.save(output)
        for name, texts in coverage.items():
            total, covered = 0, 0
            for piece in shortlist.encode_pieces(stream_lines(Path(texts[index])), READ_TOGETHER):
                total += len(piece.values)
                covered += int(np.count_nonzero(piece.values != UNK))
            rows.append((name, side, total, covered, f"{covered / max(total, 1):.6f}"))
            log.info("%s, %s side: %d of %d running words in the shortlist", name, side, covered, total)
    write_rows(table, ("set", "side", "running_words", "covered", "fraction"), rows)
