"""Replacing the phrase table: target phrases that the network proposes become entries (Cho et al. 2014, section 4.3).

The paper names this as future work; what follows is ours. A pair that the table has keeps its row as it is. A pair that
it does not have gets, with c of the table (0 for a phrase it lacks) and a weight mu,

    p(e|f) = (c(f, e) + mu p_network(e|f)) / (c(f) + mu),   c(f, e) = 0,
    p(f|e) = (c(f, e) + mu lex(f|e)) / (c(e) + mu),         c(f, e) = 0,

relative frequencies smoothed towards what else is known of the pair; lexical weights over links of its own, each target
word with the source word for which w(e|f) is largest; and orientations that are equally probable.
"""

from dataclasses import dataclass

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.lookup_primitives import find_pair
from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel
from neural_smt.networks.encoder_decoder import TrainedModel
from neural_smt.networks.proposals import BeamSettings, beam_search
from neural_smt.phrases.consolidation import unpack_links
from neural_smt.phrases.interning import gather_phrases, intern_phrases, sort_pairs
from neural_smt.phrases.primitives import LONGEST_PHRASE
from neural_smt.phrases.scoring import lexical_weights
from neural_smt.phrases.table import PhraseTable
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary

LONGEST_TARGET = LONGEST_PHRASE - 1
"""Longer proposals are left out: Moses' tables have phrases of up to seven words."""

WIDER = 2
"""A source phrase for which a beam so many times wider than asked for finds nothing keeps the rows of the table."""


@dataclass(frozen=True)
class _Rows:
    """Phrase pairs that are not a table yet: source, target: int32 ``Ragged``; scores: float32 ``[n, 4]``; alignment:
    uint8 ``Ragged`` of ``[links, 2]``; counts: int32 ``[n, 3]``; reordering: float32 ``[n, 6]``.
    """

    source: Ragged
    target: Ragged
    scores: np.ndarray
    alignment: Ragged
    counts: np.ndarray
    reordering: np.ndarray

    def take(self, rows: np.ndarray) -> "_Rows":
        ragged = (self.source.take(rows), self.target.take(rows))
        return _Rows(*ragged, self.scores[rows], self.alignment.take(rows), self.counts[rows], self.reordering[rows])

    def followed_by(self, other: "_Rows") -> "_Rows":
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__}
        ragged = ("source", "target", "alignment")
        joined = {
            name: Ragged.concatenate(both) if name in ragged else np.concatenate(both) for name, both in pairs.items()
        }
        return _Rows(**joined)


def text_phrases(sentences: Ragged, max_length: int) -> Ragged:
    """The distinct n-grams of up to ``max_length`` words of sentences of ids, none with unknown words, sorted."""
    ends = np.repeat(sentences.offsets[1:], sentences.lengths)
    unknown = np.concatenate(([0], np.cumsum(sentences.values == UNK)))
    starts = np.arange(len(sentences.values))
    parts = []
    for length in range(1, max_length + 1):
        fits = starts[starts + length <= ends]
        fits = fits[unknown[fits + length] == unknown[fits]]
        parts.append(sentences.values[fits[:, None] + np.arange(length)].astype(np.int32))
    lengths = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    windows = Ragged(np.concatenate([part.ravel() for part in parts]), np.concatenate(([0], np.cumsum(lengths))))
    return intern_phrases(windows)[0]


def propose_table(
    table: PhraseTable,
    model: TrainedModel,
    vocabularies: tuple[Vocabulary, Vocabulary],
    lexical: LexicalTable,
    sentences: Ragged,
    settings: Settings,
    precision: str = "fp32",
) -> PhraseTable:
    """The phrase table of a text, with the network's proposals in it.

    settings: of the section ``proposals``; sentences: the source text, int32 ids. Its n-grams of up to
    ``table.max_length`` words are all the source phrases that decoding it can use. The network proposes for those of up
    to ``max_words`` words that are all in its shortlist; the others, and those for which it finds nothing, have the
    rows of ``table``.
    """
    wanted = text_phrases(sentences, table.max_length)
    ids = shortlist_ids(vocabularies[0], model.source)
    lengths = wanted.lengths
    known = np.array([not (ids[phrase] == UNK).any() for phrase in wanted], dtype=bool)
    queries = wanted.take(np.flatnonzero(known & (lengths <= settings.max_words)))
    old = _rows_of(table, wanted)
    new = _proposed_rows(table, model, vocabularies, lexical, queries, settings, precision)
    rows = old.followed_by(new)
    sources = intern_phrases(rows.source)[1].astype(np.int64)
    targets = intern_phrases(rows.target)[1].astype(np.int64)
    keys = sources << 32 | targets
    in_old, in_new = np.isin(keys, keys[: len(old.scores)]), np.isin(keys, keys[len(old.scores) :])
    is_new = np.arange(len(keys)) >= len(old.scores)
    stays = (
        in_new | ~np.isin(sources, sources[len(old.scores) :])
        if settings.mode == "replace"
        else np.ones(len(keys), dtype=bool)
    )
    return _as_table(rows.take(np.flatnonzero(np.where(is_new, ~in_old, stays))), table)


