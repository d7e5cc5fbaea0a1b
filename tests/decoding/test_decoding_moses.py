"""The search against what Moses made of the same tables and weights (``oracle/decoding``)."""

from pathlib import Path

import numpy as np
import pytest

from neural_smt.decoding.features import build_feature_set
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.nbest import feature_matrix, read_nbest
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.weights import Weights
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.moses_format import moses_vocabularies, read_moses
from neural_smt.vocabulary import Vocabulary

GROUPS = ["phrase", "language_model", "reordering"]
MOSES_STACK_200, MOSES_CUBE_1000, MOSES_CUBE_200 = -20.2842, -20.2876, -20.2970


def load_model(folder: Path) -> TranslationModel:
    source, target = moses_vocabularies(folder / "phrase-table.gz")
    _, spoken = read_arpa(folder / "train.fr.o5.arpa.gz")
    words = [*target.words, *(word for word in spoken.words if word not in target)]
    target = Vocabulary(words, [0] * len(words))
    tables, _ = read_arpa(folder / "train.fr.o5.arpa.gz", target)
    table = read_moses(
        folder / "phrase-table.gz", folder / "reordering-table.wbe-msd-bidirectional-fe.gz", source, target
    )
    model = NgramModel.from_tables(tables, target)
    return TranslationModel(table, (model,), {}, source, target, build_feature_set(GROUPS))


def read_weights(path: Path) -> Weights:
    section = path.read_text().split("[weight]")[1]
    lines = [line.split("= ") for line in section.splitlines() if "=" in line]
    return Weights({name: tuple(map(float, values.split())) for name, values in lines})


@pytest.fixture(scope="module")
def oracle(shared):
    folder = shared / "oracle" / "decoding"
    sentences = [line.split() for line in (folder / "input.en").read_text().splitlines()]
    return folder, load_model(folder), read_weights(folder / "moses.ini"), sentences


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
