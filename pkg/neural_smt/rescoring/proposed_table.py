"""Replacing the phrase table: target phrases that the network proposes become entries (Cho et al. 2014, section 4.3).

The paper names this as future work; what follows is ours. A pair that the table has keeps its row as it is. A pair that
it does not have gets, with c of the table (0 for a phrase it lacks) and a weight mu,

    p(e|f) = (c(f, e) + mu p_network(e|f)) / (c(f) + mu),   c(f, e) = 0,
    p(f|e) = (c(f, e) + mu lex(f|e)) / (c(e) + mu),         c(f, e) = 0,

relative frequencies smoothed towards what else is known of the pair; lexical weights over links of its own, each target
word with the source word for which w(e|f) is largest; and orientations that are equally probable.
"""

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.lookup_primitives import find_pair
from neural_smt.io.ragged import Lists, Ragged, offsets_of
from neural_smt.io.sorting import sort_pairs
from neural_smt.jit import kernel
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import Trained
from neural_smt.networks.proposals import beam_search
from neural_smt.phrases.interning import gather_phrases, intern_phrases
from neural_smt.phrases.primitives import LONGEST_PHRASE
from neural_smt.phrases.scoring import lexical_weights, unpack_links
from neural_smt.phrases.table import PhraseTable
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import RESERVED, UNK, Vocabularies

LONGEST_TARGET = LONGEST_PHRASE - 1
"""Longer proposals are left out: Moses' tables have phrases of up to seven words."""

WIDER = 2
"""A source phrase for which a beam so many times wider than asked for finds nothing keeps the rows of the table."""


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
    lengths = np.repeat(np.arange(1, max_length + 1), [len(part) for part in parts])
    return intern_phrases(Ragged(np.concatenate([part.ravel() for part in parts]), offsets_of(lengths)))[0]


def propose_table(
    table: PhraseTable,
    model: Trained[EncoderDecoder],
    vocabularies: Vocabularies,
    lexical: LexicalTable,
    sentences: Ragged,
    settings: Settings,
) -> PhraseTable:
    """The phrase table of a text, with the network's proposals in it.

    settings: of the section ``proposals``; sentences: the source text, int32 ids. Its n-grams of up to
    ``table.max_length`` words are all the source phrases that decoding it can use. The network proposes for those of up
    to ``max_words`` words that are all in its shortlist; the others, and those for which it finds nothing, have the
    rows of ``table``.
    """
    wanted = text_phrases(sentences, table.max_length)
    source, target, found = _proposals(model, vocabularies, wanted, settings)
    # equal phrases of the text, of the table and of the proposals have equal numbers
    sources, number = intern_phrases(Ragged.concatenate([wanted, table.source, source]))
    of_text, of_table, new_source = np.split(number, np.cumsum((len(wanted), len(table.source))))
    targets, number = intern_phrases(Ragged.concatenate([table.target, target]))
    old_target, new_target = np.split(number, [len(table)])
    target_counts, source_counts = np.zeros(len(targets), dtype=np.int32), np.zeros(len(sources), dtype=np.int32)
    target_counts[old_target] = table.counts[:, 0]
    source_counts[of_table] = table.counts[table.entry_offsets[:-1], 1]
    counts = np.zeros((len(found), 3), dtype=np.int32)
    counts[:, 0], counts[:, 1] = target_counts[new_target], source_counts[new_source]

    lexicon = lexical.offsets, lexical.targets, lexical.target_given_source
    links = link_by_lexicon(source.arrays, target.arrays, lexicon)
    weights = lexical_weights(source, np.arange(len(source) + 1), target, (links, links), lexical)
    inverse = settings.mu * weights[:, 0] / (counts[:, 0] + settings.mu)
    direct = settings.mu * np.exp(found) / (counts[:, 1] + settings.mu)
    scores = np.stack((inverse, weights[:, 0], direct, weights[:, 1]), axis=1).astype(np.float32)
    reordering = np.full((len(found), 6), 1 / 3, dtype=np.float32)

    old_source = of_table[table.entry_source]
    old = np.flatnonzero(np.isin(old_source, of_text))
    row_source, row_target = np.append(old_source[old], new_source), np.append(old_target[old], new_target)
    keys = row_source.astype(np.int64) << 32 | row_target
    kept = np.append(np.ones(len(old), dtype=bool), ~np.isin(keys[len(old) :], keys[: len(old)]))
    if settings.mode == "replace":
        kept[: len(old)] = np.isin(keys[: len(old)], keys[len(old) :]) | ~np.isin(row_source[: len(old)], new_source)
    rows = np.flatnonzero(kept)
    if len(rows) == 0:
        raise UserError("no phrase of the text is in the table or known to the network; check the text's language")
    used, sources_of = np.unique(row_source[rows], return_inverse=True)
    order, entry_offsets = sort_pairs(sources_of.astype(np.int32), row_target[rows], len(used), len(targets))
    rows = rows[order]
    return PhraseTable(
        source=sources.take(used),
        entry_offsets=entry_offsets,
        target=gather_phrases(targets, row_target[rows]),
        scores=np.concatenate((table.scores[old], scores))[rows],
        alignment=Ragged.concatenate((table.alignment.take(old), unpack_links(links))).take(rows),
        counts=np.concatenate((table.counts[old], counts))[rows],
        reordering=np.concatenate((table.reordering[old], reordering))[rows],
        source_digest=table.source_digest,
        target_digest=table.target_digest,
        max_length=table.max_length,
    )


def _proposals(
    model: Trained[EncoderDecoder], vocabularies: Vocabularies, wanted: Ragged, settings: Settings
) -> tuple[Ragged, Ragged, np.ndarray]:
    """Pairs of source phrases that are wanted and target phrases that the network proposes for them, in ids of the
    vocabularies, and log p(target | source), float64 ``[n]``.
    """
    ids = shortlist_ids(vocabularies[0], model.source)
    known = wanted.count(ids == UNK) == 0
    queries = wanted.take(np.flatnonzero(known & (wanted.lengths <= settings.max_words)))
    read = Ragged(ids[queries.values], queries.offsets)
    found = beam_search(model.network, read, settings.best, WIDER * settings.best, precision=settings.precision)
    written = Ragged(vocabularies[1].ids(model.target.words)[found.phrases.values], found.phrases.offsets)
    sound = (written.lengths >= 1) & (written.lengths <= LONGEST_TARGET)
    sound &= written.count(np.arange(len(vocabularies[1])) < len(RESERVED)) == 0
    rows = np.flatnonzero(sound)
    return queries.take(found.source[rows]), written.take(rows), found.scores[rows]


@kernel
def link_by_lexicon(source: Lists, target: Lists, lexicon: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """uint64 ``[n]``, links of phrase pairs: each target word with the source word under which it is most probable.

    The first of equally probable ones; a target word that the lexicon (offsets, targets and w(t|s) of a
    ``LexicalTable``) links with none of them has no link.
    """
    sources, starts = source
    targets, target_starts = target
    offsets, linked, probabilities = lexicon
    links = np.zeros(len(starts) - 1, dtype=np.uint64)
    for pair in range(len(links)):
        for j in range(target_starts[pair + 1] - target_starts[pair]):
            best, chosen = 0.0, -1
            for i in range(starts[pair + 1] - starts[pair]):
                row = find_pair(offsets, linked, sources[starts[pair] + i], targets[target_starts[pair] + j])
                if row >= 0 and probabilities[row] > best:
                    best, chosen = probabilities[row], i
            if chosen >= 0:
                links[pair] |= np.uint64(1) << np.uint64(LONGEST_PHRASE * j + chosen)
    return links
