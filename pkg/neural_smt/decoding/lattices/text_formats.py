"""Lattices as text: the search graphs of Moses, and the Standard Lattice Format of HTK.

Search graphs (``-output-search-graph`` and ``-output-search-graph-extended``) have one line per hypothesis: ``sentence
hyp=7 stack=3 back=4 score=-1.2 transition=-0.3 forward=9 fscore=-2.1 covered=2-2 out=words``. A hypothesis that was
recombined has ``recombined=W`` and stands for one more way into W. ``score`` is that of the best derivation up to the
hypothesis, ``transition`` its last step, ``forward`` the hypothesis that the best completion goes through next (-1:
none) and ``fscore`` the score of that completion. Natural logs. As in Moses only hypotheses that lead to a complete
translation are listed. They are numbered here in the order of their lines, and the last translation is always one
hypothesis: those that end the sentence are recombined.

HTK's format (The HTK Book, version 3.4, chapter 20) has one file per sentence. Links carry one word each (``W=``) and a
score (``a=``, natural log, weighted): a phrase becomes a chain of links with its score on the first, and with the
unweighted feature values that make it up (``x1=``, ``x2=``, ...). Recombined hypotheses are links into the node that
won, and scores are those of single steps, so that the best path of the file is the best translation (Moses' own writer
gives cumulative scores).
"""

import math
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np

from neural_smt.decoding.features import DISTORTION, REORDERING, FeatureSet
from neural_smt.decoding.lattices.lattice import Lattice

NULL = "!NULL"
"""The word of a link without words."""


def search_graph_lines(lattices: Iterable[Lattice | None], first: int = 0, extended: bool = False) -> Iterator[str]:
    """The lines of the search graphs of sentences numbered from ``first``.

    extended: with feature values, ``scores="core=(...)"``, in the order of the
    ``moses.ini`` files that we and Moses' training write, and with the source phrase: ``out="source|target"``.
    """
    for number, lattice in enumerate(lattices, start=first):
        if lattice is not None:
            yield from _graph_lines(number, lattice, extended)


def core_columns(features: FeatureSet) -> list[int]:
    """The columns of a feature vector in the order of ``core=(...)``: stateless, reordering, distortion, models."""
    stateful = [REORDERING] if REORDERING in features else []
    names = [f.name for f in features if not f.stateful] + stateful + [DISTORTION, *features.language_models]
    names += [f.name for f in features if f.name not in names]
    return [column for name in names for column in range(features.size)[features.slices[name]]]


def _completions(lattice: Lattice) -> tuple[list[float], list[int]]:
    """Best score from each of the M nodes to the end, and the arc it takes (-1: none)."""
    nodes = len(lattice.ranges)
    rest, following = [-math.inf] * nodes, [-1] * nodes
    rest[-1] = 0.0
    heads, tails, scores = lattice.heads.tolist(), lattice.tails.tolist(), lattice.scores.tolist()
    for arc in range(len(scores) - 1, -1, -1):
        tail = tails[arc]
        total = rest[heads[arc]] + scores[arc]
        if total > rest[tail]:
            rest[tail], following[tail] = total, arc
    return rest, following


def _graph_lines(number: int, lattice: Lattice, extended: bool) -> Iterator[str]:
    """Hypothesis 0 is the empty one; the arc a is hypothesis a + 1, and the first arc into a node stands for it."""
    rest, following = _completions(lattice)
    yield f"{number} hyp=0 stack=0 forward={following[0] + 1} fscore={rest[0]:.3f}"
    covered, first_arcs = _covered_words(lattice), lattice.arc_offsets.tolist()
    tails, scores, totals = lattice.tails.tolist(), lattice.scores.tolist(), lattice.prefix_scores.tolist()
    starts, stops = lattice.starts.tolist(), lattice.stops.tolist()
    outputs = _outputs(lattice, extended)
    for node in range(1, len(covered)):
        winner = first_arcs[node]
        ahead = f"forward={following[node] + 1 or -1} fscore={rest[node]:.3f}"
        for arc in range(winner, first_arcs[node + 1]):
            back = first_arcs[tails[arc]] + 1 if tails[arc] else 0
            recombined = f" recombined={winner + 1}" if arc != winner else ""
            yield (
                f"{number} hyp={arc + 1} stack={covered[node]} back={back} score={totals[arc]:.3f} "
                f"transition={scores[arc]:.3f}{recombined} {ahead} covered={starts[arc]}-{stops[arc] - 1} "
                f"{next(outputs)}"
            )


