"""Search graphs in the text format of Moses (``-output-search-graph`` and ``-output-search-graph-extended``).

One line per hypothesis: ``sentence hyp=7 stack=3 back=4 score=-1.2 transition=-0.3 forward=9 fscore=-2.1 covered=2-2
out=words``. A hypothesis that was recombined has ``recombined=W`` and stands for one more way into W. ``score`` is that
of the best derivation up to the hypothesis, ``transition`` its last step, ``forward`` the hypothesis that the best
completion goes through next (-1: none) and ``fscore`` the score of that completion. Natural logs.

As in Moses only hypotheses that lead to a complete translation are listed. They are numbered here in the order of
their lines, and the last translation is always one hypothesis: those that end the sentence are recombined.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from neural_smt.decoding.features import DISTORTION, REORDERING, FeatureSet
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.vocabulary import Vocabulary


def search_graph_lines(
    lattices: Iterable[Lattice | None], vocabulary: Vocabulary, first: int = 0, extended: bool = False
) -> Iterator[str]:
    """The lines of the search graphs of sentences numbered from ``first``.

    vocabulary: the target vocabulary; extended: with feature values, ``scores="core=(...)"``, in the order of the
    ``moses.ini`` files that we and Moses' training write, and with the source phrase: ``out="source|target"``.
    """
    for number, lattice in enumerate(lattices, start=first):
        if lattice is not None:
            yield from _graph_lines(number, lattice, vocabulary, extended)


def core_columns(features: FeatureSet) -> list[int]:
    """The columns of a feature vector in the order of ``core=(...)``: stateless, reordering, distortion, models."""
    stateful = [REORDERING] if REORDERING in features else []
    names = [f.name for f in features if not f.stateful] + stateful + [DISTORTION, *features.language_models]
    names += [f.name for f in features if f.name not in names]
    return [column for name in names for column in range(features.size)[features.slices[name]]]


def _completions(lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    """Best score from each node to the end (float64 ``[M]``), and the arc it takes (int64 ``[M]``, -1: none)."""
    nodes = len(lattice.ranges)
    rest, following = np.full(nodes, -np.inf), np.full(nodes, -1)
    rest[-1] = 0.0
    heads, scores = lattice.heads.tolist(), lattice.scores.tolist()
    for arc in range(len(scores) - 1, -1, -1):
        tail = lattice.tails[arc]
        total = rest[heads[arc]] + scores[arc]
        if total > rest[tail]:
            rest[tail], following[tail] = total, arc
    return rest, following


def _graph_lines(number: int, lattice: Lattice, vocabulary: Vocabulary, extended: bool) -> Iterator[str]:
    """Hypothesis 0 is the empty one; the arc a is hypothesis a + 1, and the first arc into a node stands for it."""
    rest, following = _completions(lattice)
    yield f"{number} hyp=0 stack=0 forward={following[0] + 1} fscore={rest[0]:.3f}"
    words = lattice.spell(vocabulary)
    covered = _covered_words(lattice)
    features = lattice.features(np.arange(len(words)))[:, core_columns(lattice.weighted.features)] if extended else None
    scores, heads, tails = lattice.scores, lattice.heads, lattice.tails
    tokens = lattice.weighted.prepared.tokens[lattice.sentence]
    for arc, phrase in enumerate(words):
        head, tail = int(heads[arc]), int(tails[arc])
        winner = int(lattice.arc_offsets[head])
        back = int(lattice.arc_offsets[tail]) + 1 if tail else 0
        recombined = f" recombined={winner + 1}" if arc != winner else ""
        start, stop = int(lattice.starts[arc]), int(lattice.stops[arc])
        line = (
            f"{number} hyp={arc + 1} stack={covered[head]} back={back} score={lattice.prefix_scores[arc]:.3f} "
            f"transition={scores[arc]:.3f}{recombined} forward={following[head] + 1 or -1} fscore={rest[head]:.3f} "
            f"covered={start}-{stop - 1}"
        )
        if features is None:
            yield f"{line} out={' '.join(phrase)}"
        else:
            core = ",".join(f"{value:.3f}" for value in features[arc].tolist())
            yield f'{line} scores="core=({core}) " out="{" ".join(tokens[start:stop])}|{" ".join(phrase)}"'


def _covered_words(lattice: Lattice) -> list[int]:
    """How many source words each node has translated."""
    covered = [0] * len(lattice.ranges)
    for node in range(1, len(covered)):
        arc = int(lattice.arc_offsets[node])
        covered[node] = covered[lattice.tails[arc]] + int(lattice.stops[arc] - lattice.starts[arc])
    return covered
