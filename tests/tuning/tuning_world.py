"""Small worlds to tune in: random candidate lists, and a decoder whose features partly know what is good."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from neural_smt.bleu import bleu
from neural_smt.io.files import read_lines
from neural_smt.tuning.candidates import Candidates

FEATURES = 6


@dataclass
class Entry:
    tokens: list[str]
    features: np.ndarray


@dataclass
class Translation:
    tokens: list[str]
    nbest: list[Entry] = field(default_factory=list)


class World:
    """Sentences with a fixed pool of candidates each; decoding returns the best few under some weights."""

    def __init__(self, seed: int, sentences: int = 20, pool: int = 120, nbest: int = 10):
        generator = np.random.default_rng(seed)
        words = np.array([f"w{i}" for i in range(50)])
        self.nbest = nbest
        self.calls = 0
        self.references = [list(generator.choice(words, size=generator.integers(8, 16))) for _ in range(sentences)]
        self.pools = [
            [self._corrupt(reference, words, generator) for _ in range(pool)] for reference in self.references
        ]

    @staticmethod
    def _corrupt(reference: list[str], words: np.ndarray, generator: np.random.Generator) -> Entry:
        share = generator.uniform(0.0, 0.6)
        spoilt = generator.random(len(reference)) < share
        tokens = [
            str(generator.choice(words)) if bad else str(word) for word, bad in zip(reference, spoilt, strict=True)
        ]
        features = generator.normal(size=FEATURES) * np.array([1.0, 3.0, 1.0, 2.0, 1.0, 1.0])
        features[0] -= 0.6 * spoilt.sum()
        features[3] += 0.9 * spoilt.sum()
        features[5] = 7.0  # the same for all candidates, like the unknown-word penalty
        return Entry(tokens, features.astype(np.float32))

    def decode(self, weights: np.ndarray) -> list[Translation]:
        self.calls += 1
        translations = []
        for pool in self.pools:
            scores = np.array([entry.features @ weights for entry in pool])
            best = np.argsort(-scores, kind="stable")[: self.nbest]
            translations.append(Translation(pool[best[0]].tokens, [pool[i] for i in best]))
        return translations


def random_candidates(seed: int, sentences: int = 5, features: int = 3, whole: bool = False) -> Candidates:
    """Lists of 0 to 12 candidates; with ``whole``, feature 1 has small integer values, so that lines are parallel."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, 13, sentences)
    owners = np.repeat(np.arange(sentences), sizes)
    values = generator.normal(size=(len(owners), features))
    totals = generator.integers(4, 12, (len(owners), 1)) - np.arange(4)
    if whole:
        values[:, 1] = np.round(2 * values[:, 1])
    matches = np.sort(generator.integers(0, totals + 1), axis=1)[:, ::-1]
    matches = np.minimum(matches, totals)
    statistics = np.zeros((len(owners), 9), dtype=np.int32)
    statistics[:, 0:8:2], statistics[:, 1:8:2] = matches, totals
    statistics[:, 8] = np.repeat(generator.integers(5, 12, sentences), sizes)
    words = generator.integers(0, 2**63, len(owners)).astype(np.uint64)
    return Candidates.empty(sentences, features).extended(owners, words, values, statistics)


def read_moses_lists(path: Path, kind: type) -> tuple[np.ndarray, np.ndarray]:
    """Candidate lists as Moses' tuning scripts keep them (``features.dat``, ``scores.dat``): the sentence of each
    candidate, int32 ``[N]``, and its numbers, ``[N, F]``.
    """
    sentences, rows = [], []
    for line in read_lines(path):
        if "_BEGIN_0" in line:
            sentence = int(line.split()[1])
        elif "_END_0" not in line:
            sentences.append(sentence)
            rows.append(np.array(line.split(), dtype=kind))
    return np.array(sentences, dtype=np.int32), np.array(rows, dtype=kind)


def bleu_at(candidates: Candidates, weights: np.ndarray) -> float:
    """Corpus BLEU of the candidates with the highest score, found one sentence after the other."""
    scores = candidates.features.astype(np.float64) @ weights
    chosen = []
    for start, stop in zip(candidates.offsets[:-1], candidates.offsets[1:], strict=True):
        if start < stop:
            chosen.append(start + int(np.argmax(scores[start:stop])))
    return bleu(candidates.statistics[chosen])
