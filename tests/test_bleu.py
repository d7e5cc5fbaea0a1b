"""BLEU: statistics counted by hand, scores beside sacreBLEU's."""

import math
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from neural_smt.bleu import bleu, brevity_penalty, corpus_statistics, sentence_bleu
from neural_smt.io.files import read_yaml


def random_corpus(seed: int, sentences: int = 60) -> tuple[list[str], list[str], list[str]]:
    """Hypotheses and two references of a tiny vocabulary, so that n-grams repeat; some hypotheses are empty."""
    generator = np.random.default_rng(seed)

    def text(low: int) -> list[str]:
        lengths = generator.integers(low, 15, sentences)
        return [" ".join(generator.choice(list("abc"), size=length)) for length in lengths]

    return text(0), text(1), text(1)


@pytest.mark.parametrize(
    ("hypothesis", "references", "expected"), read_yaml(Path(__file__).with_name("bleu_statistics.yaml"))
)
def test_statistics_counted_by_hand(hypothesis: str, references: list[str], expected: list[int]) -> None:
    words = [hypothesis.split(), *(reference.split() for reference in references)]
    ids = [np.array([sum(map(ord, word)) for word in text], dtype=np.int32) for text in words]
    for texts in (words, ids, [array.tolist() for array in ids]):
        (found,) = corpus_statistics(*([text] for text in texts))
        assert found.tolist() == expected


def test_no_sentences_and_no_matches() -> None:
    assert corpus_statistics([], []).shape == (0, 9)
    assert bleu(np.array([0, 0, 0, 0, 0, 0, 0, 0, 2])) == bleu(np.array([3, 5, 2, 4, 1, 3, 0, 2, 5])) == 0.0


def test_scores_in_numbers() -> None:
    """Of a corpus, not smoothed; of sentences, with one added above unigrams."""
    statistics = np.array([[6, 8, 4, 7, 3, 6, 2, 5, 10], [4, 4, 3, 3, 2, 2, 1, 1, 4]])
    assert bleu(statistics) == pytest.approx(math.exp(1 - 14 / 12) * (10 / 12 * 7 / 10 * 5 / 8 * 3 / 6) ** 0.25, 1e-12)
    assert bleu(statistics) == pytest.approx(0.553107, abs=1e-6)
    assert brevity_penalty(statistics) == pytest.approx(0.846482, abs=1e-6)
    rows = np.array([[3, 5, 2, 4, 1, 3, 0, 2, 6], [0] * 9])
    expected = math.exp(1 - 6 / 5) * (3 / 5 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert sentence_bleu(rows).tolist() == [pytest.approx(expected, rel=1e-12), 0.0]


@pytest.mark.parametrize("seed", range(4))
def test_corpus_bleu_is_sacrebleu(seed: int) -> None:
    hypotheses, *references = random_corpus(seed)
    for lines in (references[:1], references):
        statistics = corpus_statistics(*([line.split() for line in text] for text in (hypotheses, *lines)))
        theirs = sacrebleu.corpus_bleu(hypotheses, lines, tokenize="none", smooth_method="none", force=True)
        assert 100 * bleu(statistics) == pytest.approx(theirs.score, abs=1e-9)
        total = statistics.sum(axis=0).tolist()
        assert (total[:8:2], total[1:8:2], total[8]) == (theirs.counts, theirs.totals, theirs.ref_len)


def test_corpora_must_have_as_many_references() -> None:
    with pytest.raises(ValueError, match="shorter"):
        corpus_statistics([["a"], ["b"]], [["a"]])
    with pytest.raises(ValueError, match="at least one reference"):
        corpus_statistics([["a"]])
