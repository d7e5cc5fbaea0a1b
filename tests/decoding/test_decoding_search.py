"""The search against all derivations counted out, on tiny random models."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_models import EVERYTHING, GROUPS, TARGET, all_derivations, random_decoder, random_model, random_ngrams

from neural_smt.decoding.batches import StatefulFeature
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.experiment.settings import Settings
from neural_smt.language_model.model import NgramModel

SENTENCES = [["a", "b", "c", "a"], ["c", "unknown", "b", "a", "b"], ["b"], ["x", "a", "b"]]


def search_all(algorithm: str, limit: int = 6) -> Settings:
    return EVERYTHING.replace(algorithm=algorithm, distortion_limit=limit)


def assert_lists_equal(translation, expected, limit):
    """The same scores in the same order, and the same derivations wherever scores do not tie."""
    assert len(translation.nbest) == min(limit, len(expected))
    np.testing.assert_allclose(
        [entry.score for entry in translation.nbest], [e.score for e in expected[:limit]], rtol=1e-5, atol=1e-4
    )
    remaining = list(expected)
    for entry in translation.nbest:
        found = [
            e
            for e in remaining
            if e.tokens == tuple(entry.tokens) and np.allclose(e.features, entry.features, rtol=1e-4, atol=1e-4)
        ]
        assert found, f"{entry} is no derivation"
        remaining.remove(found[0])
    assert translation.tokens == translation.nbest[0].tokens
    assert translation.score == translation.nbest[0].score


def assert_finds_everything(decoder, listed, limit=6, feature=None):
    """The n-best lists of ``SENTENCES`` are the best of all derivations within the distortion limit; feature: scores
    words as that of the decoder does.
    """
    settings = decoder.feature_set, decoder.vector, 63 if limit < 0 else limit, feature or decoder.feature
    translations = decoder.decode(SENTENCES, nbest=listed, distinct=False)
    for sentence, translation in zip(SENTENCES, translations, strict=True):
        assert_lists_equal(translation, all_derivations(decoder.model, sentence, *settings), listed)


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
@pytest.mark.parametrize("seed", range(4))
def test_every_derivation_is_found_in_order(algorithm, seed):
    assert_finds_everything(random_decoder(seed, search_all(algorithm)), 500)


def test_quantised_language_models_are_searched_as_exact_ones():
    model, weights = random_model(5)
    coded = NgramModel.from_tables(random_ngrams(np.random.default_rng(5)), TARGET, quantise=True)
    assert_finds_everything(Decoder(replace(model, language_models=(coded,)), search_all("cube"), weights), 500)


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
@pytest.mark.parametrize("limit", [0, 1, 2, -1])
def test_distortion_limit(algorithm, limit):
    assert_finds_everything(random_decoder(11, search_all(algorithm, limit)), 300, limit)


@pytest.mark.parametrize(("features", "models"), [(GROUPS[:2], 1), ((*GROUPS, "encoder_decoder"), 1), (GROUPS, 2)])
def test_feature_groups(features, models):
    decoder = random_decoder(5, search_all("stack"), features=features, language_models=models)
    assert_finds_everything(decoder, 200)


@pytest.mark.parametrize("seed", range(3))
def test_distinct_lists_keep_the_best_of_each_string(seed):
    decoder = random_decoder(seed, search_all("stack"))
    for sentence, translation in zip(SENTENCES, decoder.decode(SENTENCES, nbest=20), strict=True):
        distinct = {}
        for derivation in all_derivations(decoder.model, sentence, decoder.feature_set, decoder.vector)[:400]:
            distinct.setdefault(derivation.tokens, derivation)
        assert_lists_equal(translation, list(distinct.values())[:20], 20)


class LastWords(StatefulFeature):
    """A made-up feature of two words of context, the words added, and the end of the sentence."""

    name = "Made0"
    history = 2

    def __init__(self, fallback_lm=None):
        self.fallback_lm = fallback_lm

    def __call__(self, batch):
        values = []
        for i, history in enumerate(batch.history):
            words = [*history.tolist(), *batch.words[i].tolist()]
            values.append(self._value(words) + (self._end(words) if batch.complete[i] else 0.0))
        return np.array(values)

    def score(self, before, target):
        return self._value([1, 1, *(i for _, i in before)][-2:] + [i for _, i in target])

    def end(self, words):
        return self._end([1, 1, *(i for _, i in words)])

    @staticmethod
    def _value(words):
        words = [i if i < len(TARGET) else 0 for i in words]
        return sum(((3 * words[i - 2] + 5 * words[i - 1] + 7 * words[i]) % 11) / -5 for i in range(2, len(words)))

    @staticmethod
    def _end(words):
        return -(words[-1] % 3) / 2 if words[-1] < len(TARGET) else 0.0


@pytest.mark.parametrize("fallback_lm", [None, "LM0"])
@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_feature_is_part_of_every_score(algorithm, fallback_lm):
    assert_finds_everything(random_decoder(7, search_all(algorithm), LastWords(fallback_lm), 0.7), 300)


def test_feature_sees_the_stack_of_every_sentence_at_once():
    seen = []

    class Watch(LastWords):
        def __call__(self, batch):
            seen.append(set(batch.sentences.tolist()))
            return np.full(len(batch.sentences), -1.0)

    for translation in random_decoder(7, feature=Watch()).decode(SENTENCES):
        # its column follows LexicalReordering0 (6), Distortion0 and LM0
        assert translation.features[8] == -len(translation.segmentation)
    assert seen[0] == {0, 1, 2, 3} and len(seen) == max(map(len, SENTENCES))


@pytest.mark.parametrize("algorithm", ["stack", "cube"])
def test_feature_with_a_fallback_scores_once_what_is_extended(algorithm):
    scored = {}

    class Watch(LastWords):
        def __call__(self, batch):
            scored[self.fallback_lm] = scored.get(self.fallback_lm, 0) + len(batch.sentences)
            return super().__call__(batch)

    sentences = [sentence * 3 for sentence in SENTENCES]
    settings = SearchSettings(algorithm=algorithm, stack_size=10, pop_limit=30)
    scores = {}
    for fallback_lm in (None, "LM0"):
        decoder = random_decoder(7, settings, Watch(fallback_lm), 0.2)
        lattices = [lattice for lattice in decoder.lattices(sentences) if lattice]
        scores[fallback_lm] = np.mean([lattice.prefix_scores.max() for lattice in lattices])
        for translation in (decoder.translate(lattice, nbest=10, distinct=False) for lattice in lattices):
            for entry in translation.nbest:  # a score from scratch, on every way through the lattice
                assert entry.score == pytest.approx(float(entry.features @ decoder.vector), abs=1e-4)
                ids = [(token, TARGET.words.index(token) if token in TARGET else len(TARGET)) for token in entry.tokens]
                whole = decoder.feature.score([], ids) + decoder.feature.end(ids)
                assert entry.features[decoder.column] == pytest.approx(whole, abs=1e-4)
    assert scored["LM0"] < 0.7 * scored[None]
    assert scores["LM0"] > scores[None] - 0.5


def test_search_with_pruning_is_close_and_repeats_itself():
    generator = np.random.default_rng(0)
    sentences = [generator.choice(["a", "b", "c", "d"], generator.integers(0, 30)).tolist() for _ in range(40)]
    small = {"stack_size": 20, "pop_limit": 50}
    one, two = (random_decoder(3, SearchSettings(**small), threads=n).decode(sentences, nbest=5) for n in (1, 2))
    cube = random_decoder(3, SearchSettings(algorithm="cube", **small)).decode(sentences)
    best = random_decoder(3, SearchSettings(stack_size=2000)).decode(sentences)
    assert [t.tokens for t in one] == [t.tokens for t in two]
    assert [[e.score for e in t.nbest] for t in one] == [[e.score for e in t.nbest] for t in two]
    for translation, sentence in zip(one, sentences, strict=True):
        assert len(translation.nbest) >= 1
        covered = sorted(i for part in translation.segmentation for i in range(*part[:2]))
        assert covered == list(range(len(sentence)))
    assert sum(t.score for t in best) >= sum(t.score for t in one) - 1e-4
    assert sum(t.score for t in best) >= sum(t.score for t in cube) - 1e-4


def test_empty_sentences_are_empty_and_unknown_words_copied():
    decoder = random_decoder(0)
    empty, unknown, again = decoder.decode([[], ["hello", "x", "c"], []], nbest=3)
    assert empty.tokens == [] and empty.score == 0.0 and again.nbest[0].tokens == []
    assert unknown.tokens == ["hello", "x", "c"] and unknown.alignment == [(0, 0), (1, 1), (2, 2)]
    assert unknown.features[decoder.feature_set.slices["UnknownWordPenalty0"]].tolist() == [-300.0]
    assert decoder.decode([]) == []


def test_prepared_sentences_serve_several_weights():
    (model, _), (_, others) = random_model(1), random_model(9)
    prepared, decoder = random_decoder(1).prepare(SENTENCES), Decoder(model, SearchSettings(), others)
    again, fresh = ([(t.tokens, t.score) for t in decoder.decode(given, nbest=4)] for given in (prepared, SENTENCES))
    assert again == fresh
