"""The search against all derivations counted out, on tiny random models; and nothing is scored or searched twice."""

import itertools
import signal
import threading
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import EVERYTHING, GROUPS, TARGET, all_derivations, random_decoder, random_model, random_ngrams

from neural_smt.decoding.batches import NewHypotheses, StatefulFeature
from neural_smt.decoding.scorers.ngrams import NgramFeature
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.translations import translate
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.model import NgramModel
from neural_smt.vocabulary import BOS, EOS

SENTENCES = [["a", "b", "c", "a"], ["c", "unknown", "b", "a", "b"], ["b"], ["x", "a", "b"]]


def search_all(algorithm: str, limit: int = 6) -> Settings:
    return EVERYTHING.replace(algorithm=algorithm, distortion_limit=limit)


def assert_lists_equal(translation, expected, limit):
    """The same scores in the same order, and the same derivations wherever scores do not tie."""
    assert len(translation.nbest) == min(limit, len(expected))
    scores = [[entry.score for entry in part] for part in (translation.nbest, expected[:limit])]
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-4)
    remaining = list(expected)
    for entry in translation.nbest:
        alike = [e for e in remaining if e.tokens == tuple(entry.tokens)]
        found = [e for e in alike if np.allclose(e.features, entry.features, rtol=1e-4, atol=1e-4)]
        assert found, f"{entry} is no derivation"
        remaining.remove(found[0])
    assert translation.tokens == translation.nbest[0].tokens
    assert translation.score == translation.nbest[0].score


def assert_finds_everything(decoder, listed, limit=6, feature=None, sentences=SENTENCES):
    """The n-best lists of the sentences are the best of all derivations within the distortion limit; feature: scores
    words as that of the decoder does.
    """
    settings = decoder.feature_set, decoder.vector, 63 if limit < 0 else limit, feature or decoder.feature
    translations = decoder.decode(sentences, nbest=listed, distinct=False)
    for sentence, translation in zip(sentences, translations, strict=True):
        assert_lists_equal(translation, all_derivations(decoder.model, sentence, *settings), listed)


class LastWords(StatefulFeature):
    """A made-up feature of two words of context, the words added, and the end of the sentence."""

    name = "Made0"
    history = 2

    def __init__(self, fallback_lm=None, lazy=True):
        self.fallback_lm, self.lazy = fallback_lm, lazy

    def __call__(self, batch):
        new = zip(batch.history.tolist(), batch.words, batch.complete, strict=True)
        return np.array([self._value([*before, *words.tolist()], ends) for before, words, ends in new])

    def whole(self, words):
        return self._value([1, 1, *(i for _, i in words)], True)

    @staticmethod
    def _value(words, ends):
        words = [i if i < len(TARGET) else 0 for i in words]
        steps = zip(words, words[1:], words[2:], strict=False)
        return sum((3 * a + 5 * b + 7 * c) % 11 / -5 for a, b, c in steps) - ends * (words[-1] % 3) / 2


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
@pytest.mark.parametrize(
    ("seed", "limit", "options"),
    [
        *((seed, 6, {}) for seed in range(4)),
        *((11, limit, {}) for limit in (0, 1, 2, -1)),
        *((5, 6, {"features": features}) for features in (GROUPS[:2], (*GROUPS, "encoder_decoder"))),
        (5, 6, {"language_models": 2}),
        *((7, 6, {"feature": LastWords(*how), "weight": 0.7}) for how in ((None,), ("LM0",), ("LM0", False))),
    ],
)
def test_every_derivation_is_found_in_order(algorithm, seed, limit, options):
    assert_finds_everything(random_decoder(seed, search_all(algorithm, limit), **options), 500, limit)


def test_quantised_language_models_are_searched_as_exact_ones():
    model, weights = random_model(5)
    coded = NgramModel.from_tables(random_ngrams(np.random.default_rng(5)), TARGET, quantise=True)
    assert_finds_everything(Decoder(replace(model, language_models=(coded,)), search_all("cube"), weights), 500)


def test_no_distance_exceeds_the_limit():
    """Of six words, each may come within the limit of the first gap, and yet too far behind the last phrase."""
    assert_finds_everything(random_decoder(3, search_all("stack", 3)), 500, 3, sentences=[list("mnopqr")])


