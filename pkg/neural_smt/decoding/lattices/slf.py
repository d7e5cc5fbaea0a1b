"""Lattices in the Standard Lattice Format of HTK (The HTK Book, version 3.4, chapter 20), one file per sentence.

Links carry one word each (``W=``) and a score (``a=``, natural log, weighted): a phrase becomes a chain of links with
its score on the first. Recombined hypotheses are links into the node that won, and scores are those of single steps,
so that the best path of the file is the best translation (Moses' own writer gives cumulative scores). With features,
``x1=``, ``x2=``, ... on the same link are the unweighted values that make up ``a``.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.io.files import atomic, open_text
from neural_smt.vocabulary import Vocabulary

NULL = "!NULL"
"""The word of a link without words."""


def write_slf(
    folder: Path,
    lattices: Iterable[Lattice | None],
    vocabulary: Vocabulary,
    features: bool = False,
    gzipped: bool = False,
) -> None:
    """Write ``0.slf``, ``1.slf``, ... (``.slf.gz``) into a new folder, atomically; an empty sentence has one node."""
    suffix = ".slf.gz" if gzipped else ".slf"
    with atomic(folder, directory=True) as temporary:
        for number, lattice in enumerate(lattices):
            with open_text(temporary / f"{number}{suffix}", "w") as stream:
                stream.writelines(f"{line}\n" for line in slf_lines(number, lattice, vocabulary, features))


def slf_lines(number: int, lattice: Lattice | None, vocabulary: Vocabulary, features: bool = False) -> Iterator[str]:
    """The lines of one file; vocabulary: the target vocabulary."""
    lengths = np.zeros(0, dtype=np.int64) if lattice is None else lattice.words.lengths
    last = 0 if lattice is None else len(lattice.ranges) - 1
    nodes, links = last + 1 + int(np.maximum(lengths - 1, 0).sum()), int(np.maximum(lengths, 1).sum())
    yield from ("VERSION=1.1", f"UTTERANCE={number}", "base=2.718281828459045")
    if lattice is not None and features:
        names = lattice.weighted.features.names
        for i, (name, weight) in enumerate(zip(names, lattice.weighted.vector.tolist(), strict=True), start=1):
            yield f"# x{i} is {name}, weight {weight:.8g}"
    yield f"start=0 end={last}"
    yield f"NODES={nodes} LINKS={links}"
    yield from (f"I={node}" for node in range(nodes))
    if lattice is not None:
        yield from _link_lines(lattice, vocabulary, features)


def _link_lines(lattice: Lattice, vocabulary: Vocabulary, features: bool) -> Iterator[str]:
    """A line per word; nodes inside phrases are numbered after those of the lattice."""
    inner, number = len(lattice.ranges), 0
    spelling = cache(quoted)
    arcs = zip(lattice.tails.tolist(), lattice.heads.tolist(), lattice.spell(vocabulary), strict=True)
    for (tail, end, words), scores in zip(arcs, _scores(lattice, features), strict=True):
        for word in words[:-1]:
            yield f"J={number} S={tail} E={inner} W={spelling(word)} {scores}"
            tail, scores = inner, "a=0"
            inner += 1
            number += 1
        yield f"J={number} S={tail} E={end} W={spelling(words[-1]) if words else NULL} {scores}"
        number += 1


def _scores(lattice: Lattice, features: bool) -> Iterator[str]:
    """The weighted score of each arc and, on request, its feature values."""
    if not features:
        return (f"a={score:.8g}" for score in lattice.scores.tolist())
    values = lattice.features(np.arange(len(lattice.tails)))
    form = " ".join(["a=%.8g", *(f"x{i}=%.8g" for i in range(1, values.shape[1] + 1))])
    return (form % (score, *row) for score, row in zip(lattice.scores.tolist(), values.tolist(), strict=True))


def quoted(word: str) -> str:
    """A word as HTK reads it: backslashes and quotes are escaped by a backslash."""
    return "".join(f"\\{c}" if c in "\\\"'" else c for c in word)
