"""The search against what Moses made of the same tables and weights (``oracle/decoding``)."""

import numpy as np
import pytest

from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.moses.model import read_text_model
from neural_smt.decoding.nbest import feature_matrix, read_nbest
from neural_smt.decoding.search import Decoder, SearchSettings

MOSES_STACK_200, MOSES_CUBE_1000, MOSES_CUBE_200 = -20.2842, -20.2876, -20.2970


@pytest.fixture(scope="module")
def oracle(shared):
    folder = shared / "oracle" / "decoding"
    sentences = [line.split() for line in (folder / "input.en").read_text().splitlines()]
    ini = read_moses_ini(folder / "moses.ini")
    assert ini.distortion_limit == 6 and ini.weights.values["LM0"] == (0.106007,)
    return folder, read_text_model(ini), ini.weights, sentences


def mean_score(translations) -> float:
    return float(np.mean([translation.score for translation in translations]))


@pytest.mark.parametrize(("size", "moses"), [(1000, MOSES_CUBE_1000), (200, MOSES_CUBE_200)])
def test_cube_pruning_scores_as_high_as_moses(oracle, size, moses):
    _, model, weights, sentences = oracle
    settings = SearchSettings(algorithm="cube", pop_limit=size, stack_size=size)
    assert mean_score(Decoder(model, settings, weights).decode(sentences)) >= moses - 5e-4


@pytest.mark.slow
def test_stack_search_scores_as_high_as_moses(oracle):
    _, model, weights, sentences = oracle
    assert mean_score(Decoder(model, SearchSettings(), weights).decode(sentences)) >= MOSES_STACK_200 - 1e-4


@pytest.mark.parametrize("count", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_feature_values_are_those_of_moses(oracle, count):
    """Every entry of Moses' 100-best lists is in ours, with the same words, features and total; so are the best."""
    folder, model, weights, sentences = oracle
    decoder = Decoder(model, SearchSettings(), weights)
    ours = decoder.decode(sentences[:count], nbest=150, distinct=False)
    theirs = [entry for entry in read_nbest(folder / "stack200.nbest.gz") if entry.sentence < count]
    values = feature_matrix(theirs, decoder.feature_set)
    shown = decoder.feature_set.tunable
    found = best = 0
    for entry, features in zip(theirs, values, strict=True):
        translation = ours[entry.sentence]
        words = [token.removesuffix("|UNK|UNK|UNK") for token in entry.tokens]  # how Moses lists copied words
        same = [
            other
            for other in translation.nbest
            if other.tokens == words and np.abs(other.features - features)[shown].max() < 1e-3
        ]
        found += bool(same)
        if same:
            assert min(abs(other.score - entry.score) for other in same) < 1e-3
        if entry.sentence >= best:  # the first of each list
            assert translation.tokens == words and abs(translation.score - entry.score) < 1e-3
            best = entry.sentence + 1
    assert best == count
    assert found == len(theirs)


def test_alignments_are_those_of_moses(oracle):
    folder, model, weights, sentences = oracle
    lines = (folder / "stack200.align").read_text().splitlines()[:25]
    best = (folder / "stack200.best").read_text().splitlines()[:25]
    settings = SearchSettings(algorithm="cube", pop_limit=1000)
    equal = 0
    for translation, line, words in zip(
        Decoder(model, settings, weights).decode(sentences[:25]), lines, best, strict=True
    ):
        links = sorted(tuple(map(int, link.split("-"))) for link in line.split())
        if " ".join(translation.tokens) == words.split(" ", 1)[1].strip():
            equal += sorted(translation.alignment) == links
    assert equal >= 22
