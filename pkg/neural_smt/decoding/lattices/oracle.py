"""Oracle translations of lattices: the derivations with the highest BLEU against the reference.

Dynamic programming over the nodes. What the future of a partial translation depends on is its last words, as far as
they are an n-gram of the reference, the n-grams of the reference it has matched (they are clipped) and its length:
partial translations with the same node and the same of these are one. Without a beam the search is therefore exact;
with one, each node keeps those with the highest linear BLEU, the first-order gain of Tromble et al. (2008, section 4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neural_smt.bleu import MATCHES, ORDER, PLUS_ONE, REFERENCE_LENGTH, SIZE, TOTALS, bleu, sentence_bleu
from neural_smt.bleu_primitives import log_bleu
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.io.ragged import Lists, Ragged
from neural_smt.jit import enlarged, kernel, leaf, mix
from neural_smt.vocabulary import Vocabulary

BEAM = 20
"""Partial translations kept at a node; on captions ten give the BLEU of three hundred to the fourth digit."""

PRECISION, DECAY = 0.85, 0.75
"""Precision of unigrams, and of each higher order to that below, of the translations an oracle is compared with."""

ROUNDS = 4
"""Passes over the sentences of the corpus-level search, at most; the first two bring nearly everything."""


@dataclass(frozen=True)
class LatticeOracle:
    """One derivation per sentence.

    arcs: int32 ``Ragged`` (none for an empty sentence); statistics: int32 ``[S, 9]``.
    """

    arcs: Ragged
    statistics: np.ndarray

    @property
    def bleu(self) -> float:
        """Corpus BLEU (0 to 1)."""
        return bleu(self.statistics)

    @property
    def mean_sentence_bleu(self) -> float:
        """Mean BLEU+1 of the sentences (0 to 1)."""
        return float(sentence_bleu(self.statistics).mean()) if len(self.statistics) else 0.0


def sentence_oracle(lattices: FlatLattices, references: Ragged, beam: int = BEAM) -> LatticeOracle:
    """The derivation of each sentence with the highest BLEU+1.

    references: int32 ``Ragged``, in the ids of the lattices' words (``encode_references``); beam: partial translations
    kept at a node, 0 for all.
    """
    return corpus_oracle(lattices, references, beam, rounds=0)


def corpus_oracle(lattices: FlatLattices, references: Ragged, beam: int = BEAM, rounds: int = ROUNDS) -> LatticeOracle:
    """Derivations with a corpus BLEU that no exchange of one of them, as far as the beam sees, improves.

    An approximation of the best corpus BLEU: it starts from the sentence-level oracle and goes over the sentences, each
    time replacing a derivation by the one that gives the highest corpus BLEU together with those of all the others,
    until a round changes nothing or ``rounds`` are done. BLEU never falls.
    """
    found = [_search(lattices, references, s, PLUS_ONE, beam) for s in range(len(lattices))]
    total: np.ndarray = np.add.reduce([statistics for _, statistics in found], axis=0, dtype=np.int64)
    for _ in range(rounds):
        changed = False
        for sentence, (_, old) in enumerate(found):
            others = (total - old).astype(np.float64)
            arcs, new = _search(lattices, references, sentence, others, beam)
            if bleu(total - old + new) > bleu(total):
                found[sentence] = arcs, new
                total += new - old
                changed = True
        if not changed:
            break
    statistics = np.array([row for _, row in found], dtype=np.int32).reshape(-1, SIZE)
    return LatticeOracle(Ragged.from_lists([arcs for arcs, _ in found]), statistics)


def _search(
    lattices: FlatLattices, references: Ragged, sentence: int, background: np.ndarray, beam: int
) -> tuple[np.ndarray, np.ndarray]:
    reference = np.ascontiguousarray(references[sentence], dtype=np.int32)
    first, last = lattices.node_offsets[sentence : sentence + 2]
    if first == last:
        statistics = np.zeros(SIZE, dtype=np.int32)
        statistics[REFERENCE_LENGTH] = len(reference)
        return np.zeros(0, dtype=np.int32), statistics
    arcs = lattices.arc_offsets[first : last + 1], lattices.tails, lattices.words.arrays
    gains, beam = _gains(background, len(reference)), beam if beam > 0 else np.iinfo(np.int64).max
    return _search_lattice(*arcs, first, reference, background, gains, beam)


def _gains(background: np.ndarray, length: int) -> np.ndarray:
    """float64 ``[5]``: gradient of log BLEU by the matches of each order, and minus that by a word more.

    Taken where the background is joined by a good translation of ``length`` words; half of the brevity penalty counts,
    as the length is about that of the reference there.
    """
    orders = np.arange(ORDER)
    totals = background[TOTALS] + np.maximum(length - orders, 1)
    matches = background[MATCHES] + PRECISION * DECAY**orders * np.maximum(length - orders, 1)
    reference = background[REFERENCE_LENGTH] + length
    cost = (1 / totals).mean() - 0.5 / max(reference, 1)
    return np.concatenate([1 / (ORDER * matches), [cost]])


def encode_references(
    references: Sequence[Sequence[str]], vocabulary: Vocabulary, unknown_words: Sequence[str]
) -> Ragged:
    """Tokens of references as ids, int32 ``Ragged``.

    vocabulary: the target vocabulary; unknown_words: words that the decoder copies, which it numbers beyond the
    vocabulary (``PreparedSentences.unknown_words``). All other words get ids of their own that no translation holds.
    """
    copied = {word: len(vocabulary) + i for i, word in enumerate(unknown_words)}
    others: dict[str, int] = {}

    def number(word: str) -> int:
        known = vocabulary.index.get(word, copied.get(word))
        return known if known is not None else others.setdefault(word, -2 - len(others))

    return Ragged.from_lists([number(word) for word in reference] for reference in references)


class ReferenceAutomaton(NamedTuple):
    """One state per distinct n-gram (orders 1 to 4) of a reference; 0 is the empty one. G states, V distinct words.

    words: int32 ``[V]``, sorted ids; successor: int32 ``[G, V + 1]``: after a state and a word (column V: any word that
    is not in the reference), the longest n-gram of the reference that ends there; suffix: int32 ``[G]``, the n-gram
    without its first word; order, count: int32 ``[G]``, its words, and how often the reference holds it; context: int32
    ``[G]``, what the future depends on: the state itself, or its suffix at the highest order.
    """

    words: np.ndarray
    successor: np.ndarray
    suffix: np.ndarray
    order: np.ndarray
    count: np.ndarray
    context: np.ndarray


@kernel
def build_automaton(reference: np.ndarray) -> ReferenceAutomaton:
    """The automaton (Aho and Corasick 1975) of a reference, int32 ids."""
    words = np.unique(reference)
    most = 1 + ORDER * len(reference)
    child = np.full((most, len(words) + 1), -1, dtype=np.int32)
    order, count = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    parent, last = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    states = 1
    for n in range(1, ORDER + 1):  # shorter n-grams get lower numbers
        for start in range(len(reference) - n + 1):
            state = np.int64(0)
            for position in range(start, start + n - 1):
                state = np.int64(child[state, np.searchsorted(words, reference[position])])
            word = np.searchsorted(words, reference[start + n - 1])
            if child[state, word] < 0:
                child[state, word] = states
                parent[states], last[states], order[states] = state, word, n
                states += 1
            count[child[state, word]] += 1
    suffix = np.zeros(states, dtype=np.int32)
    successor = np.zeros((states, len(words) + 1), dtype=np.int32)
    for state in range(states):
        if order[state] > 1:
            suffix[state] = successor[suffix[parent[state]], last[state]]
        for word in range(len(words)):
            if child[state, word] >= 0:
                successor[state, word] = child[state, word]
            elif state > 0:
                successor[state, word] = successor[suffix[state], word]
    context = np.arange(states).astype(np.int32)
    for state in range(states):
        if order[state] == ORDER:
            context[state] = suffix[state]
    return ReferenceAutomaton(words, successor, suffix, order[:states].copy(), count[:states].copy(), context)


@kernel
def column(words: np.ndarray, word: int) -> int:
    """The column of ``successor`` that a word id reads."""
    place = np.searchsorted(words, word)
    return place if place < len(words) and words[place] == word else len(words)


class _Partial(NamedTuple):
    """Partial translations, one row each.

    arc, before: int32, the arc into the node reached and the row extended (-1: none); state: int32 of the
    reference automaton; statistics: int32 ``[rows, 9]``; used: uint16 ``[rows, G]``, how often each n-gram of the
    reference is matched already, since matches are clipped; key: uint64, the sum of a code for each match, which is
    mixed with state and length only when compared.
    """

    arc: np.ndarray
    before: np.ndarray
    state: np.ndarray
    statistics: np.ndarray
    used: np.ndarray
    key: np.ndarray


@kernel
def _grown(partial: _Partial, rows: int) -> _Partial:
    """The same with room for ``rows`` in all."""
    if rows <= len(partial.arc):
        return partial
    rows = max(rows, 2 * len(partial.arc))
    return _Partial(
        enlarged(partial.arc, rows),
        enlarged(partial.before, rows),
        enlarged(partial.state, rows),
        enlarged(partial.statistics, rows),
        enlarged(partial.used, rows),
        enlarged(partial.key, rows),
    )


@leaf
def _match(
    automaton: ReferenceAutomaton, words: np.ndarray, used: np.ndarray, state: int, key: np.uint64, found: np.ndarray
) -> tuple[int, np.uint64, int]:
    """Read words (columns of the automaton) after a state, and count the n-grams matched in ``used`` (uint16 [G]).

    Returns the state, the key and the number of matches; ``found``: int32, room for these n-grams.
    """
    matches = 0
    for word in words:
        reached = np.int64(automaton.successor[state, word])
        ngram = reached
        while ngram > 0:
            if used[ngram] < automaton.count[ngram]:
                used[ngram] += 1
                key += mix(np.uint64(ngram))
                found[matches] = ngram
                matches += 1
            ngram = np.int64(automaton.suffix[ngram])
        state = np.int64(automaton.context[reached])
    return state, key, matches


@leaf
def _preview(
    automaton: ReferenceAutomaton, words: np.ndarray, partial: _Partial, before: int, gains: np.ndarray,
    found: np.ndarray,
) -> tuple[float, np.uint64]:  # fmt: skip
    """Linear BLEU and identity of the partial translation ``before`` with some words more, writing no row.

    Most extensions are dropped: writing only the chosen ones (``_extend``) halves the time. The n-grams matched on the
    way are counted in the row of ``before`` and then taken out again.
    """
    used = partial.used[before]
    state, key, matches = _match(automaton, words, used, np.int64(partial.state[before]), partial.key[before], found)
    length = partial.statistics[before, 1] + len(words)
    rank = -gains[ORDER] * length
    for n in range(ORDER):
        rank += gains[n] * partial.statistics[before, 2 * n]
    for i in range(matches):
        rank += gains[automaton.order[found[i]] - 1]
        used[found[i]] -= 1
    return rank, mix(key + mix(np.uint64((state << 32) | length)))


@kernel
def _extend(
    automaton: ReferenceAutomaton, words: np.ndarray, partial: _Partial, before: int, row: int, found: np.ndarray
) -> None:
    """Write the partial translation ``before`` with some words more (columns of the automaton) as ``row``."""
    statistics, used = partial.statistics[row], partial.used[row]
    statistics[:] = partial.statistics[before]
    used[:] = partial.used[before]
    state, key, matches = _match(automaton, words, used, np.int64(partial.state[before]), partial.key[before], found)
    for i in range(matches):
        statistics[2 * (automaton.order[found[i]] - 1)] += 1
    length = statistics[1] + len(words)
    for n in range(ORDER):
        statistics[2 * n + 1] = max(0, length - n)
    partial.state[row], partial.key[row] = state, key


@kernel
def _choose(rank: np.ndarray, identity: np.ndarray, beam: int) -> np.ndarray:
    """Which extensions to go on with, int64, ascending: different ones, the ``beam`` highest by ``rank``."""
    order = np.argsort(-rank, kind="mergesort")
    seen = {np.uint64(0)}
    chosen = np.empty(min(len(rank), beam), np.int64)
    taken = 0
    for i in order:
        if taken == len(chosen):
            break
        if identity[i] not in seen:
            seen.add(identity[i])
            chosen[taken] = i
            taken += 1
    return np.sort(chosen[:taken])


@kernel
def _search_lattice(
    arc_offsets: np.ndarray, tails: np.ndarray, texts: Lists, first_node: int, reference: np.ndarray,
    background: np.ndarray, gains: np.ndarray, beam: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Arcs (int32, first arc first) and statistics (int32 [9]) of the best derivation found in one lattice.

    arc_offsets int64 [M + 1], of its nodes, numbers of all arcs; tails int32, counted over all sentences like
    ``first_node``; texts: the words of all arcs; reference int32 ids; background float64 [9] is added to the
    statistics before BLEU is taken; gains float64 [5]: what a match of each order is worth, and what a word costs,
    where partial translations are compared.
    """
    words, word_offsets = texts
    automaton = build_automaton(reference)
    first_word = word_offsets[arc_offsets[0]]
    read = np.empty(word_offsets[arc_offsets[-1]] - first_word, np.int32)
    for i in range(len(read)):
        read[i] = column(automaton.words, words[first_word + i])
    nodes = len(arc_offsets) - 1
    start = np.zeros(1, np.int32)
    counts, used = np.zeros((1, SIZE), np.int32), np.zeros((1, len(automaton.order)), np.uint16)
    partial = _grown(_Partial(start, start - 1, start, counts, used, np.zeros(1, np.uint64)), 256)
    ranges = np.zeros(nodes + 1, np.int64)
    ranges[1] = 1
    found = np.empty(ORDER * len(read), np.int32)
    for node in range(1, nodes):
        count = 0
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            tail = np.int64(tails[arc]) - first_node
            count += ranges[tail + 1] - ranges[tail]
        arcs, befores = np.empty(count, np.int32), np.empty(count, np.int32)
        rank, identity = np.empty(count), np.empty(count, np.uint64)
        count = 0
        for arc in range(arc_offsets[node], arc_offsets[node + 1]):
            tail = np.int64(tails[arc]) - first_node
            added = read[word_offsets[arc] - first_word : word_offsets[arc + 1] - first_word]
            for before in range(ranges[tail], ranges[tail + 1]):
                rank[count], identity[count] = _preview(automaton, added, partial, before, gains, found)
                arcs[count], befores[count] = arc, before
                count += 1
        chosen = _choose(rank, identity, beam if node < nodes - 1 else count)
        partial = _grown(partial, ranges[node] + len(chosen))
        for i in range(len(chosen)):
            row, arc, before = ranges[node] + i, np.int64(arcs[chosen[i]]), np.int64(befores[chosen[i]])
            added = read[word_offsets[arc] - first_word : word_offsets[arc + 1] - first_word]
            _extend(automaton, added, partial, before, row, found)
            partial.arc[row], partial.before[row] = arc, before
        ranges[node + 1] = ranges[node] + len(chosen)
    best, best_value = ranges[nodes - 1], -np.inf
    for row in range(ranges[nodes - 1], ranges[nodes]):
        partial.statistics[row, REFERENCE_LENGTH] = len(reference)
        value = log_bleu(partial.statistics[row], background)
        if value > best_value:
            best, best_value = row, value
    statistics = partial.statistics[best].copy()
    statistics[REFERENCE_LENGTH] = len(reference)
    path = np.empty(nodes, np.int32)
    length = 0
    row = best
    while partial.before[row] >= 0:
        path[length] = partial.arc[row]
        length += 1
        row = np.int64(partial.before[row])
    return path[:length][::-1].copy(), statistics
