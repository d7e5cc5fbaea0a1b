"""Lattices in the Standard Lattice Format of HTK (The HTK Book, version 3.4, chapter 20), one file per sentence.

Links carry one word each (``W=``) and a score (``a=``, natural log, weighted): a phrase becomes a chain of links with
its score on the first. Recombined hypotheses are links into the node that won, and scores are those of single steps,
so that the best path of the file is the best translation (Moses' own writer gives cumulative scores). With features,
``x1=``, ``x2=``, ... on the same link are the unweighted values that make up ``a``.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.files import atomic, open_text
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
    links = [] if lattice is None else list(_links(lattice, vocabulary, features))
    nodes = 1 + max((max(link[:2]) for link in links), default=0)
    yield from ("VERSION=1.1", f"UTTERANCE={number}", "base=2.718281828459045")
    if lattice is not None and features:
        names = lattice.weighted.features.names
        for i, (name, weight) in enumerate(zip(names, lattice.weighted.vector.tolist(), strict=True), start=1):
            yield f"# x{i} is {name}, weight {weight:.8g}"
    yield f"start=0 end={0 if lattice is None else len(lattice.ranges) - 1}"
    yield f"NODES={nodes} LINKS={len(links)}"
    yield from (f"I={node}" for node in range(nodes))
    for i, (tail, head, word, scores) in enumerate(links):
        yield f"J={i} S={tail} E={head} W={quoted(word)} {scores}"


def _links(lattice: Lattice, vocabulary: Vocabulary, features: bool) -> Iterator[tuple[int, int, str, str]]:
    """Tail, head, word and scores of every link; nodes inside phrases are numbered after those of the lattice."""
    values = lattice.features(np.arange(len(lattice.tails))) if features else None
    inner = len(lattice.ranges)
    scores = lattice.scores.tolist()
    for arc, words in enumerate(lattice.spell(vocabulary)):
        tail, end = int(lattice.tails[arc]), int(lattice.heads[arc])
        for position, word in enumerate(words or [NULL]):
            last = position + 1 >= len(words)
            head = end if last else inner
            listed = f"a={scores[arc]:.8g}" if position == 0 else "a=0"
            if values is not None and position == 0:
                listed += "".join(f" x{i}={value:.8g}" for i, value in enumerate(values[arc].tolist(), start=1))
            yield tail, head, word, listed
            tail = head
            inner += not last


def quoted(word: str) -> str:
    """A word as HTK reads it: backslashes and quotes are escaped by a backslash."""
    return "".join(f"\\{c}" if c in "\\\"'" else c for c in word)
