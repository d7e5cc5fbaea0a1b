"""V_x = V^D u V^P u V^T (u V^R) of every sentence of a text (Mi et al. 2016, section 3.1).

Of what a source word or phrase is translated with, target words outside the network vocabulary are left out first, and
do not count among the best.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError, required
from neural_smt.experiment.settings import Settings
from neural_smt.io.best import best_of_parts
from neural_smt.io.files import digest_lines, digest_parts
from neural_smt.io.ragged import Lists, Ragged, offsets_of
from neural_smt.io.streams import Text
from neural_smt.jit import enlarged, kernel, leaf
from neural_smt.phrases.table import DIRECT, PhraseTable, find_spans
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import EOS, RESERVED, UNK, Vocabulary
from neural_smt.vocabulary_selection.candidates import PIECE, CandidateSets


@dataclass(frozen=True)
class Sources:
    """Both vocabularies of the tables, the network's, and the tables of the parts that are used.

    network: the target words that the network knows, most frequent first; lexical: for V^D; phrase_table: for V^P.
    """

    source: Vocabulary
    target: Vocabulary
    network: Vocabulary
    lexical: LexicalTable | None
    phrase_table: PhraseTable | None

    @cached_property
    def ids(self) -> np.ndarray:
        """int32 ``[len(target)]``: the network id of every id of the target vocabulary, UNK for words outside."""
        return shortlist_ids(self.target, self.network)

    @cached_property
    def dictionary_digest(self) -> str | None:
        """SHA-256 (hex) of what V^D is read from: both vocabularies' digests, word pairs, w(t|s)."""
        if self.lexical is None:
            return None
        vocabularies, table = f"{self.source.digest} {self.target.digest}", self.lexical
        return digest_parts([vocabularies, table.offsets, table.targets, table.target_given_source])

    def encode(self, lines: Iterable[str]) -> Ragged:
        """int32 source ids of tokenised sentences; -1 for words outside the vocabulary, which no table knows."""
        return self.source.encode(lines, unknown=-1)


def load_sources(
    source_vocabulary: Path,
    target_vocabulary: Path,
    network_vocabulary: Path,
    lexical: Path | None = None,
    phrase_table: Path | None = None,
    settings: Settings | None = None,
) -> Sources:
    """Read all of it; with ``settings`` (``vocabulary_selection``) only the tables of the parts that are used.

    Raises ``UserError`` where one of these is not given, or a table was made with other vocabularies.
    """
    if settings is not None:
        for part, table, given in (("dictionary", "lexical", lexical), ("phrases", "phrase_table", phrase_table)):
            size = getattr(settings, part)
            if size and given is None:
                raise UserError(
                    f"setting vocabulary_selection.{part} is {size}, but no {table} is given; give one, or set it to 0"
                )
        lexical, phrase_table = lexical if settings.dictionary else None, phrase_table if settings.phrases else None
    source, target = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    words = None if lexical is None else LexicalTable.load(lexical)
    if words is not None and (len(words.offsets) - 1, len(words.target_given_null)) != (len(source), len(target)):
        raise UserError(f"{lexical}: made with other vocabularies than those given; build the lexical tables again")
    phrases = None if phrase_table is None else PhraseTable.load(phrase_table, (source, target))
    return Sources(source, target, Vocabulary.load(network_vocabulary), words, phrases)


def frequent_ids(count: int, size: int) -> np.ndarray:
    """V^T: int32, UNK, EOS and the ``count`` most frequent words of a network vocabulary of ``size`` entries."""
    words = np.arange(len(RESERVED), min(len(RESERVED) + count, size))
    return np.concatenate([[UNK, EOS], words]).astype(np.int32)


def build_sets(sources: Sources, settings: Settings, lines: Text, references: Text | None = None) -> CandidateSets:
    """The sets of tokenised source sentences, in memory; with ``references``, their words too (V^R, of training texts
    only).

    settings: dictionary, phrases, frequent and max_length of ``vocabulary_selection``. An unknown source word adds
    nothing; reference words outside the network vocabulary are UNK, which every set has.
    """
    pieces = list(build_pieces(sources, settings, lines, references))
    return replace(pieces[0], own=Ragged.concatenate([piece.own for piece in pieces]))


def build_pieces(
    sources: Sources, settings: Settings, lines: Text, references: Text | None = None
) -> Iterator[CandidateSets]:
    """What ``build_sets`` makes, of ``PIECE`` sentences after the other; at least one piece.

    The texts are gone through twice, and no more than a piece of them is held. Each piece says of itself that it was
    made from the whole text.
    """
    if references is not None and len(references) != len(lines):
        raise ValueError(f"{len(lines)} sentences but {len(references)} references")
    origins = {"source": digest_lines(lines)}
    if references is not None:
        origins["reference"] = digest_lines(references)
    source, reference = iter(lines), iter(references or ())

    def pieces() -> Iterator[tuple[Ragged, Ragged | None]]:
        for _ in range(0, max(len(lines), 1), PIECE):
            translations = sources.network.encode_words(islice(reference, PIECE))
            yield sources.encode(islice(source, PIECE)), None if references is None else translations

    return collect_pieces(sources, settings, pieces(), origins)