def _rows_of(table: PhraseTable, wanted: Ragged) -> _Rows:
    """The rows of the table whose source phrase is one of ``wanted``."""
    own = Ragged(np.array(table.source.values), np.array(table.source.offsets))
    numbers = intern_phrases(Ragged.concatenate([wanted, own]))[1]
    entry_source = table.entry_source
    entries = np.flatnonzero(np.isin(numbers[len(wanted) :], numbers[: len(wanted)])[entry_source])
    return _Rows(
        own.take(entry_source[entries]),
        table.target.take(entries),
        table.scores[entries],
        table.alignment.take(entries),
        table.counts[entries],
        table.reordering[entries],
    )


def _proposed_rows(
    table: PhraseTable,
    model: TrainedModel,
    vocabularies: tuple[Vocabulary, Vocabulary],
    lexical: LexicalTable,
    queries: Ragged,
    settings: Settings,
    precision: str,
) -> _Rows:
    """The network's proposals for ``queries``, scored as pairs that were never seen."""
    ids = shortlist_ids(vocabularies[0], model.source)
    back = vocabularies[1].ids(model.target.words)
    found = beam_search(
        model.network,
        Ragged(ids[queries.values], queries.offsets),
        BeamSettings(size=settings.best, largest=WIDER * settings.best),
        precision,
    )
    words = Ragged(back[found.phrases.values], found.phrases.offsets)
    reserved = np.concatenate(([0], np.cumsum(words.values < len(RESERVED))))
    sound = (words.lengths >= 1) & (words.lengths <= LONGEST_TARGET)
    sound &= reserved[words.offsets[1:]] == reserved[words.offsets[:-1]]
    rows = np.flatnonzero(sound)
    source, target = queries.take(found.source[rows]), words.take(rows)
    links = link_by_lexicon(
        source.values,
        source.offsets,
        target.values,
        target.offsets,
        lexical.offsets,
        lexical.targets,
        lexical.target_given_source,
    )
    weights = lexical_weights(source, np.arange(len(source) + 1), target, (links, links), lexical)
    counts = np.zeros((len(rows), 3), dtype=np.int32)
    counts[:, 0] = _known_counts(table.target, np.asarray(table.counts[:, 0]), target)
    first = np.asarray(table.entry_offsets[:-1])
    counts[:, 1] = _known_counts(table.source, np.asarray(table.counts[:, 1])[first], source)
    mu = settings.mu
    inverse = mu * weights[:, 0] / (counts[:, 0] + mu)
    direct = mu * np.exp(found.scores[rows]) / (counts[:, 1] + mu)
    scores = np.stack((inverse, weights[:, 0], direct, weights[:, 1]), axis=1).astype(np.float32)
    reordering = np.full((len(rows), 6), 1 / 3, dtype=np.float32)
    return _Rows(source, target, scores, unpack_links(links), counts, reordering)


def _known_counts(known: Ragged, counts: np.ndarray, phrases: Ragged) -> np.ndarray:
    """The count of each of ``phrases`` that is among ``known``, whose counts are given, and 0 for others."""
    own = Ragged(np.array(known.values), np.array(known.offsets))
    distinct, numbers = intern_phrases(Ragged.concatenate([own, phrases]))
    by_number = np.zeros(len(distinct), dtype=np.int32)
    by_number[numbers[: len(own)]] = counts
    return by_number[numbers[len(own) :]]


@kernel
def link_by_lexicon(
    source: np.ndarray,
    source_offsets: np.ndarray,
    target: np.ndarray,
    target_offsets: np.ndarray,
    lexical_offsets: np.ndarray,
    lexical_targets: np.ndarray,
    target_given_source: np.ndarray,
) -> np.ndarray:
    """uint64 ``[n]``, links of phrase pairs: each target word with the source word under which it is most probable.

    The first of equally probable ones; a target word that the lexicon links with none of them has no link.
    """
    pairs = len(source_offsets) - 1
    links = np.zeros(pairs, dtype=np.uint64)
    for pair in range(pairs):
        begin = source_offsets[pair]
        for j in range(target_offsets[pair + 1] - target_offsets[pair]):
            best, chosen = 0.0, -1
            for i in range(source_offsets[pair + 1] - begin):
                row = find_pair(lexical_offsets, lexical_targets, source[begin + i], target[target_offsets[pair] + j])
                if row >= 0 and target_given_source[row] > best:
                    best, chosen = target_given_source[row], i
            if chosen >= 0:
                links[pair] |= np.uint64(1) << np.uint64(LONGEST_PHRASE * j + chosen)
    return links


def _as_table(rows: _Rows, like: PhraseTable) -> PhraseTable:
    """Distinct rows in the order of a phrase table."""
    if len(rows.scores) == 0:
        raise UserError(
            "no phrase of the text is in the phrase table or known to the network; check the text's language"
        )
    source, sources = intern_phrases(rows.source)
    target, targets = intern_phrases(rows.target)
    order, entry_offsets = sort_pairs(sources, targets, len(source), len(target))
    return PhraseTable(
        source=source,
        entry_offsets=entry_offsets,
        target=gather_phrases(target, targets[order]),
        scores=rows.scores[order],
        alignment=rows.alignment.take(order),
        counts=rows.counts[order],
        reordering=rows.reordering[order],
        source_digest=like.source_digest,
        target_digest=like.target_digest,
        max_length=like.max_length,
    )
