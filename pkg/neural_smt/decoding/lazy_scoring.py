"""Scores of a stateful feature for the hypotheses that are extended, when they first are.

Of the hypotheses of a stack, less than half ever have an heir that survives. Where a fallback language model stands in
for a feature, a hypothesis therefore keeps that model's score of its last phrase until candidates of a later stack
extend it; then all arcs into it are scored, its best arc is chosen anew, and the candidates' scores move with its own.
So every arc on the way to a complete translation is scored in the end, and what leads nowhere costs the network
nothing.
"""

import numpy as np

from neural_smt.decoding.buffer_primitives import CANDIDATES, Buffer
from neural_smt.decoding.primitives import PENDING, SCORED, Options, Stacks, write_history
from neural_smt.decoding.stacks import Arcs
from neural_smt.jit import kernel

CLAIMED, REVISED = 2, 3
"""What ``Hypotheses.pending`` says while hypotheses are being scored."""


@kernel
def claim_parents(stacks: Stacks, buffer: Buffer) -> None:
    """Mark the hypotheses that candidates of the buffer extend and that the feature has not scored yet."""
    pending = stacks.hypotheses.pending
    for candidate in range(buffer.counts[1, CANDIDATES]):
        if pending[buffer.parent[candidate]] == PENDING:
            pending[buffer.parent[candidate]] = CLAIMED


@kernel
def claim_complete(lengths: np.ndarray, stacks: Stacks) -> None:
    """Mark the complete hypotheses; lengths: int64 [B], words of the sentences."""
    for sentence in range(len(lengths)):
        first, last = stacks.ranges[sentence, lengths[sentence]]
        for coverage in range(first, last):
            stacks.hypotheses.pending[stacks.coverages.first[coverage] : stacks.coverages.last[coverage]] = CLAIMED


@kernel
def arcs_into_claimed(first: int, last: int, stacks: Stacks, arcs: Arcs) -> tuple[np.ndarray, np.ndarray]:
    """The arcs into marked hypotheses of the stacks ``first`` to ``last - 1``, int64 [n], and their sentences."""
    sentences = arcs.ranges.shape[1] - 1
    most = arcs.ranges[last - 1, sentences] - arcs.ranges[first, 0]
    chosen, owners = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    count = 0
    for size in range(first, last):
        for sentence in range(sentences):
            for arc in range(arcs.ranges[size, sentence], arcs.ranges[size, sentence + 1]):
                if stacks.hypotheses.pending[arcs.head[arc]] == CLAIMED:
                    chosen[count] = arc
                    owners[count] = sentence
                    count += 1
    return chosen[:count].copy(), owners[:count].copy()


@kernel
def revise(
    chosen: np.ndarray, scores: np.ndarray, weight: float, options: Options, stacks: Stacks, arcs: Arcs, buffer: Buffer
) -> np.ndarray:
    """Put the feature's scores in place of those of the fallback model: in arcs, in marked hypotheses they lead to,
    and in the candidates that extend these.

    chosen: int64 [n], all arcs into marked hypotheses; scores: float64 [n], the feature's, unweighted. Returns for
    each of these hypotheses, which of the arcs is the best (int64).
    """
    hypotheses = stacks.hypotheses
    best, ways = np.empty(len(chosen), dtype=np.int64), np.empty(len(hypotheses.score), dtype=np.int64)
    for candidate in range(buffer.counts[1, CANDIDATES]):
        parent = buffer.parent[candidate]
        if hypotheses.pending[parent] == CLAIMED:
            buffer.score[candidate] -= hypotheses.score[parent]
    for i in range(len(chosen)):
        arc = chosen[i]
        arcs.score[arc] += weight * (scores[i] - arcs.extra[arc])
        arcs.extra[arc] = scores[i]
        head = arcs.head[arc]
        if hypotheses.pending[head] == CLAIMED or arcs.score[arc] > hypotheses.score[head]:
            hypotheses.pending[head] = REVISED
            hypotheses.score[head] = arcs.score[arc]
            hypotheses.option[head] = arcs.option[arc]
            ways[head] = i
            write_history(hypotheses.history, head, arcs.tail[arc], options, arcs.option[arc])
    for candidate in range(buffer.counts[1, CANDIDATES]):
        parent = buffer.parent[candidate]
        if hypotheses.pending[parent] == REVISED:
            buffer.score[candidate] += hypotheses.score[parent]
    count = 0
    for i in range(len(chosen)):
        head = arcs.head[chosen[i]]
        if hypotheses.pending[head] == REVISED:
            hypotheses.pending[head] = SCORED
            best[count] = ways[head]
            count += 1
    return best[:count].copy()