def _outputs(lattice: Lattice, extended: bool) -> Iterator[str]:
    """The last fields of each arc's line: its target words or, extended, its feature values and words on both sides."""
    spelled = lattice.spell()
    if not extended:
        yield from (f"out={' '.join(words)}" for words in spelled)
        return
    tokens = lattice.weighted.prepared.tokens[lattice.sentences[0]]
    values = lattice.features(np.arange(len(lattice.tails)))[:, core_columns(lattice.weighted.features)]
    core = ",".join(["%.3f"] * values.shape[1])
    spans = zip(lattice.starts.tolist(), lattice.stops.tolist(), strict=True)
    for words, row, (start, stop) in zip(spelled, values.tolist(), spans, strict=True):
        yield f'scores="core=({core % tuple(row)}) " out="{" ".join(tokens[start:stop])}|{" ".join(words)}"'


def _covered_words(lattice: Lattice) -> list[int]:
    """How many source words each node has translated."""
    firsts, covered = lattice.arc_offsets[1:-1], [0]
    sizes = lattice.stops[firsts] - lattice.starts[firsts]
    for tail, size in zip(lattice.tails[firsts].tolist(), sizes.tolist(), strict=True):
        covered.append(covered[tail] + size)
    return covered


def slf_lines(number: int, lattice: Lattice | None) -> Iterator[str]:
    """The lines of the HTK file of one sentence (None: an empty one)."""
    yield from ("VERSION=1.1", f"UTTERANCE={number}", "base=2.718281828459045")
    if lattice is None:
        yield from ("start=0 end=0", "NODES=1 LINKS=0", "I=0")
        return
    lengths, last = lattice.words.lengths, len(lattice.ranges) - 1
    nodes, links = last + 1 + int(np.maximum(lengths - 1, 0).sum()), int(np.maximum(lengths, 1).sum())
    names = lattice.weighted.features.names
    for i, (name, weight) in enumerate(zip(names, lattice.weighted.vector.tolist(), strict=True), start=1):
        yield f"# x{i} is {name}, weight {weight:.8g}"
    yield from (f"start=0 end={last}", f"NODES={nodes} LINKS={links}")
    yield from (f"I={node}" for node in range(nodes))
    yield from _link_lines(lattice)


def _link_lines(lattice: Lattice) -> Iterator[str]:
    """A line per word; nodes inside phrases are numbered after those of the lattice."""
    inner, number = len(lattice.ranges), 0
    spelling = cache(quoted)
    arcs = zip(lattice.tails.tolist(), lattice.heads.tolist(), lattice.spell(), strict=True)
    for (tail, end, words), scores in zip(arcs, _scores(lattice), strict=True):
        for word in words[:-1]:
            yield f"J={number} S={tail} E={inner} W={spelling(word)} {scores}"
            tail, scores = inner, "a=0"
            inner, number = inner + 1, number + 1
        yield f"J={number} S={tail} E={end} W={spelling(words[-1]) if words else NULL} {scores}"
        number += 1


def _scores(lattice: Lattice) -> Iterator[str]:
    """The weighted score of each arc and its feature values."""
    values = lattice.features(np.arange(len(lattice.tails)))
    form = " ".join(["a=%.8g", *(f"x{i}=%.8g" for i in range(1, values.shape[1] + 1))])
    return (form % (score, *row) for score, row in zip(lattice.scores.tolist(), values.tolist(), strict=True))


def quoted(word: str) -> str:
    """A word as HTK reads it: backslashes and quotes are escaped by a backslash."""
    return "".join(f"\\{c}" if c in "\\\"'" else c for c in word)
