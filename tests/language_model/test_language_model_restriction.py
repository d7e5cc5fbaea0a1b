"""The part of a model that a text asks for: the same probabilities to the last bit, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neural_smt.io.ragged import Ragged
from neural_smt.language_model import ngrams
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, measure_perplexity
from neural_smt.language_model.ngrams import restrict_tables
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary

WORDS = Vocabulary.from_sentences(["a b c d e f"])
IDS = [number for number in range(len(WORDS)) if number not in (BOS, EOS)]
SENTENCES = st.lists(st.lists(st.sampled_from(IDS), max_size=7), min_size=1, max_size=8)


@pytest.mark.parametrize("prune", [(), (0, 1)])
@given(text=SENTENCES.filter(lambda sentences: any(map(any, sentences))), asked=SENTENCES, order=st.integers(1, 4))
def test_a_text_has_the_same_probabilities(
    prune: tuple[int, ...], text: list[list[int]], asked: list[list[int]], order: int
) -> None:
    tables = estimate(Ragged.from_lists(text), order, prune[:order], vocabulary_size=len(WORDS) - 1).tables
    sentences = Ragged.from_lists(asked)
    whole, part = (NgramModel.from_tables(some, WORDS) for some in (tables, restrict_tables(tables, sentences)))
    for measured, expected in zip(part.score_sentences(sentences), whole.score_sentences(sentences), strict=True):
        np.testing.assert_array_equal(measured, expected)
    assert measure_perplexity(part, sentences) == measure_perplexity(whole, sentences)


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_what_the_text_does_not_ask_for_is_left_out(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "BLOCK", block)
    tables = estimate(WORDS.encode(["a b c", "b c d", "c d d"]), 3).tables
    unigrams, bigrams, trigrams = restrict_tables(tables, WORDS.encode(["b c", "e"]))
    assert len(unigrams) == len(tables[0])
    b, c = WORDS.index["b"], WORDS.index["c"]
    assert {tuple(row) for row in bigrams.words.tolist()} == {(BOS, b), (b, c), (c, EOS)}
    assert {tuple(row) for row in trigrams.words.tolist()} == {(BOS, b, c), (b, c, EOS)}
    place = int(np.flatnonzero((tables[1].words == bigrams.words[0]).all(axis=1))[0])
    assert bigrams.log10_prob[0] == tables[1].log10_prob[place] and bigrams.backoff[0] == tables[1].backoff[place]


def test_words_that_the_model_lacks_are_asked_for_as_the_unknown_one() -> None:
    tables = estimate(Ragged.from_lists([[4, UNK, 5], [4, UNK, 5]]), 3).tables
    part = restrict_tables(tables, Ragged.from_lists([[4, 7, 5]]))
    assert [4, UNK, 5] in part[2].words.tolist()