def collect_pieces(
    sources: Sources,
    settings: Settings,
    pieces: Iterable[tuple[Ragged, Ragged | None]],
    origins: Mapping[str, str],
) -> Iterator[CandidateSets]:
    """The sets of each piece of a text: source ids as ``Sources.encode`` gives, and network ids of the references.

    origins: those of the texts.
    """
    words, made_from = len(sources.network), {"vocabulary": sources.network.digest, **origins}
    translations = _empty_lists(len(sources.source))
    if settings.dictionary:
        made_from["dictionary"] = str(sources.dictionary_digest)
        translations = word_lists(required(sources.lexical), sources.ids, settings.dictionary)
    if settings.phrases:
        made_from["phrase_table"] = required(sources.phrase_table).digest
    common = frequent_ids(settings.frequent, words)
    for piece, references in pieces:
        spans, phrases = np.full((len(piece.values), 1), -1, dtype=np.int32), _empty_lists(0)
        if settings.phrases:
            spans, numbers = applicable_phrases(required(sources.phrase_table), piece, settings.max_length)
            phrases = phrase_lists(required(sources.phrase_table), sources.ids, numbers, settings.phrases)
        reference = _empty_lists(len(piece)) if references is None else references
        lists = (part.arrays for part in (piece, translations, phrases, reference))
        own = Ragged(*_collect(*lists, spans, len(RESERVED) + settings.frequent, words))
        yield CandidateSets(own, common, words, made_from, settings.as_dict())


def _empty_lists(count: int) -> Ragged:
    return Ragged(np.zeros(0, dtype=np.int32), np.zeros(count + 1, dtype=np.int64))


def applicable_phrases(table: PhraseTable, piece: Ragged, max_length: int) -> tuple[np.ndarray, np.ndarray]:
    """Spans of sentences that are source phrases, and which these are.

    piece: source ids as ``Sources.encode`` gives; max_length: as in the settings. Returns int32 ``[tokens, longest]``,
    positions in the second array or -1 (``find_spans``), and int64 numbers of distinct source phrases.
    """
    longest = min(max_length, table.max_length) if max_length else table.max_length
    spans = find_spans(table.lookup, piece.values, piece.offsets, max(longest, 1))
    found, numbers = spans >= 0, np.full(spans.shape, -1, dtype=np.int32)
    phrases, numbers[found] = np.unique(spans[found], return_inverse=True)
    return numbers, phrases.astype(np.int64)


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
            "give a table with Moses' four scores or set vocabulary_selection.phrases to 0"
        )
    places = table.entry_offsets[phrases], table.entry_offsets[phrases + 1]
    return Ragged(*best_of_parts(table.scores[:, DIRECT], *places, count))


def phrase_lists(table: PhraseTable, ids: np.ndarray, phrases: np.ndarray, count: int) -> Ragged:
    """P(x_i .. x_j) of each source phrase: the words of its ``count`` best target phrases, which may repeat.

    ids: as for ``word_lists``; phrases: int64, numbers of source phrases. Returns int32 network ids. The paper speaks
    of the top 10 candidates of each phrase: these are target phrases here, as in a phrase table.
    """
    return Ragged(*_known_words(top_entries(table, phrases, count).arrays, table.target.arrays, ids))


@kernel
def _known_words(entries: Lists, targets: Lists, ids: np.ndarray) -> Lists:
    """The words of the target phrases of each list of ``entries`` that have a network id (int32) other than UNK."""
    rows, offsets = entries
    words, bounds = targets
    size = 0
    for row in rows:
        size += bounds[row + 1] - bounds[row]
    values, ends = np.empty(size, dtype=np.int32), np.zeros(len(offsets), dtype=np.int64)
    end = 0
    for number in range(len(offsets) - 1):
        for row in rows[offsets[number] : offsets[number + 1]]:
            for place in range(bounds[row], bounds[row + 1]):
                word = ids[words[place]]
                if word != UNK:
                    values[end] = word
                    end += 1
        ends[number + 1] = end
    return values[:end], ends


@leaf
def _take(lists: Lists, number: int, lowest: int, mark: int, seen: np.ndarray, values: np.ndarray, end: int) -> int:
    """Append to ``values`` those words of a list that are new to the sentence; the new end."""
    words, offsets = lists
    for place in range(offsets[number], offsets[number + 1]):
        word = words[place]
        if word >= lowest and seen[word] != mark:
            seen[word] = mark
            values[end] = word
            end += 1
    return end


@kernel
def _collect(
    source: Lists, translations: Lists, phrases: Lists, reference: Lists, spans: np.ndarray, lowest: int, size: int
) -> Lists:
    """Values (int32) and offsets (int64) of the ids from ``lowest`` on that each sentence has, in rising order.

    source: ids, -1 for unknown words; translations: lists by source id; spans: places in the lists of words of
    ``phrases``, or -1; reference: lists by sentence. ``seen`` holds the number of the last sentence that took an id,
    counted from 1.
    """
    words, offsets_of_words = source
    seen = np.zeros(size, dtype=np.int32)
    values = np.empty(1 << 16, dtype=np.int32)
    offsets = np.zeros(len(offsets_of_words), dtype=np.int64)
    end = 0
    for sentence in range(len(offsets) - 1):
        begin, mark = end, sentence + 1
        if len(values) - end < size:
            values = enlarged(values, 2 * len(values) + size)
        for token in range(offsets_of_words[sentence], offsets_of_words[sentence + 1]):
            if words[token] >= 0:
                end = _take(translations, words[token], lowest, mark, seen, values, end)
            for phrase in spans[token]:
                if phrase >= 0:
                    end = _take(phrases, phrase, lowest, mark, seen, values, end)
        end = _take(reference, sentence, lowest, mark, seen, values, end)
        values[begin:end] = np.sort(values[begin:end])
        offsets[sentence + 1] = end
    return values[:end].copy(), offsets
