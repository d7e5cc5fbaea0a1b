"""N-grams written down in tests, random and real text, and comparing models by all that they hold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neural_smt.io.files import read_lines, read_yaml
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import EOS, RESERVED, Vocabulary

FOLDER = Path(__file__).parent
CASES = read_yaml(FOLDER / "cases.yaml")

WORDS = Vocabulary([*RESERVED, *map(str, range(40))], [0] * 43)
"""The words of ``random_text``."""


def random_text(count: int = 300, seed: int = 5, words: int = 40, shortest: int = 1) -> Ragged:
    """Sentences of up to 13 words, some of which are frequent."""
    generator = np.random.default_rng(seed)
    return Ragged.from_lists([3 + generator.zipf(1.5, size=n) % words for n in generator.integers(shortest, 14, count)])


def real_text(shared: Path) -> tuple[list[str], Vocabulary]:
    """2,000 French sentences, and their words."""
    lines = read_lines(shared / "oracle/extraction/train.fr.gz")
    return lines, Vocabulary.from_sentences(lines)


def walk(model: NgramModel, sentence: Sequence[int] | np.ndarray, state: int | None = None) -> list[tuple[float, int]]:
    """log10 and the state after each word, ``</s>`` last, from the state after ``<s>`` or another one."""
    steps, state = [], model.begin_state if state is None else state
    for word in [*map(int, sentence), EOS]:
        log10_prob, state = model.score_word(state, word)
        steps.append((log10_prob, state))
    return steps


def ngrams(words: Sequence[Sequence[int]], log10_prob: object = -1, backoff: object = 0) -> NgramTable:
    """A table of n-grams; log10_prob, backoff: one for each, or one for all."""
    values = (np.broadcast_to(np.float32(value), len(words)).copy() for value in (log10_prob, backoff))
    return NgramTable(np.array(words, dtype=np.int32), *values)


def assert_same_ngrams(ours: Sequence[NgramTable], theirs: Sequence[NgramTable], tolerance: float) -> None:
    """The same n-grams, ours in the order of their words, and values that are at most ``tolerance`` apart."""
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        by_words = np.lexsort(their.words.T[::-1])
        assert np.array_equal(our.words, their.words[by_words])
        np.testing.assert_allclose(our.log10_prob, their.log10_prob[by_words], atol=tolerance)
        np.testing.assert_allclose(our.backoff, their.backoff[by_words], atol=tolerance)