def test_few_pops_find_the_best_and_are_all_made():
    sizes = {}, {"stack_size": 8, "pop_limit": 8}
    found = [random_decoder(3, search_all("cube").replace(**s)).decode(SENTENCES[:2], 9, False) for s in sizes]
    assert [t.score for t in found[0]] == pytest.approx([t.score for t in found[1]])
    assert min(len(t.nbest) for t in found[1]) >= 8


@pytest.mark.parametrize("seed", range(3))
def test_distinct_lists_keep_the_best_of_each_string(seed):
    decoder = random_decoder(seed, search_all("stack"))
    for sentence, translation in zip(SENTENCES, decoder.decode(SENTENCES, nbest=20), strict=True):
        distinct = {}
        for derivation in all_derivations(decoder.model, sentence, decoder.feature_set, decoder.vector)[:400]:
            distinct.setdefault(derivation.tokens, derivation)
        assert_lists_equal(translation, list(distinct.values())[:20], 20)


def test_feature_sees_the_stack_of_every_sentence_at_once():
    seen = []

    class Watch(LastWords):
        def __call__(self, batch):
            seen.append(set(batch.sentences.tolist()))
            return np.full(len(batch.sentences), -1.0)

    for translation in random_decoder(7, feature=Watch()).decode(SENTENCES, traced=1):
        # its column follows LexicalReordering0 (6), Distortion0 and LM0
        assert translation.features[8] == -len(translation.trace.segmentation)
    assert seen[0] == {0, 1, 2, 3} and len(seen) == max(map(len, SENTENCES))


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_feature_with_a_fallback_scores_once_what_is_extended(algorithm):
    scored = {}

    class Watch(LastWords):
        def __call__(self, batch):
            scored[how] = scored.get(how, 0) + len(batch.sentences)
            return super().__call__(batch)

    sentences = [sentence * 3 for sentence in SENTENCES]
    settings = SearchSettings(algorithm=algorithm, stack_size=10, pop_limit=30)
    scores = {}
    for how in ((None, True), ("LM0", True), ("LM0", False)):
        decoder = random_decoder(7, settings, Watch(*how), 0.2)
        lattices = [lattice for lattice in decoder.lattices(sentences) if lattice]
        scores[how] = np.mean([lattice.prefix_scores.max() for lattice in lattices])
        for translation in (translate(lattice, decoder.model, 10, False)[0] for lattice in lattices):
            for entry in translation.nbest:  # a score from scratch, on every way through the lattice
                assert entry.score == pytest.approx(float(entry.features @ decoder.vector), abs=1e-4)
                ids = [(token, TARGET.words.index(token) if token in TARGET else len(TARGET)) for token in entry.tokens]
                assert entry.features[decoder.column] == pytest.approx(decoder.feature.whole(ids), abs=1e-4)
    assert scored["LM0", True] < 0.7 * min(scored[None, True], scored["LM0", False])
    assert min(scores["LM0", True], scores["LM0", False]) > scores[None, True] - 0.5


def test_search_with_pruning_is_close_and_repeats_itself():
    generator = np.random.default_rng(0)
    sentences = [generator.choice(["a", "b", "c", "d"], generator.integers(0, 30)).tolist() for _ in range(40)]
    small = {"stack_size": 20, "pop_limit": 50}
    one, two = (random_decoder(3, SearchSettings(**small), threads=n).decode(sentences, 5, traced=1) for n in (1, 2))
    cube = random_decoder(3, SearchSettings(algorithm="cube", **small)).decode(sentences)
    best = random_decoder(3, SearchSettings(stack_size=2000)).decode(sentences)
    assert [t.tokens for t in one] == [t.tokens for t in two]
    assert [[e.score for e in t.nbest] for t in one] == [[e.score for e in t.nbest] for t in two]
    for translation, sentence in zip(one, sentences, strict=True):
        assert len(translation.nbest) >= 1
        covered = sorted(i for part in translation.trace.segmentation for i in range(*part[:2]))
        assert covered == list(range(len(sentence)))
    assert sum(t.score for t in best) >= sum(t.score for t in one) - 1e-4
    assert sum(t.score for t in best) >= sum(t.score for t in cube) - 1e-4


def test_empty_sentences_are_empty_and_unknown_words_copied():
    decoder = random_decoder(0)
    empty, unknown, again = decoder.decode([[], ["hello", "x", "c"], []], nbest=3, traced=1)
    assert empty.tokens == [] and empty.score == 0.0 and again.nbest[0].tokens == []
    assert unknown.tokens == ["hello", "x", "c"] and unknown.trace.alignment == [(0, 0), (1, 1), (2, 2)]
    assert unknown.features[decoder.feature_set.slices["UnknownWordPenalty0"]].tolist() == [-300.0]
    assert decoder.decode([]) == []


