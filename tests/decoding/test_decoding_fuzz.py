"""The search under random models, sentences and settings, and at the edges of what it accepts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_refused
from tiny_models import GROUPS, TARGET, build_table, list_rules, random_decoder, random_model

from neural_smt.decoding.features import Weights
from neural_smt.decoding.scorers.ngrams import NgramFeature
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.records import FILE
from neural_smt.language_model.model import NgramModel
from neural_smt.language_model.primitives import ARC

SYSTEMS = [GROUPS[:2], GROUPS, (*GROUPS, "encoder_decoder")]
ALGORITHMS = ["stack", "cube"]


def score_ngrams(contexts, words):
    return -0.3 * (words % 5) - contexts.sum(axis=1) % 3


def assert_sound(decoder, sentences, nbest, distinct=True):
    """Sentences have complete translations; returned."""
    translations = decoder.decode(sentences, nbest, distinct, traced=1)
    for sentence, translation in zip(sentences, translations, strict=True):
        assert_translated(decoder, sentence, translation, nbest, distinct)
    return translations


def assert_translated(decoder, sentence, translation, nbest, distinct):
    """A complete translation within the distortion limit, whose scores are its weighted features."""
    rules = list_rules(decoder.model, sentence)
    covered, previous, target, jumps = [], 0, 0, 0
    limit = 63 if decoder.settings.distortion_limit < 0 else decoder.settings.distortion_limit
    for start, stop, begin, end in translation.trace.segmentation:
        assert abs(start - previous) <= limit
        assert begin == target
        targets = [[word for word, _ in target] for target, _, _ in rules[start, stop]]
        assert translation.tokens[begin:end] in targets
        jumps += abs(start - previous)
        covered += range(start, stop)
        previous, target = stop, end
    assert sorted(covered) == list(range(len(sentence))) and target == len(translation.tokens)
    slices = decoder.feature_set.slices
    if sentence:
        assert translation.features[slices["Distortion0"]].tolist() == [-jumps]
        assert translation.features[slices["PhrasePenalty0"]].tolist() == [len(translation.trace.segmentation)]
        assert translation.features[slices["WordPenalty0"]].tolist() == [-len(translation.tokens)]
    for entry in [translation, *translation.nbest]:
        assert np.isfinite(entry.features).all() and math.isfinite(entry.score)
        size = np.abs(entry.features).astype(float) @ np.abs(decoder.vector)
        assert abs(entry.features @ decoder.vector - entry.score) <= 1e-4 + 1e-6 * size
    assert len(translation.nbest) <= nbest and bool(translation.nbest) == bool(nbest)
    scores = [entry.score for entry in translation.nbest]
    assert scores == sorted(scores, reverse=True)
    if nbest:
        assert translation.nbest[0].tokens == translation.tokens
        assert translation.nbest[0].score == translation.score
    if distinct:
        assert len({tuple(entry.tokens) for entry in translation.nbest}) == len(translation.nbest)


WORDS = st.sampled_from(["a", "b", "c", "x", "new", "other", "<unk>", "</s>", "|||"])
SENTENCES = st.lists(
    st.one_of(
        st.lists(WORDS, max_size=8),
        st.lists(WORDS, max_size=60),
        st.builds(lambda word, size: [word] * size, WORDS, st.integers(1, 60)),
    ),
    max_size=5,
)
SETTINGS = st.builds(
    SearchSettings,
    algorithm=st.sampled_from(ALGORITHMS),
    stack_size=st.integers(1, 50),
    beam_threshold=st.sampled_from([0.0, 1e-5, 0.1, 0.9]),
    distortion_limit=st.integers(-1, 10),
    table_limit=st.integers(0, 5),
    pop_limit=st.integers(1, 50),
)


@given(st.data())
def test_every_search_ends_with_a_sound_translation(data):
    models = {"language_models": data.draw(st.integers(1, 2)), "features": data.draw(st.sampled_from(SYSTEMS))}
    seed, history = data.draw(st.integers(0, 99)), data.draw(st.sampled_from([None, None, 0, 1, 3]))
    feature = None if history is None else NgramFeature("Made0", history, score_ngrams)
    nbest, distinct = data.draw(st.sampled_from([0, 1, 10])), data.draw(st.booleans())
    sentences, threads = data.draw(SENTENCES), data.draw(st.sampled_from([1, 2]))
    decoder = random_decoder(seed, data.draw(SETTINGS), feature, 0.4, threads=threads, **models)
    assert_sound(decoder, sentences, nbest, distinct)


@given(st.data())
def test_any_finite_weights_are_searched(data):
    """Weights of both signs, all zero, and so large that smaller scores vanish beside them."""
    model, weights = random_model(data.draw(st.integers(0, 9)))
    scale = data.draw(st.sampled_from([0.0, 1e-30, 1.0, 1e10, 1e30]))
    numbers = st.floats(-1, 1, allow_nan=False)
    size = model.feature_set.size
    vector = scale * np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)))
    weights = Weights.from_vector(model.feature_set, vector)
    assert_sound(Decoder(model, data.draw(SETTINGS), weights), data.draw(SENTENCES), 5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("words", "search"),
    [
        (500, {"stack_size": 20, "pop_limit": 50, "distortion_limit": 6}),
        (500, {"stack_size": 20, "pop_limit": 50, "distortion_limit": -1}),
        (40, {"stack_size": 1, "pop_limit": 1}),
    ],
)
def test_long_sentences_and_small_stacks(algorithm, words, search):
    sentence = np.random.default_rng(0).choice(["a", "b", "c", "new"], words).tolist()
    assert_sound(random_decoder(2, SearchSettings(algorithm=algorithm, **search)), [sentence], 5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("table_limit", [0, 20])
def test_10_000_options_of_one_phrase(algorithm, table_limit):
    model, weights = random_model(0)
    words = 3 + np.arange(30_000).reshape(-1, 3) // 4 ** np.arange(3) % 4  # base-4 digits are ids from 3
    scores = np.tile(np.linspace(0.1, 0.9, 10_000, dtype=np.float32)[:, None], (1, 4))  # of rising probability
    model = replace(model, phrase_table=build_table([[3]], [words.tolist()], scores, np.full((10_000, 6), 1 / 3)))
    decoder = Decoder(model, SearchSettings(algorithm=algorithm, table_limit=table_limit), weights)
    assert_sound(decoder, [["a"], ["a", "new", "a", "b"]], 3)
    taken = min(table_limit or 10_000, 1000 if algorithm == "cube" else 10_000)  # a pop limit of 1000
    assert len(decoder.lattices([["a"]])[0].options) == taken


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equal_scores_everywhere(algorithm):
    """With all weights zero every derivation ties; search stays complete and repeats itself."""
    model, _ = random_model(3)
    weights = Weights.from_vector(model.feature_set, np.zeros(model.feature_set.size))
    decoder = Decoder(model, SearchSettings(algorithm=algorithm, stack_size=10, pop_limit=20), weights)
    sentence = ["a", "b", "c", "a", "b", "c"] * 4
    first, second = (assert_sound(decoder, [sentence], 20)[0] for _ in range(2))
    assert first.score == 0.0 and [e.tokens for e in first.nbest] == [e.tokens for e in second.nbest]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200])
def test_weight_that_cannot_be_searched_with(value):
    model, weights = random_model(0)
    weights.values["WordPenalty0"] = (value,)
    check_refused("WordPenalty0", Decoder, model, SearchSettings(), weights)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_scores_that_are_not_finite_are_refused(value):
    model, weights = random_model(0, SYSTEMS[2])
    row = int(model.phrase_table.entry_offsets[0])  # of the word a
    for name, array in (
        ("TranslationModel0_0", model.phrase_table.scores[row]),
        ("LexicalReordering0_0", model.phrase_table.reordering[row]),
        ("EncoderDecoder0", model.columns["EncoderDecoder0"][row : row + 1]),
    ):
        before = array[0]
        array[0] = value
        check_refused(["'a'", name], Decoder(model, SearchSettings(), weights).prepare, [["b"], ["a", "b"]])
        assert len(Decoder(model, SearchSettings(), weights).decode([["b"]], traced=1)[0].trace.segmentation) == 1
        array[0] = before


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_language_model_scores_that_are_not_finite_are_refused(order, value, tmp_path):
    model, weights = random_model(0)
    model.language_models[0].save(tmp_path / "lm")
    arrays = read_arrays(tmp_path / "lm" / FILE, mapped=False)
    scores = arrays["unigram_log10"] if order == 1 else arrays["arcs"].view(ARC)["log10_prob"]
    scores[np.nonzero((scores < 0) & (scores > -3))[0][0]] = value
    write_arrays(tmp_path / "lm" / FILE, arrays, arrays.meta)
    damaged = NgramModel.load(tmp_path / "lm", TARGET)
    check_refused(
        ["language model", "LM0"], Decoder, replace(model, language_models=(damaged,)), SearchSettings(), weights
    )
