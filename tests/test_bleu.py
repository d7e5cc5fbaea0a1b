"""BLEU: statistics counted by hand, scores beside sacreBLEU's."""

import math

import numpy as np
import pytest
import sacrebleu

from neural_smt.bleu import bleu, bleu_statistics, brevity_penalty, corpus_statistics, precisions, sentence_bleu


def random_corpus(seed: int, sentences: int = 60) -> tuple[list[str], list[str], list[str]]:
    """Hypotheses and two references of a tiny vocabulary, so that n-grams repeat; some hypotheses are empty."""
    generator = np.random.default_rng(seed)

    def text(low: int) -> list[str]:
        lengths = generator.integers(low, 15, sentences)
        return [" ".join(generator.choice(list("abc"), size=length)) for length in lengths]

    return text(0), text(1), text(1)


def test_statistics_counted_by_hand() -> None:
    hypothesis = ["the", "the", "the", "cat", "sat", "on", "the", "mat"]
    reference = ["the", "cat", "sat", "on", "the", "blue", "mat", "today"]
    # Unigrams: two of four "the", cat, sat, on, mat; bigrams: the cat, cat sat, sat on, on the; and so on.
    assert bleu_statistics(hypothesis, reference).tolist() == [6, 8, 4, 7, 3, 6, 2, 5, 8]


def test_ids_and_strings_count_alike() -> None:
    hypothesis, reference = [5, 7, 5, 9], [5, 7, 9, 5]
    words = [str(i) for i in hypothesis], [str(i) for i in reference]
    arrays = np.array(hypothesis, dtype=np.int32), np.array(reference, dtype=np.int32)
    assert bleu_statistics(hypothesis, reference).tolist() == [4, 4, 1, 3, 0, 2, 0, 1, 4]
    assert bleu_statistics(*words).tolist() == bleu_statistics(*arrays).tolist() == [4, 4, 1, 3, 0, 2, 0, 1, 4]


def test_short_and_empty_hypotheses() -> None:
    assert bleu_statistics(["a"], ["a", "b"]).tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 2]
    assert bleu_statistics([], ["a", "b"]).tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert bleu(bleu_statistics([], ["a", "b"])) == 0.0
    assert corpus_statistics([], []).shape == (0, 9)


def test_closest_reference_length_is_the_shorter_in_a_tie() -> None:
    assert bleu_statistics(list("aaaa"), list("aaaaa"), list("aaa"))[-1] == 3
    assert bleu_statistics(list("aaaa"), list("a"), list("aaaaa"))[-1] == 5


def test_corpus_bleu_literal() -> None:
    statistics = np.array([[6, 8, 4, 7, 3, 6, 2, 5, 10], [4, 4, 3, 3, 2, 2, 1, 1, 4]])
    expected = math.exp(1 - 14 / 12) * (10 / 12 * 7 / 10 * 5 / 8 * 3 / 6) ** 0.25
    assert bleu(statistics) == pytest.approx(expected, rel=1e-12)
    assert bleu(statistics) == pytest.approx(0.553107, abs=1e-6)
    assert precisions(statistics).tolist() == [10 / 12, 7 / 10, 5 / 8, 3 / 6]
    assert brevity_penalty(statistics) == pytest.approx(0.846482, abs=1e-6)


def test_unsmoothed_bleu_is_zero_without_a_match() -> None:
    assert bleu(np.array([3, 5, 2, 4, 1, 3, 0, 2, 5])) == 0.0


def test_sentence_bleu_adds_one_above_unigrams() -> None:
    row = np.array([3, 5, 2, 4, 1, 3, 0, 2, 6])
    expected = math.exp(1 - 6 / 5) * (3 / 5 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert sentence_bleu(row) == pytest.approx(expected, rel=1e-12)
    assert sentence_bleu(np.stack([row, np.zeros(9, dtype=int)])).tolist() == [pytest.approx(expected), 0.0]


@pytest.mark.parametrize("seed", range(4))
def test_corpus_bleu_is_sacrebleu(seed: int) -> None:
    hypotheses, first, second = random_corpus(seed)
    for references in ([first], [first, second]):
        statistics = corpus_statistics(
            [line.split() for line in hypotheses], *([line.split() for line in lines] for lines in references)
        )
        theirs = sacrebleu.corpus_bleu(hypotheses, references, tokenize="none", smooth_method="none", force=True)
        assert 100 * bleu(statistics) == pytest.approx(theirs.score, abs=1e-9)
        assert statistics.sum(axis=0)[:8:2].tolist() == theirs.counts
        assert statistics.sum(axis=0)[1:8:2].tolist() == theirs.totals
        assert statistics.sum(axis=0)[8] == theirs.ref_len


def test_corpora_must_have_as_many_references() -> None:
    with pytest.raises(ValueError, match="shorter"):
        corpus_statistics([["a"], ["b"]], [["a"]])
    with pytest.raises(ValueError, match="at least one reference"):
        corpus_statistics([["a"]])
