"""Relative frequencies, lexical weights and reordering probabilities of phrase pairs.

Follows Moses' ``score``, ``consolidate`` and ``lexical-reordering-score``; f is the source phrase, e the target phrase.
"""

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.io.lookup_primitives import find_pair
from neural_smt.io.ragged import Lists, Ragged
from neural_smt.jit import kernel, leaf
from neural_smt.phrases.consolidation import ConsolidatedPairs, consolidate_pairs, unpack_links
from neural_smt.phrases.extraction import ExtractedPairs, run_ranges, split_evenly
from neural_smt.phrases.interning import gather_phrases
from neural_smt.phrases.primitives import has_link
from neural_smt.phrases.table import Entries, PhraseTable
from neural_smt.vocabulary import Vocabulary


@leaf
def _lexical_weight(
    words: np.ndarray, others: np.ndarray, links: np.uint64, of_target: bool, lexical: tuple[np.ndarray, ...]
) -> float:
    """Product over the words of a side: of each its mean w(word|other) over the words linked to it, or w(word|NULL).

    of_target: whether ``words`` are those of the target, for lex(e|f); lexical: rows and targets of ``LexicalTable``,
    w(word|other) by row and w(word|NULL) by word.
    """
    offsets, targets, given_other, given_null = lexical
    weight = 1.0
    for i in range(len(words)):
        total, partners = 0.0, 0
        for j in range(len(others)):
            source, target = (j, i) if of_target else (i, j)
            if has_link(links, source, target):
                pair = (others[j], words[i]) if of_target else (words[i], others[j])
                row = find_pair(offsets, targets, pair[0], pair[1])
                total += given_other[row] if row >= 0 else 1.0
                partners += 1
        if partners > 0:
            weight *= total / partners
        elif given_null[words[i]] > 0.0:
            weight *= given_null[words[i]]
    return weight


@kernel
def _weigh_range(
    sources: tuple[int, int],
    source_phrases: Lists,
    entry_offsets: np.ndarray,
    target_phrases: Lists,
    links: tuple[np.ndarray, np.ndarray],
    lexical: tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]],
    weights: np.ndarray,
) -> None:
    """Fill ``weights`` for the entries of a range of source phrases."""
    source_values, source_offsets = source_phrases
    target_values, target_offsets = target_phrases
    links_by_source, links_by_target = links
    given_target, given_source = lexical
    for phrase in range(sources[0], sources[1]):
        source = source_values[source_offsets[phrase] : source_offsets[phrase + 1]]
        for entry in range(entry_offsets[phrase], entry_offsets[phrase + 1]):
            target = target_values[target_offsets[entry] : target_offsets[entry + 1]]
            weights[entry, 0] = _lexical_weight(source, target, links_by_source[entry], False, given_target)
            weights[entry, 1] = _lexical_weight(target, source, links_by_target[entry], True, given_source)


def lexical_weights(
    source: Ragged,
    entry_offsets: np.ndarray,
    target: Ragged,
    links: tuple[np.ndarray, np.ndarray],
    lexical: LexicalTable,
    threads: int = 1,
) -> np.ndarray:
    """lex(f|e) and lex(e|f) of entries, float32 ``[E, 2]``; see ``score_pairs``.

    source, target: int32 ids of S source phrases and E target phrases; entry_offsets: int64 ``[S + 1]``; links: uint64
    ``[E]`` each, the links inside that lex(f|e), and that lex(e|f) rests on.
    """
    weights = np.empty((len(target), 2), dtype=np.float32)
    rows = lexical.offsets, lexical.targets
    given = (
        (*rows, lexical.source_given_target, lexical.source_given_null),
        (*rows, lexical.target_given_source, lexical.target_given_null),
    )
    arrays = source.arrays, entry_offsets, target.arrays, links, given, weights
    run_ranges(_weigh_range, split_evenly(entry_offsets, threads), threads, *arrays)
    return weights


@kernel
def smooth_orientations(orientations: np.ndarray, smoothing: float) -> np.ndarray:
    """float32 ``[E, 6]``: (count + smoothing) / (occurrences + 3 smoothing), for each direction of ``orientations``."""
    probabilities = np.empty(orientations.shape, dtype=np.float32)
    for entry in range(len(orientations)):
        total = orientations[entry, :3].sum() + 3 * smoothing
        for kind in range(6):
            probabilities[entry, kind] = (orientations[entry, kind] + smoothing) / total
    return probabilities


def score_pairs(
    pairs: ExtractedPairs,
    lexical: LexicalTable,
    source_vocabulary: Vocabulary,
    target_vocabulary: Vocabulary,
    max_length: int = 7,
    smoothing: float = 0.5,
    threads: int = 1,
) -> PhraseTable:
    """Build the phrase table of all extracted pairs.

    p(f|e) = c(f, e) / c(e) and p(e|f) = c(f, e) / c(f). The lexical weights (Koehn et al. 2003, section 3.4) are those
    of the most frequent links inside a pair; a word pair that ``lexical`` lacks counts as 1, as in Moses. Of equally
    frequent links Moses takes the larger ones, read from the side that is predicted, so that the two weights may rest
    on different links; the table shows those of lex(e|f). Reordering: ``smooth_orientations``.

    The result does not depend on ``threads``. Raises ``UserError`` when there is no pair.
    """
    check_extracted(len(pairs))
    consolidated = consolidate_pairs(pairs, threads)
    entries = score_entries(consolidated, pairs.source_phrases, pairs.target_phrases, lexical, smoothing, threads)
    return PhraseTable(
        **vars(entries),
        source_digest=source_vocabulary.digest,
        target_digest=target_vocabulary.digest,
        max_length=max_length,
    )


def check_extracted(pairs: int) -> None:
    """Raise ``UserError`` when no pair was extracted."""
    if pairs == 0:
        raise UserError("no phrase pair could be extracted; check the aligned text and its alignment")


def score_entries(
    pairs: ConsolidatedPairs,
    source_phrases: Ragged,
    target_phrases: Ragged,
    lexical: LexicalTable,
    smoothing: float,
    threads: int = 1,
) -> Entries:
    """Score consolidated pairs (see ``score_pairs``), whose counts must be those of all occurrences there are."""
    target = gather_phrases(target_phrases, pairs.target)
    scores = np.empty((len(target), 4), dtype=np.float32)
    scores[:, 0] = pairs.counts[:, 2] / pairs.counts[:, 0]
    scores[:, 2] = pairs.counts[:, 2] / pairs.counts[:, 1]
    links = pairs.links_by_source, pairs.links_by_target
    scores[:, 1::2] = lexical_weights(source_phrases, pairs.entry_offsets, target, links, lexical, threads)
    return Entries(
        source=source_phrases,
        entry_offsets=pairs.entry_offsets,
        target=target,
        scores=scores,
        alignment=unpack_links(pairs.links_by_target),
        counts=pairs.counts,
        reordering=smooth_orientations(pairs.orientations, smoothing),
    )
