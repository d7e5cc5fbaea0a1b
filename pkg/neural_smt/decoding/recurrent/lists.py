"""N-best lists of lattices rescored with the recurrent model, every derivation from its beginning."""

from collections.abc import Iterator

import numpy as np

from neural_smt.decoding.lattices.kbest import list_paths
from neural_smt.decoding.recurrent.joint import JointModel, Rescored, in_threads
from neural_smt.decoding.recurrent.linked import LinkedLattices
from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.sequences import score_sequences
from neural_smt.vocabulary import EOS

PATHS = 4096
"""Paths scored at a time; all those of a sentence are."""

TIE = 1e-6
"""Totals (nats) no further from the best one are as good: their last digits depend on what is computed beside."""


def score_paths(
    lattices: LinkedLattices, model: JointModel, paths: Ragged, first: np.ndarray, shared: bool = True
) -> tuple[np.ndarray, int]:
    """ln p of the translations of whole paths, float64 ``[n]``, and how many hidden layers were computed.

    paths: int ``Ragged`` of n paths, arcs; first: int64 ``[S + 1]``, those of each sentence; shared: whether what the
    translations of a sentence begin with in common is computed once.
    """
    places = Ragged(np.arange(len(model.words)), lattices.flat.words.offsets).take(paths.values)
    offsets = places.offsets[paths.offsets]
    of_word = np.arange(len(places.values)) + np.repeat(np.arange(len(paths)), np.diff(offsets))
    offsets = offsets + np.arange(len(offsets))  # a place more for the end of each
    words = np.full(offsets[-1], EOS, dtype=np.int32)
    links = np.repeat(lattices.ends, np.diff(offsets[first]))
    words[of_word] = model.words[places.values]
    links[of_word] = lattices.links[places.values]
    groups = np.append(first[:-1][np.diff(first) > 0], len(paths))
    return score_sequences(model.scorer, Ragged(words, offsets), model.inputs, links, groups, shared)


def rescore_lists(
    lattices: LinkedLattices,
    model: JointModel,
    vector: np.ndarray,
    weight: float,
    nbest: int,
    shared: bool = False,
    threads: int = 1,
) -> Rescored:
    """The best of the ``nbest`` best distinct derivations of each sentence.

    These are best under the weights that the lattices were made with. vector: float64 ``[F]``, the weights of the
    lattices' scores; weight: that of the recurrent model; shared: see ``score_paths``.
    """
    paths, first = list_paths(lattices.flat, lattices.made_with, nbest)
    arc_scores = lattices.flat.scores(vector)

    def work(block: tuple[int, int]) -> Rescored:
        rows = np.arange(first[block[0]], first[block[1]])
        part, starts = paths.take(rows), np.zeros(len(first), dtype=np.int64)
        starts[block[0] : block[1] + 1] = first[block[0] : block[1] + 1] - first[block[0]]
        starts[block[1] + 1 :] = len(rows)
        recurrent, evaluations = score_paths(lattices, model, part, starts, shared)
        totals = weight * recurrent
        if len(rows):
            totals += np.add.reduceat(arc_scores[part.values], part.offsets[:-1])
        return _best_of_each(part, starts[block[0] : block[1] + 1], totals, recurrent, evaluations)

    return Rescored.joined(in_threads(work, _blocks(first), threads))


def _blocks(first: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of sentences with about ``PATHS`` paths."""
    start = 0
    while start < len(first) - 1:
        stop = max(start + 1, int(np.searchsorted(first, first[start] + PATHS, side="right")) - 1)
        yield start, stop
        start = stop


def _best_of_each(
    paths: Ragged, first: np.ndarray, totals: np.ndarray, recurrent: np.ndarray, evaluations: int
) -> Rescored:
    """The path with the highest total of every sentence, the first of equals."""
    count = len(first) - 1
    filled = np.diff(first) > 0
    best = order_paths(totals, first)[first[:-1][filled]]
    scores, chosen = np.zeros((2, count))
    scores[filled], chosen[filled] = totals[best], recurrent[best]
    arcs = paths.take(best)
    offsets = np.zeros(count + 1, dtype=np.int64)
    offsets[1:][filled] = arcs.lengths
    return Rescored(Ragged(arcs.values, np.cumsum(offsets)), scores, chosen, evaluations)


def order_paths(totals: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The paths of each sentence from the highest total (float64 ``[n]``) to the lowest, int64 ``[n]``.

    first: int64 ``[S + 1]``, where those of each sentence start. Of totals as good as the best (``TIE``) the first one
    leads, so that the same translation is chosen whatever is scored in one go.
    """
    counts = np.diff(first)
    if len(totals) == 0:
        return np.zeros(0, dtype=np.int64)
    highest = np.repeat(np.maximum.reduceat(totals, first[:-1][counts > 0]), counts[counts > 0])
    ranked = np.where(totals >= highest - TIE, highest, totals)
    return np.lexsort((-ranked, np.repeat(np.arange(len(counts)), counts)))