@pytest.mark.parametrize("traced", [0, 1, 3, 9])
def test_as_many_translations_as_were_asked_for_say_how_they_were_made(traced):
    translations = random_decoder(3).decode(SENTENCES, nbest=9, traced=traced)
    for translation, sentence in zip(translations, SENTENCES, strict=True):
        assert translation.trace.segmentation == translation.nbest[0].trace.segmentation
        made = [bool(entry.trace.segmentation) for entry in translation.nbest]
        assert made == [number < traced for number in range(len(made))]
        for entry in translation.nbest[:traced]:
            assert sorted(i for part in entry.trace.segmentation for i in range(*part[:2])) == [*range(len(sentence))]
            assert entry.trace.features.sum(axis=0) == pytest.approx(entry.features, abs=1e-4)


def test_prepared_sentences_serve_several_weights():
    (model, _), (_, others) = random_model(1), random_model(9)
    prepared, decoder = random_decoder(1).prepare(SENTENCES), Decoder(model, SearchSettings(), others)
    again, fresh = ([(t.tokens, t.score) for t in decoder.decode(given, nbest=4)] for given in (prepared, SENTENCES))
    assert again == fresh


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


@pytest.mark.parametrize("feature", [None, LastWords(), LastWords("LM0"), LastWords("LM0", lazy=False)])
@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_no_batch_sees_what_another_left_in_its_memory(algorithm, feature, monkeypatch):
    generator = np.random.default_rng(1)
    lengths = generator.permutation(np.repeat(np.arange(1, 13), 2))
    sentences = [generator.choice(["a", "b", "c", "x"], length).tolist() for length in lengths]
    decoder = random_decoder(5, SearchSettings(algorithm=algorithm, stack_size=9, pop_limit=20), feature)
    alone = [decoder.decode([sentence], nbest=5)[0] for sentence in sentences]
    monkeypatch.setattr("neural_smt.decoding.search.BATCH", 2)
    monkeypatch.setattr("neural_smt.decoding.search.FEATURE_BATCH", 2)
    for found, expected in zip(decoder.decode(sentences, nbest=5), alone, strict=True):
        assert [(e.tokens, e.score) for e in found.nbest] == [(e.tokens, e.score) for e in expected.nbest]


def test_equal_sentences_are_searched_once():
    sentences = [["a", "b"], ["c", "a"], [], ["a", "b"], ["a", "b"], []]
    seen = []

    class Watch(NgramFeature):
        def __call__(self, batch):
            seen.append(set(batch.sentences.tolist()))
            return super().__call__(batch)

    decoder = random_decoder(7, feature=Watch("Bigram0", 1, Counting()))
    translations = decoder.decode(sentences, nbest=5, traced=1)
    assert set().union(*seen) == {0, 1}
    single = [decoder.decode([sentence], nbest=5, traced=1)[0] for sentence in sentences]
    for found, expected in zip(translations, single, strict=True):
        assert [(e.tokens, e.score) for e in found.nbest] == [(e.tokens, e.score) for e in expected.nbest]
        assert found.trace.segmentation == expected.trace.segmentation
    lattices = decoder.lattices(sentences)
    assert [lattice and lattice.sentences.tolist() for lattice in lattices] == [[0], [1], None, [3], [4], None]
    assert lattices[0].tails is lattices[4].tails


@pytest.mark.parametrize(
    "limit, words, seconds", [(2000, 30, np.arange(0.2, 0.6, 0.1)), (5, 9, np.linspace(0.005, 0.025, 60))]
)
def test_a_search_can_be_interrupted(limit: int, words: int, seconds: Iterable[float], interruptible: None) -> None:
    """At any moment: also where Numba makes objects of what a kernel returns, in a search that is short after what is
    prepared for it.
    """
    settings = SearchSettings(algorithm="cube", stack_size=limit, pop_limit=limit, distortion_limit=-1)
    decoder, sentence = random_decoder(2, settings), ["a", "b", "c"] * (words // 3)
    decoder.decode([sentence])
    for moment in seconds:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(moment, signal.raise_signal, [signal.SIGINT]).start()
            while True:
                decoder.decode([sentence])
