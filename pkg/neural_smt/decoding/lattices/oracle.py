"""Oracle translations of lattices: the derivations with the highest BLEU against the reference.

Dynamic programming over the nodes. What the future of a partial translation depends on is its last words, as far as
they are an n-gram of the reference, the n-grams of the reference it has matched (they are clipped) and its length:
partial translations with the same node and the same of these are one. Without a beam the search is therefore exact;
with one, each node keeps those with the highest linear BLEU, the first-order gain of Tromble et al. (2008, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neural_smt.bleu import MATCHES, ORDER, REFERENCE_LENGTH, SIZE, TOTALS, bleu, sentence_bleu
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.oracle_kernels import search
from neural_smt.io.ragged import Ragged

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
    return _oracle([_search(lattices, references, s, _plus_one(), beam) for s in range(len(lattices))])


def corpus_oracle(lattices: FlatLattices, references: Ragged, beam: int = BEAM, rounds: int = ROUNDS) -> LatticeOracle:
    """Derivations with a corpus BLEU that no exchange of one of them, as far as the beam sees, improves.

    An approximation of the best corpus BLEU: it starts from the sentence-level oracle and goes over the sentences, each
    time replacing a derivation by the one that gives the highest corpus BLEU together with those of all the others,
    until a round changes nothing or ``rounds`` are done. BLEU never falls.
    """
    found = [_search(lattices, references, s, _plus_one(), beam) for s in range(len(lattices))]
    total = np.sum([statistics for _, statistics in found], axis=0, dtype=np.int64)
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
    return _oracle(found)


def _oracle(found: list[tuple[np.ndarray, np.ndarray]]) -> LatticeOracle:
    statistics = np.array([row for _, row in found], dtype=np.int32).reshape(-1, SIZE)
    return LatticeOracle(Ragged.from_lists([arcs for arcs, _ in found]), statistics)


def _plus_one() -> np.ndarray:
    """The background that turns BLEU into BLEU+1."""
    return np.array([0, 0, 1, 1, 1, 1, 1, 1, 0], dtype=np.float64)


def _search(
    lattices: FlatLattices, references: Ragged, sentence: int, background: np.ndarray, beam: int
) -> tuple[np.ndarray, np.ndarray]:
    reference = np.ascontiguousarray(references[sentence], dtype=np.int32)
    first, last = lattices.node_offsets[sentence : sentence + 2]
    if first == last:
        statistics = np.zeros(SIZE, dtype=np.int32)
        statistics[REFERENCE_LENGTH] = len(reference)
        return np.zeros(0, dtype=np.int32), statistics
    arc_offsets = lattices.arc_offsets[first : last + 1]
    return search(
        arc_offsets,
        lattices.tails,
        lattices.words.offsets,
        lattices.words.values,
        first,
        reference,
        background,
        _gains(background, len(reference)),
        beam if beam > 0 else np.iinfo(np.int64).max,
    )


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
