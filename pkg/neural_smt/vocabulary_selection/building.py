"""V_x = V^D u V^P u V^T (u V^R) of every sentence of a text (Mi et al. 2016, section 3.1).

Of what a source word or phrase is translated with, target words outside the network vocabulary are left out first, and
do not count among the best.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.jit import kernel, leaf
from neural_smt.phrases.table import PhraseTable, find_spans
from neural_smt.vocabulary import EOS, RESERVED, UNK
from neural_smt.vocabulary_selection.candidates import (
    PIECE,
    CandidateSets,
    VocabularySettings,
    save_pieces,
    text_digest,
)
from neural_smt.vocabulary_selection.sources import Sources

DIRECT = 2
"""The column of p(e|f) among the scores of a phrase table."""


@dataclass(frozen=True)
class Built:
    """The sets of a text, or of a piece of it, and how many spans were found in the phrase table."""

    sets: CandidateSets
    phrases: int


def frequent_ids(count: int, size: int) -> np.ndarray:
    """V^T: int32, UNK, EOS and the ``count`` most frequent words of a network vocabulary of ``size`` entries."""
    words = np.arange(len(RESERVED), min(len(RESERVED) + count, size))
    return np.concatenate([[UNK, EOS], words]).astype(np.int32)


def build_sets(
    sources: Sources, settings: VocabularySettings, lines: list[str], references: list[str] | None = None
) -> Built:
    """The sets of tokenised source sentences, in memory; with ``references``, their words too (V^R, of training texts
    only).

    An unknown source word adds nothing; reference words outside the network vocabulary are UNK, which every set has.
    Raises ``UserError`` where a part needs a table that ``sources`` do not have.
    """
    pieces = list(build_pieces(sources, settings, lines, references))
    own = Ragged.concatenate([piece.sets.own for piece in pieces])
    return Built(replace(pieces[0].sets, own=own), sum(piece.phrases for piece in pieces))


class Written(NamedTuple):
    """What ``write_sets`` wrote: ids of all sets together, and spans found in the phrase table."""

    ids: int
    phrases: int


def write_sets(
    folder: Path,
    sources: Sources,
    settings: VocabularySettings,
    lines: list[str],
    references: list[str] | None = None,
) -> Written:
    """Write the sets that ``build_sets`` makes as a folder, a piece at a time."""
    ids = phrases = 0

    def counted() -> Iterator[CandidateSets]:
        nonlocal ids, phrases
        for piece in build_pieces(sources, settings, lines, references):
            ids += int(piece.sets.sizes.sum())
            phrases += piece.phrases
            yield piece.sets

    save_pieces(folder, counted())
    return Written(ids, phrases)


def build_pieces(
    sources: Sources,
    settings: VocabularySettings,
    lines: list[str],
    references: list[str] | None = None,
    size: int = 0,
) -> Iterator[Built]:
    """What ``build_sets`` makes, of ``size`` sentences (0: ``PIECE``) after the other; at least one piece.

    Each says of itself that it was made from the whole text.
    """
    _check(sources, settings)
    if references is not None and len(references) != len(lines):
        raise ValueError(f"{len(lines)} sentences but {len(references)} references")
    words, size = len(sources.network), size or PIECE
    origins = _origins(sources, settings, lines, references)
    frame = CandidateSets(_empty_lists(0), frequent_ids(settings.frequent, words), words, origins, asdict(settings))
    translations = _empty_lists(len(sources.source))
    if settings.dictionary:
        translations = word_lists(sources.lexical, sources.ids, settings.dictionary)
    for start in range(0, max(len(lines), 1), size):
        piece = sources.encode(lines[start : start + size])
        spans, phrases = _applicable(sources, settings, piece)
        reference = _empty_lists(len(piece))
        if references is not None:
            reference = sources.encode_reference(references[start : start + size])
        lists = [array for part in (piece, translations) for array in _arrays(part)]
        further = [array for part in (phrases, reference) for array in _arrays(part)]
        own = Ragged(*_collect(*lists, spans, *further, len(RESERVED) + settings.frequent, words))
        yield Built(replace(frame, own=own), int(np.count_nonzero(spans >= 0)))


def _origins(
    sources: Sources, settings: VocabularySettings, lines: list[str], references: list[str] | None
) -> dict[str, str]:
    """What ``CandidateSets`` say that they were made from."""
    origins = {"vocabulary": sources.network.digest, "source": text_digest(lines)}
    if settings.dictionary:
        origins["dictionary"] = str(sources.dictionary_digest)
    if settings.phrases:
        origins["phrase_table"] = sources.phrase_table.digest
    if references is not None:
        origins["reference"] = text_digest(references)
    return origins


def _check(sources: Sources, settings: VocabularySettings) -> None:
    for count, table, name, part in (
        (settings.dictionary, sources.lexical, "dictionary", "word translation table"),
        (settings.phrases, sources.phrase_table, "phrases", "phrase table"),
    ):
        if count and table is None:
            raise UserError(f"setting vocabularies.{name} is {count} but there is no {part}; give one or set it to 0")


def _empty_lists(count: int) -> Ragged:
    return Ragged(np.zeros(0, dtype=np.int32), np.zeros(count + 1, dtype=np.int64))


def _arrays(lists: Ragged) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(lists.values), np.ascontiguousarray(lists.offsets)


def applicable_phrases(table: PhraseTable, piece: Ragged, max_length: int) -> tuple[np.ndarray, np.ndarray]:
    """Spans of sentences that are source phrases, and which these are.

    piece: source ids as ``Sources.encode`` gives; max_length: as in ``VocabularySettings``. Returns int32 ``[tokens,
    longest]``, positions in the second array or -1 (``find_spans``), and int64 numbers of distinct source phrases.
    """
    longest = min(max_length, table.max_length) if max_length else table.max_length
    spans = find_spans(table, piece.values, piece.offsets, max(longest, 1))
    number = np.full(len(table.source) + 1, -1, dtype=np.int32)
    number[spans] = 0
    number[-1] = -1  # the place of the phrase -1
    phrases = np.flatnonzero(number == 0)
    number[phrases] = np.arange(len(phrases))
    return number[spans], phrases


def _applicable(sources: Sources, settings: VocabularySettings, piece: Ragged) -> tuple[np.ndarray, Ragged]:
    """Spans as ``applicable_phrases`` gives them, and the words of each phrase."""
    if not settings.phrases:
        return np.full((len(piece.values), 1), -1, dtype=np.int32), _empty_lists(0)
    spans, phrases = applicable_phrases(sources.phrase_table, piece, settings.max_length)
    return spans, phrase_lists(sources.phrase_table, sources.ids, phrases, settings.phrases)


def _first_of_each(lists: Ragged, wanted: np.ndarray, count: int) -> Ragged:
    """The first ``count`` of those values of each list that are ``wanted`` (bool, one for every value)."""
    before = offsets_of(wanted)
    rank = before[:-1] - np.repeat(before[lists.offsets[:-1]], lists.lengths)
    kept = wanted & (rank < count)
    return Ragged(lists.values[kept], offsets_of(kept)[lists.offsets])


def word_lists(table: LexicalTable, ids: np.ndarray, count: int) -> Ragged:
    """D(x) of every source word x: at most ``count`` words by falling w(t|s), ties by id of the target vocabulary.

    ids: int32, the network id of every id of the target vocabulary. Returns int32 network ids.
    """
    ranked = table.top_translations(max(len(table.targets), 1))
    words = ids[ranked.values]
    return _first_of_each(Ragged(words, ranked.offsets), words != UNK, count)


def top_entries(table: PhraseTable, phrases: np.ndarray, count: int) -> Ragged:
    """The ``count`` most probable entries by p(e|f) of each phrase in ``phrases``, best first, ties in row order.

    Returns int64 rows of the table. Raises ``UserError`` for a table without that score.
    """
    if table.scores.shape[1] <= DIRECT:
        raise UserError(
            f"the phrase table has {table.scores.shape[1]} scores, but V^P needs p(e|f), the third; "
            "give a table with Moses' four scores or set vocabularies.phrases to 0"
        )
    starts = table.entry_offsets[phrases]
    lengths = table.entry_offsets[phrases + 1] - starts
    offsets = offsets_of(lengths)
    rows = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    owner = np.repeat(np.arange(len(phrases)), lengths)
    order = np.lexsort((-table.scores[rows, DIRECT], owner))  # stable: equal ones stay in row order
    return _first_of_each(Ragged(rows[order], offsets), np.ones(len(rows), dtype=np.bool_), count)


def phrase_lists(table: PhraseTable, ids: np.ndarray, phrases: np.ndarray, count: int) -> Ragged:
    """P(x_i .. x_j) of each source phrase: the words of its ``count`` best target phrases, which may repeat.

    ids: as for ``word_lists``; phrases: int64, numbers of source phrases. Returns int32 network ids. The paper speaks
    of the top 10 candidates of each phrase: these are target phrases here, as in a phrase table.
    """
    entries = top_entries(table, phrases, count)
    targets = table.target.take(entries.values)
    words = Ragged(ids[targets.values], targets.offsets[entries.offsets])
    return _first_of_each(words, words.values != UNK, len(words.values))


@leaf
def _take(
    words: np.ndarray, start: int, stop: int, lowest: int, mark: int, seen: np.ndarray, values: np.ndarray, end: int
) -> int:
    """Append to ``values`` those of ``words[start:stop]`` that are new to the sentence; the new end."""
    for place in range(start, stop):
        word = words[place]
        if word >= lowest and seen[word] != mark:
            seen[word] = mark
            values[end] = word
            end += 1
    return end


@kernel
def _collect(
    source: np.ndarray,
    source_offsets: np.ndarray,
    translations: np.ndarray,
    translation_offsets: np.ndarray,
    spans: np.ndarray,
    phrase_words: np.ndarray,
    phrase_offsets: np.ndarray,
    reference: np.ndarray,
    reference_offsets: np.ndarray,
    lowest: int,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Values (int32) and offsets (int64) of the ids from ``lowest`` on that each sentence has, in rising order.

    source: ids, -1 for unknown words; translations: lists by source id; spans: places in the lists of phrase words, or
    -1; reference: lists by sentence. ``seen`` holds the number of the last sentence that took an id, counted from 1.
    """
    seen = np.zeros(size, dtype=np.int32)
    values = np.empty(1 << 16, dtype=np.int32)
    offsets = np.zeros(len(source_offsets), dtype=np.int64)
    end = 0
    for sentence in range(len(source_offsets) - 1):
        begin, mark = end, sentence + 1
        if len(values) - end < size:
            larger = np.empty(2 * len(values) + size, dtype=np.int32)
            larger[:end] = values[:end]
            values = larger
        for token in range(source_offsets[sentence], source_offsets[sentence + 1]):
            word = source[token]
            if word >= 0:
                start, stop = translation_offsets[word], translation_offsets[word + 1]
                end = _take(translations, start, stop, lowest, mark, seen, values, end)
            for phrase in spans[token]:
                if phrase >= 0:
                    start, stop = phrase_offsets[phrase], phrase_offsets[phrase + 1]
                    end = _take(phrase_words, start, stop, lowest, mark, seen, values, end)
        start, stop = reference_offsets[sentence], reference_offsets[sentence + 1]
        end = _take(reference, start, stop, lowest, mark, seen, values, end)
        values[begin:end] = np.sort(values[begin:end])
        offsets[sentence + 1] = end
    return values[:end].copy(), offsets
