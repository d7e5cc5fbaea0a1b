"""Sharing between hypotheses and between sentences: the same scores, and nothing scored or searched twice."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import TARGET, random_decoder

from neural_smt.decoding.batches import NewHypotheses
from neural_smt.decoding.scorers.ngrams import NgramFeature
from neural_smt.decoding.search import SearchSettings
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import BOS, EOS


def score_shared(score, history, words, complete, size=2):
    """What an n-gram model gives new hypotheses."""
    histories = np.array(history, dtype=np.int32).reshape(len(words), size)
    none = np.zeros(len(words), dtype=np.int64)
    batch = NewHypotheses(none, Ragged.from_lists(words), histories, np.array(complete, dtype=bool))
    return NgramFeature("Made0", size, score)(batch).tolist()


def test_shared_ngrams_of_three_hypotheses():
    queries = []

    def score(contexts, words):
        queries.extend(np.column_stack([contexts, words]).tolist())
        return 10.0 ** np.arange(len(words))

    found = score_shared(score, [[1, 3], [4, 3], [1, 3]], [[5, 6], [5], [5]], [False, False, True])
    assert queries == [[1, 3, 5], [3, 5, 6], [4, 3, 5], [3, 5, EOS]]
    assert found == [11.0, 100.0, 1001.0]


@settings(max_examples=100, derandomize=True)
@given(st.data())
def test_sharing_changes_no_score(data):
    size = data.draw(st.integers(0, 4))
    word = st.integers(3, 6)
    count = data.draw(st.integers(0, 12))
    history = [data.draw(st.lists(word, min_size=size, max_size=size)) for _ in range(count)]
    words = [data.draw(st.lists(word, max_size=4)) for _ in range(count)]
    complete = [data.draw(st.booleans()) for _ in range(count)]

    def score(contexts, words):
        rows = [tuple(row) for row in np.column_stack([contexts, words]).tolist()]
        assert len(set(rows)) == len(rows)
        return np.array([hash(row) % 1000 for row in rows], dtype=float)

    found = score_shared(score, history, words, complete, size)
    for total, before, added, ends in zip(found, history, words, complete, strict=True):
        text = before + added + [EOS] * ends
        assert total == sum(hash(tuple(text[i : i + size + 1])) % 1000 for i in range(len(text) - size))
    with pytest.raises(ValueError, match="need as many scores"):
        score_shared(lambda contexts, words: np.zeros(len(words) + 1), history, words, complete, size)


class Counting:
    """A bigram model that remembers the n-grams that it scored."""

    def __init__(self):
        self.calls = []

    def __call__(self, contexts, words):
        self.calls.append([tuple(row) for row in np.column_stack([contexts, words]).tolist()])
        return -((3.0 * contexts[:, 0] + words) % 7)


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_feature_scores_every_ngram_once_per_stack(algorithm):
    sentences = [["a", "b", "c", "a", "b"], ["b", "a", "b", "c"], ["a", "b", "a", "b", "a"]]
    counting = Counting()
    decoder = random_decoder(7, SearchSettings(algorithm=algorithm), NgramFeature("Bigram0", 1, counting))
    translations = decoder.decode(sentences, nbest=20, distinct=False)
    assert len(counting.calls) == 5  # stacks, whatever the number of sentences
    assert all(len(set(ngrams)) == len(ngrams) for ngrams in counting.calls)
    index = {word: number for number, word in enumerate(TARGET.words)} | {"c": len(TARGET)}  # c is copied
    for translation in translations:
        for entry in translation.nbest:
            ids = [BOS, *(index[token] for token in entry.tokens), EOS]
            expected = -sum((3 * before + word) % 7 for before, word in itertools.pairwise(ids))
            assert entry.features[decoder.column] == expected


def test_equal_sentences_are_searched_once():
    sentences = [["a", "b"], ["c", "a"], [], ["a", "b"], ["a", "b"], []]
    seen = []

    class Watch(NgramFeature):
        def __call__(self, batch):
            seen.append(set(batch.sentences.tolist()))
            return super().__call__(batch)

    decoder = random_decoder(7, feature=Watch("Bigram0", 1, Counting()))
    translations = decoder.decode(sentences, nbest=5)
    assert set().union(*seen) == {0, 1}
    single = [decoder.decode([sentence], nbest=5)[0] for sentence in sentences]
    for found, expected in zip(translations, single, strict=True):
        assert [(e.tokens, e.score) for e in found.nbest] == [(e.tokens, e.score) for e in expected.nbest]
        assert found.segmentation == expected.segmentation
    lattices = decoder.lattices(sentences)
    assert [lattice and lattice.sentences.tolist() for lattice in lattices] == [[0], [1], None, [3], [4], None]
    assert lattices[0].tails is lattices[4].tails
