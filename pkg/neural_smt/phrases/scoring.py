"""Occurrences of phrase pairs consolidated into entries, and their scores.

Entries have counts, the most frequent links of each pair and orientations; then relative frequencies, lexical weights
and reordering probabilities. Follows Moses' ``score``, ``consolidate`` and ``lexical-reordering-score``; f is the
source phrase, e the target phrase.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.errors import UserError
from neural_smt.io.lookup_primitives import find_pair
from neural_smt.io.ragged import Lists, Ragged, offsets_of
from neural_smt.io.sorting import sort_pairs
from neural_smt.jit import kernel, leaf, longest
from neural_smt.phrases.extraction import ExtractedPairs, run_ranges
from neural_smt.phrases.interning import gather_phrases
from neural_smt.phrases.primitives import LONGEST_PHRASE, has_link
from neural_smt.phrases.table import Entries, PhraseTable
from neural_smt.vocabulary import Vocabulary

_SETS = sorted(range(1 << LONGEST_PHRASE), key=lambda bits: [i for i in range(LONGEST_PHRASE) if bits >> i & 1])
_RANK_OF_SET = np.argsort(_SETS).astype(np.uint64)
"""The place of each set of source positions (bits) among all, compared as ascending sequences."""


class ConsolidatedPairs(NamedTuple):
    """The distinct phrase pairs (entries), by source phrase and then by target phrase.

    entry_offsets: the entries of each source phrase; target: target phrase numbers; counts: c(e), c(f), c(f, e);
    orientations: occurrences that are monotone, swapped, discontinuous with respect to the previous phrase, then to the
    next one; links_by_target, links_by_source: the most frequent links inside, equally frequent ones compared from
    either side.
    """

    entry_offsets: Annotated[np.ndarray, "int64 [S+1] to E"]
    target: Annotated[np.ndarray, "int32 [E] < T"]
    counts: Annotated[np.ndarray, "int32 [E, 3] < *"]
    orientations: Annotated[np.ndarray, "int32 [E, 6] < *"]
    links_by_target: Annotated[np.ndarray, "uint64 [E]"]
    links_by_source: Annotated[np.ndarray, "uint64 [E]"]


@kernel
def transpose_links(links: np.uint64) -> np.uint64:
    """Exchange source and target in the 8 x 8 bit matrix of links."""
    transposed = np.uint64(0)
    for i in range(LONGEST_PHRASE):
        for j in range(LONGEST_PHRASE):
            if has_link(links, i, j):
                transposed |= np.uint64(1) << np.uint64(LONGEST_PHRASE * i + j)
    return transposed


@kernel
def alignment_rank(links: np.uint64) -> np.uint64:
    """A number that is larger for what comes later, as Moses orders the internal alignments of one phrase pair.

    Read word by word of the target: each word's source positions, ascending, are compared as a sequence, and a
    sequence comes before its continuations. (Transposed, the same is read from the source side.)
    """
    rank = np.uint64(0)
    for j in range(LONGEST_PHRASE):
        row = (links >> np.uint64(LONGEST_PHRASE * j)) & np.uint64((1 << LONGEST_PHRASE) - 1)
        rank = (rank << np.uint64(LONGEST_PHRASE)) | _RANK_OF_SET[row]
    return rank


@kernel
def _count_entries(order: np.ndarray, target: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """int64 ``[S + 1]``: where the entries of each source phrase begin; ``order`` sorts the occurrences."""
    entry_offsets = np.zeros(len(offsets), dtype=np.int64)
    for phrase in range(len(offsets) - 1):
        entries = 0
        for position in range(offsets[phrase], offsets[phrase + 1]):
            if position == offsets[phrase] or target[order[position]] != target[order[position - 1]]:
                entries += 1
        entry_offsets[phrase + 1] = entry_offsets[phrase] + entries
    return entry_offsets


@kernel
def _most_frequent_links(
    order: np.ndarray, links: np.ndarray, start: int, end: int, kinds: np.ndarray, kind_counts: np.ndarray
) -> tuple[np.uint64, np.uint64]:
    """The most frequent links of the occurrences ``order[start:end]``, ties broken from the target and the source side.

    kinds (uint64), kind_counts (int32): scratch space for ``end - start`` distinct links.
    """
    distinct = 0
    for position in range(start, end):
        seen = links[order[position]]
        kind = 0
        while kind < distinct and kinds[kind] != seen:
            kind += 1
        if kind == distinct:
            kinds[kind] = seen
            kind_counts[kind] = 0
            distinct += 1
        kind_counts[kind] += 1
    by_target = by_source = 0
    for kind in range(1, distinct):
        if kind_counts[kind] > kind_counts[by_target]:
            by_target = by_source = kind
        elif kind_counts[kind] == kind_counts[by_target]:
            if alignment_rank(kinds[kind]) > alignment_rank(kinds[by_target]):
                by_target = kind
            if alignment_rank(transpose_links(kinds[kind])) > alignment_rank(transpose_links(kinds[by_source])):
                by_source = kind
    return kinds[by_target], kinds[by_source]


@kernel
def _consolidate_range(
    sources: tuple[int, int],
    order: np.ndarray,
    offsets: np.ndarray,
    occurrences: tuple[np.ndarray, np.ndarray, np.ndarray],
    target_counts: np.ndarray,
    out: ConsolidatedPairs,
) -> None:
    """Fill the entries of a range of source phrases."""
    target, links, orientation = occurrences
    entry_offsets, entry_target, counts, orientations, links_by_target, links_by_source = out
    most = longest(offsets[sources[0] : sources[1] + 1])
    kinds = np.empty(most, dtype=np.uint64)
    kind_counts = np.empty(most, dtype=np.int32)
    for phrase in range(sources[0], sources[1]):
        start = offsets[phrase]
        for entry in range(entry_offsets[phrase], entry_offsets[phrase + 1]):
            number = target[order[start]]
            orientations[entry] = 0
            end = start
            while end < offsets[phrase + 1] and target[order[end]] == number:
                both = orientation[order[end]]
                orientations[entry, both // 3] += 1
                orientations[entry, 3 + both % 3] += 1
                end += 1
            entry_target[entry] = number
            counts[entry, 0] = target_counts[number]
            counts[entry, 1] = offsets[phrase + 1] - offsets[phrase]
            counts[entry, 2] = end - start
            best = _most_frequent_links(order, links, start, end, kinds, kind_counts)
            links_by_target[entry], links_by_source[entry] = best
            start = end


def consolidate_pairs(pairs: ExtractedPairs, threads: int = 1) -> ConsolidatedPairs:
    """Consolidate the occurrences of each phrase pair; the result does not depend on ``threads``."""
    order, offsets = sort_pairs(pairs.source, pairs.target, len(pairs.source_phrases), len(pairs.target_phrases))
    target_counts = np.bincount(pairs.target, minlength=len(pairs.target_phrases))
    entry_offsets = _count_entries(order, pairs.target, offsets)
    entries = int(entry_offsets[-1])
    out = ConsolidatedPairs(
        entry_offsets,
        np.empty(entries, dtype=np.int32),
        np.empty((entries, 3), dtype=np.int32),
        np.empty((entries, 6), dtype=np.int32),
        np.empty(entries, dtype=np.uint64),
        np.empty(entries, dtype=np.uint64),
    )
    occurrences = pairs.target, pairs.links, pairs.orientation
    run_ranges(_consolidate_range, offsets, threads, order, offsets, occurrences, target_counts, out)
    return out


@kernel
def _unpack(links: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    values = np.empty((offsets[-1], 2), dtype=np.uint8)
    for entry in range(len(links)):
        position, rest, bit = offsets[entry], links[entry], 0
        while rest:
            if rest & np.uint64(1):
                values[position, 0] = bit % LONGEST_PHRASE
                values[position, 1] = bit // LONGEST_PHRASE
                position += 1
            rest >>= np.uint64(1)
            bit += 1
    return values


def unpack_links(links: np.ndarray) -> Ragged:
    """uint64 ``[E]`` links as uint8 ``Ragged`` of rows (source, target), ordered by target, then by source position."""
    offsets = offsets_of(np.bitwise_count(links))
    return Ragged(_unpack(links, offsets), offsets)


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
    run_ranges(_weigh_range, entry_offsets, threads, *arrays)
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
    max_length: int,
    smoothing: float,
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
    digests: dict[str, Any] = {"source_digest": source_vocabulary.digest, "target_digest": target_vocabulary.digest}
    return PhraseTable(**vars(entries), **digests, max_length=max_length)


def check_extracted(pairs: int) -> None:
    """Raise ``UserError`` when no pair was extracted."""
    if pairs == 0:
        raise UserError("no phrase pair could be extracted; check the aligned text and its alignment")


def score_entries(
    pairs: ConsolidatedPairs, source: Ragged, target: Ragged, lexical: LexicalTable, smoothing: float, threads: int = 1
) -> Entries:
    """Score consolidated pairs (see ``score_pairs``), whose counts must be those of all occurrences there are."""
    targets = gather_phrases(target, pairs.target)
    scores = np.empty((len(targets), 4), dtype=np.float32)
    scores[:, 0] = pairs.counts[:, 2] / pairs.counts[:, 0]
    scores[:, 2] = pairs.counts[:, 2] / pairs.counts[:, 1]
    links = pairs.links_by_source, pairs.links_by_target
    scores[:, 1::2] = lexical_weights(source, pairs.entry_offsets, targets, links, lexical, threads)
    return Entries(
        source=source,
        entry_offsets=pairs.entry_offsets,
        target=targets,
        scores=scores,
        alignment=unpack_links(pairs.links_by_target),
        counts=pairs.counts,
        reordering=smooth_orientations(pairs.orientations, smoothing),
    )
