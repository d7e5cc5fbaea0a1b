"""Small worlds to tune in: random candidate lists, and a decoder whose features partly know what is good."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neural_smt.bleu import bleu
from neural_smt.decoding.translations import NBestList
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import read_lines, read_yaml
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.tuning.candidates import Candidates
from neural_smt.tuning.loop import Progress

CASES = read_yaml(Path(__file__).with_name("cases.yaml"))
FEATURES = 6
WORDS = 50


def tuning_settings(**settings: object) -> Settings:
    """The section ``tuning`` with these settings."""
    return section_settings("tuning", settings)


class Decoding:
    """A function that decodes with weights; calls: how often it has; survives: after so many it is killed."""

    def __init__(self, decode: Callable[[np.ndarray], Any]):
        self.decode, self.calls, self.survives = decode, 0, -1

    def __call__(self, weights: np.ndarray) -> Any:
        if self.calls == self.survives:
            raise KeyboardInterrupt
        self.calls += 1
        return self.decode(weights)


def outcome(progress: Progress) -> tuple:
    """What a run ends with, but for its times."""
    listed = progress.candidates if isinstance(progress.candidates, Candidates) else progress.candidates.candidates
    iterations = [replace(iteration, decode_seconds=0, mert_seconds=0) for iteration in progress.iterations]
    return progress.weights, iterations, listed.digests.tolist()


def killed_and_resumed(tune: Callable[[Path], Progress], decode: Decoding, folder: Path) -> Progress:
    """The progress of a run, which must be that of runs killed after any number of passes and started again."""
    decode.calls = 0
    whole = tune(folder / "whole")
    assert decode.calls == len(whole.iterations) > 1
    for survived in range(len(whole.iterations)):
        decode.calls, decode.survives = 0, survived
        with pytest.raises(KeyboardInterrupt):
            tune(folder / str(survived))
        decode.calls, decode.survives = 0, -1
        assert outcome(tune(folder / str(survived))) == outcome(whole)
        assert decode.calls == len(whole.iterations) - survived
    return whole


class World:
    """Sentences with a fixed pool of candidates each; decoding returns the best few under some weights."""

    def __init__(self, seed: int, sentences: int = 20, pool: int = 120, nbest: int = 10):
        generator = np.random.default_rng(seed)
        self.nbest = nbest
        self.decode = Decoding(self._translate)
        references = [generator.integers(0, WORDS, generator.integers(8, 16)) for _ in range(sentences)]
        self.references = Ragged.from_lists(references)
        self.pools = [[corrupted(reference, generator) for _ in range(pool)] for reference in references]

    def _translate(self, weights: np.ndarray) -> list[NBestList]:
        lists = []
        for pool in self.pools:
            features = np.stack([values for _, values in pool])
            scores = features @ weights
            best = np.argsort(-scores, kind="stable")[: self.nbest]
            words = Ragged.from_lists([pool[i][0] for i in best])
            lists.append(NBestList(features[best], scores[best], words, []))
        return lists


def corrupted(reference: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The words of a candidate, some of which are wrong, and its features: two count these, one is the same for all,
    like the unknown-word penalty.
    """
    wrong = generator.random(len(reference)) < generator.uniform(0.0, 0.6)
    words = np.where(wrong, generator.integers(0, WORDS, len(reference)), reference)
    features = generator.normal(size=FEATURES) * [1.0, 3.0, 1.0, 2.0, 1.0, 1.0]
    features += wrong.sum() * np.array([-0.6, 0, 0, 0.9, 0, 0])
    features[5] = 7.0
    return words, features.astype(np.float32)


def random_candidates(seed: int, sentences: int = 5, features: int = 3, whole: bool = False) -> Candidates:
    """Lists of 0 to 12 candidates; with ``whole``, feature 1 has small integer values, so that lines are parallel."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, 13, sentences)
    values = generator.normal(size=(sizes.sum(), features))
    totals = generator.integers(4, 12, (len(values), 1)) - np.arange(4)
    if whole:
        values[:, 1] = np.round(2 * values[:, 1])
    matches = np.minimum(np.sort(generator.integers(0, totals + 1), axis=1)[:, ::-1], totals)
    return candidates_of(values, matches, totals, np.repeat(generator.integers(5, 12, sentences), sizes), sizes)


def candidates_of(
    values: np.ndarray, matches: np.ndarray, totals: np.ndarray, references: np.ndarray, sizes: np.ndarray
) -> Candidates:
    """Lists of these sizes; values: ``[N, F]``; matches, totals: ``[N, 4]``; references: ``[N]``, lengths."""
    counts = np.stack([matches, totals], axis=2).reshape(-1, 8)
    statistics = np.column_stack([counts, references]).astype(np.int32)
    return Candidates(values.astype(np.float32), statistics, np.zeros(len(values), np.uint64), offsets_of(sizes))


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


def best_of_each(candidates: Candidates, weights: np.ndarray) -> np.ndarray:
    """int32 ``[S]``: the candidate of each sentence with the highest score; -1 for none."""
    scores = candidates.features.astype(np.float64) @ weights
    parts = zip(candidates.offsets[:-1], candidates.offsets[1:], strict=True)
    return np.array([start + np.argmax(scores[start:stop]) if start < stop else -1 for start, stop in parts], np.int32)


def bleu_at(candidates: Candidates, weights: np.ndarray) -> float:
    """Corpus BLEU of the candidates with the highest score."""
    best = best_of_each(candidates, weights)
    return bleu(candidates.statistics[best[best >= 0]])
