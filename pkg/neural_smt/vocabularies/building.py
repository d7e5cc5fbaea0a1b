"""V_x = V^D u V^P u V^T (u V^R) of every sentence of a text (Mi et al. 2016, section 3.1)."""

from dataclasses import asdict, dataclass

import numpy as np

from neural_smt.errors import UserError
from neural_smt.jit import kernel, leaf
from neural_smt.phrases.spans import find_spans
from neural_smt.phrases.table import PhraseTable
from neural_smt.ragged import Ragged
from neural_smt.vocabularies.candidates import CandidateSets, text_digest
from neural_smt.vocabularies.lists import phrase_lists, word_lists
from neural_smt.vocabularies.settings import VocabularySettings
from neural_smt.vocabularies.sources import Sources
from neural_smt.vocabulary import EOS, RESERVED, UNK

PIECE = 1 << 16
"""Sentences looked up at once: what is held of the spans does not grow with the text."""


@dataclass(frozen=True)
class Built:
    """The sets of a text and how many spans of it were found in the phrase table."""

    sets: CandidateSets
    phrases: int


def frequent_ids(count: int, size: int) -> np.ndarray:
    """V^T: int32, UNK, EOS and the ``count`` most frequent words of a network vocabulary of ``size`` entries."""
    words = np.arange(len(RESERVED), min(len(RESERVED) + count, size))
    return np.concatenate([[UNK, EOS], words]).astype(np.int32)


def build_sets(
    sources: Sources, settings: VocabularySettings, lines: list[str], references: list[str] | None = None
) -> Built:
    """The sets of tokenised source sentences; with ``references``, their words too (V^R, of training texts only).

    An unknown source word adds nothing; reference words outside the network vocabulary are UNK, which every set has.
    Raises ``UserError`` where a part needs a table that ``sources`` do not have.
    """
    _check(sources, settings)
    if references is not None and len(references) != len(lines):
        raise ValueError(f"{len(lines)} sentences but {len(references)} references")
    size = len(sources.network)
    origins = {"vocabulary": sources.network.digest, "source": text_digest(lines)}
    if settings.dictionary:
        origins["dictionary"] = str(sources.dictionary_digest)
        translations = word_lists(sources.lexical, sources.ids, settings.dictionary)
    else:
        translations = _empty_lists(len(sources.source))
    if settings.phrases:
        origins["phrase_table"] = sources.phrase_table.digest
    if references is not None:
        origins["reference"] = text_digest(references)
    parts, found = [], 0
    for start in range(0, max(len(lines), 1), PIECE):
        piece = sources.encode(lines[start : start + PIECE])
        spans, phrases = _applicable(sources, settings, piece)
        found += int(np.count_nonzero(spans >= 0))
        reference = (
            _empty_lists(len(piece))
            if references is None
            else sources.encode_reference(references[start : start + PIECE])
        )
        lists = [array for part in (piece, translations) for array in _arrays(part)]
        further = [array for part in (phrases, reference) for array in _arrays(part)]
        parts.append(Ragged(*_collect(*lists, spans, *further, len(RESERVED) + settings.frequent, size)))
    common = frequent_ids(settings.frequent, size)
    return Built(CandidateSets(Ragged.concatenate(parts), common, size, origins, asdict(settings)), found)


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
