"""Lattices, and n-best lists drawn from them, rescored with a network (Auli et al. 2013, section 3, Figure 2).

Push-forward: every node keeps at most k network states, of distinct histories; equal ones recombine to the best. Nodes
are visited level by level, a level being the longest way from the start, and those of all sentences of a block
together: what follows their states is scored at once, and the state after an arc is computed only if the node it leads
to keeps it. The end of the sentence is predicted after the last node.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.decoding.lattices.flat import list_paths
from neural_smt.decoding.reranking import push_forward_kernels as kernels
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.scorers.interface import TargetNetwork, TargetText, TextScorer
from neural_smt.io.best import best_of_each
from neural_smt.io.ragged import Ragged, blocks, offsets_of
from neural_smt.io.sorting import inverse, sort_numbers
from neural_smt.networks.recurrent.scorer import writable
from neural_smt.networks.recurrent.tries import build_tries
from neural_smt.shards import in_threads
from neural_smt.vocabulary import BOS, EOS

BLOCK = 1 << 16
"""Words of arcs times states that a block of sentences may have; the same whatever the number of threads."""

PATHS = 4096
"""Paths scored at a time; all those of a sentence are."""

TIE = 1e-6
"""Totals (nats) no further from the best one are as good: their last digits depend on what is computed beside."""


@dataclass(frozen=True)
class LatticeScorer:
    """A network as the lattices of a text need it.

    feature: the name of its score; words: int32 ``[W]``, the words of the arcs in its ids.
    """

    lattices: AlignedLattices
    feature: str
    scorer: TextScorer
    words: np.ndarray

    @classmethod
    def of(
        cls, network: TargetNetwork, lattices: AlignedLattices, sentences: Sequence[list[str]] | None
    ) -> "LatticeScorer":
        """sentences: what the network reads of the text, if it reads something; ``UserError`` where they do not fit."""
        flat = lattices.flat
        words = network.ids(lattices.words)[flat.words.values]
        text = TargetText(sentences, np.arange(len(lattices)), words, flat.sentences_of_words, lattices.sets)
        return cls(lattices, network.feature, network.on(text), words)


@dataclass(frozen=True)
class Rescored:
    """The best path of every sentence under all features.

    arcs: int32 ``Ragged`` of S paths, first arc first (none for an empty sentence); scores: float64 ``[S]``, weighted;
    network: float64 ``[S]``, ln p by the network; evaluations: network states computed; arc_scores: float32
    ``[A]`` where lattices were rescored, ln p of the words of each arc after the best state of the node it leaves.
    """

    arcs: Ragged
    scores: np.ndarray
    network: np.ndarray
    evaluations: int
    arc_scores: np.ndarray | None = None


def push_forward(network: LatticeScorer, weights: np.ndarray, beam: int = 1, threads: int = 1) -> Rescored:
    """Rescore lattices.

    weights: float64 ``[F + 1]``, of the lattices' scores and of the network; beam: k, states kept at a node.
    """
    flat = network.lattices.flat
    scores = flat.scores(weights[:-1])
    _, most = kernels.level_nodes(flat.node_offsets, flat.arc_offsets, flat.tails, beam)
    work = offsets_of(flat.words.lengths * most[flat.tails])[flat.first_arcs]

    def rescore(block: tuple[int, int]) -> Rescored:
        return _rescore_block(network, scores, weights[-1], beam, *block)

    parts = in_threads(rescore, blocks(work, BLOCK), threads)
    return Rescored(
        Ragged.concatenate([Ragged.from_lists([]), *(part.arcs for part in parts)]),
        np.concatenate([np.zeros(0), *(part.scores for part in parts)]),
        np.concatenate([np.zeros(0), *(part.network for part in parts)]),
        sum(part.evaluations for part in parts),
        np.concatenate([np.zeros(0, np.float32), *(part.arc_scores for part in parts)]),
    )


def _rescore_block(
    network: LatticeScorer, scores: np.ndarray, weight: float, beam: int, first: int, last: int
) -> Rescored:
    lattices, flat, scorer = network.lattices, network.lattices.flat, network.scorer
    node_offsets = flat.node_offsets[first : last + 1] - flat.node_offsets[first]
    nodes = slice(*flat.node_offsets[[first, last]])
    offsets = flat.arc_offsets[nodes.start : nodes.stop + 1]
    part, offsets = slice(offsets[0], offsets[-1]), offsets - offsets[0]
    tails = writable(flat.tails[part] - np.int32(nodes.start), np.int32)
    level, most = kernels.level_nodes(node_offsets, offsets, tails, beam)
    root_node, _ = sort_numbers(level, int(level.max(initial=-1)) + 1)
    node_root = inverse(root_node)

    # What is predicted: the words of all arcs, then the end of each sentence, by the node that it is predicted at.
    places = slice(*flat.words.offsets[[part.start, part.stop]])
    filled, ends = np.flatnonzero(np.diff(node_offsets)), np.zeros(last - first, dtype=np.int64)
    ends[filled] = 1
    word_offsets = np.concatenate([flat.words.offsets[part.start : part.stop + 1], places.stop + np.cumsum(ends)])
    word_offsets -= places.start
    words = np.concatenate([network.words[places], np.full(len(filled), EOS, dtype=np.int32)])
    inputs, used_links = scorer.distinct(np.concatenate([lattices.links[places], lattices.ends[first + filled]]))
    at_node = np.concatenate([tails, np.full(last - first, -1, dtype=np.int32)])
    at_node[len(tails) + filled] = node_offsets[1:][filled] - 1
    predicted = np.concatenate([np.arange(len(tails)), len(tails) + filled])
    order, starts = sort_numbers(node_root[at_node[predicted]], len(root_node))
    order = predicted[order]
    sequences = Ragged(np.arange(len(words)), word_offsets).take(order)
    predictions, of_words = Ragged(words[sequences.values], sequences.offsets), inputs[sequences.values]
    tries = build_tries(level[root_node], starts, predictions, of_words, scorer.class_of_word)
    entries = np.full(len(at_node), -1, dtype=np.int32)
    entries[order] = tries.sequence_entry
    graph = node_offsets, root_node, node_root, offsets, tails
    arcs = kernels.Arcs(*graph, scores[part], word_offsets, words, inputs, entries)

    sentence = np.repeat(np.arange(first, last), np.diff(node_offsets))[root_node]
    walk = scorer.walk(tries, used_links, sentence, most[root_node])
    history = -1 if scorer.history is None else scorer.history
    states = _new_states(len(root_node), int(most.sum()))
    used = 0
    for number in range(len(tries.level_roots) - 1):
        roots = int(tries.level_roots[number]), int(tries.level_roots[number + 1])
        before = used
        used = kernels.settle_level(roots, arcs, weight, beam, history, tries, walk.rows, states, before)
        walk.score_level(number, states.row[before:used], states.word[before:used])
    path, path_offsets, totals, scored = kernels.trace_best(arcs, weight, walk.rows, states)
    path += np.int32(part.start)
    return Rescored(Ragged(path, path_offsets), totals, scored, walk.evaluations, kernels.best_scores(arcs, walk.rows))


def _new_states(roots: int, most: int) -> kernels.States:
    """Room for so many states; each is that of the start of a sentence until it is written."""
    return kernels.States(
        first=np.zeros(roots, dtype=np.int64),
        total=np.zeros(most),
        network=np.zeros(most),
        arc=np.full(most, -1, dtype=np.int32),
        before=np.full(most, -1, dtype=np.int32),
        row=np.zeros(most, dtype=np.int64),
        word=np.full(most, BOS, dtype=np.int32),
        key=np.zeros(most, dtype=np.uint64),
    )


def score_paths(
    network: LatticeScorer, paths: Ragged, sentences: np.ndarray, shared: bool = True
) -> tuple[np.ndarray, int]:
    """ln p of the translations of whole paths, float64 ``[n]``, and how many network states were computed.

    paths: int ``Ragged`` of n paths, arcs; sentences: int64 ``[n]``, rising, the sentence of each; shared: whether what
    the translations of a sentence begin with in common is computed once.
    """
    lattices = network.lattices
    places = Ragged(np.arange(len(network.words)), lattices.flat.words.offsets).take(paths.values)
    targets = Ragged(network.words[places.values], places.offsets[paths.offsets])
    links = np.repeat(lattices.ends[sentences], targets.lengths + 1)
    of_word = np.arange(len(places.values)) + np.repeat(np.arange(len(paths)), targets.lengths)
    links[of_word] = lattices.links[places.values]
    return network.scorer.score(targets, sentences, links, shared)


def rescore_lists(
    network: LatticeScorer, weights: np.ndarray, nbest: int, shared: bool = False, threads: int = 1
) -> Rescored:
    """The best of the ``nbest`` best distinct derivations of each sentence.

    These are best under the weights that the lattices were made with. weights: as for ``push_forward``; shared: see
    ``score_paths``.
    """
    lattices = network.lattices
    paths, first = list_paths(lattices.flat, lattices.made_with, nbest)
    sentences = np.repeat(np.arange(len(lattices)), np.diff(first))

    def score(block: tuple[int, int]) -> tuple[np.ndarray, int]:
        rows = np.arange(*first[list(block)])
        return score_paths(network, paths.take(rows), sentences[rows], shared)

    parts = in_threads(score, blocks(first, PATHS), threads)
    scored = np.concatenate([np.zeros(0), *(found for found, _ in parts)])
    totals = weights[-1] * scored
    if len(paths):
        totals += np.add.reduceat(lattices.flat.scores(weights[:-1])[paths.values], paths.offsets[:-1])
    filled = np.flatnonzero(np.diff(first))
    best = order_paths(totals, first)[first[filled]]
    scores, chosen = np.zeros((2, len(lattices)))
    scores[filled], chosen[filled] = totals[best], scored[best]
    lengths = np.zeros(len(lattices), dtype=np.int64)
    lengths[filled] = paths.lengths[best]
    arcs = Ragged(paths.take(best).values, offsets_of(lengths))
    return Rescored(arcs, scores, chosen, sum(evaluations for _, evaluations in parts))


def order_paths(totals: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The paths of each sentence from the highest total (float64 ``[n]``) to the lowest, int64 ``[n]``.

    first: int64 ``[S + 1]``, where those of each sentence start. Of totals as good as the best (``TIE``) the first one
    leads, so that the same translation is chosen whatever is scored in one go.
    """
    counts = np.diff(first)
    highest = np.repeat(np.maximum.reduceat(totals, first[:-1][counts > 0]), counts[counts > 0])
    ranked = np.where(totals >= highest - TIE, highest, totals)
    return best_of_each(ranked, first)[0]
