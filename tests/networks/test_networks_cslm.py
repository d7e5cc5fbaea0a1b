"""The CSLM against the equations in float64 NumPy, against plain autograd, and against the n-gram model beside it."""

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from network_cases import enlarge
from references import cslm_distribution, in_numpy
from refusals import check_refused

from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel, score_ngrams
from neural_smt.networks import cslm, normalisers
from neural_smt.networks.cslm import CslmConfig, CslmNetwork, CslmScorer, word_classes
from neural_smt.networks.distinct import number_rows
from neural_smt.networks.folder import Trained
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import BOS, EOS, UNK, Vocabulary

CPU = torch.device("cpu")
CONFIG = CslmConfig(words=15, order=5, projection=4, layers=(7, 6))
LINES = [" ".join(f"w{word}" for word in row) for row in np.random.default_rng(0).zipf(1.5, (300, 8)) % 30]
VOCABULARY = Vocabulary.from_sentences(LINES)
SHORTLIST = most_frequent(VOCABULARY, 12)


def random_network(config: CslmConfig = CONFIG) -> CslmNetwork:
    network = CslmNetwork(config).double()
    enlarge(network, 0.6)
    return network


def scorer_of(network: CslmNetwork, language_model: NgramModel, **options: Any) -> CslmScorer:
    return CslmScorer(Trained(network, SHORTLIST), language_model, VOCABULARY, **options)


def distribution(network: CslmNetwork, context: np.ndarray) -> np.ndarray:
    """That of the equations, one context at a time, float64."""
    return np.exp(cslm_distribution(in_numpy(network), context, np))


def test_classes_leave_out_the_start_of_a_sentence() -> None:
    assert word_classes(np.array([UNK, BOS, EOS, 3, 14])).tolist() == [0, 0, 1, 2, 13]


def test_rows_are_numbered_as_they_first_come() -> None:
    rows = np.array([[3, 1], [0, 2], [3, 1], [1, 3], [0, 2]], dtype=np.int32)
    numbers, first = number_rows(rows)
    assert numbers.tolist() == [0, 1, 0, 2, 1]
    assert first.tolist() == [0, 1, 3]
    many = np.random.default_rng(0).integers(0, 3, (2000, 5)).astype(np.int32)
    numbers, first = number_rows(many)
    assert (many[first][numbers] == many).all()
    assert len(first) == len(np.unique(many, axis=0))


# The n-gram model beside it.


@pytest.fixture(scope="module", params=[(3, ()), (5, (0, 0, 1)), (6, ())], ids=str)
def language_model(request: pytest.FixtureRequest) -> NgramModel:
    """Models that use less of the four words of a context than there is, all of it (where not pruned), and more."""
    return NgramModel.from_tables(estimate(VOCABULARY.encode(LINES), *request.param).tables, VOCABULARY)


def random_ngrams(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """N-grams of the vocabulary and two copied words; every third starts its sentence somewhere in its context."""
    random = np.random.default_rng(seed)
    contexts = random.integers(3, len(VOCABULARY) + 2, (count, CONFIG.history)).astype(np.int32)
    for row in contexts[::3]:
        row[: random.integers(1, CONFIG.history + 1)] = BOS
    words = random.integers(2, len(VOCABULARY) + 2, count).astype(np.int32)
    return contexts, words


def walked_score(model: NgramModel, context: np.ndarray, word: int) -> float:
    """log10 p(word | context) word by word."""
    state = 0
    for previous in context.tolist():
        state = model.begin_state if previous == BOS else model.score_word(state, previous)[1]
    return model.score_word(state, word)[0]


def test_ngrams_are_scored_with_their_whole_context(language_model: NgramModel) -> None:
    contexts, words = random_ngrams(300)
    expected = [walked_score(language_model, *ngram) for ngram in zip(contexts, words.tolist(), strict=True)]
    np.testing.assert_allclose(score_ngrams(language_model, contexts, words), expected, rtol=1e-12)


# The scorer.


@pytest.fixture(params=[1 << 30, 0], ids=["table", "product"])
def limit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bytes of products may be stored."""
    monkeypatch.setattr(cslm, "TABLE_BYTES", request.param)
    return request.param


def test_scores_are_the_networks_or_the_ngram_models(language_model: NgramModel, limit: int) -> None:
    """Inside and outside the shortlist."""
    network = random_network()
    scorer = scorer_of(network, language_model)
    assert (scorer.first_layer.table is None) == (limit == 0)
    assert scorer.history == 4
    contexts, words = random_ngrams(400)
    scores = scorer(contexts, words)
    assert scores.dtype == np.float64
    # The shortlist is the beginning of the vocabulary.
    inside = (words < len(SHORTLIST)) & (words != UNK)
    assert 50 < inside.sum() < 350
    for score, context, word, known in zip(scores, contexts, words.tolist(), inside, strict=True):
        if known:
            ids = np.where(context < len(SHORTLIST), context, UNK)
            expected = np.log(distribution(network, ids)[word - 1])
        else:
            expected = np.log(10) * walked_score(language_model, context, word)
        assert score == pytest.approx(expected, rel=1e-9)


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("words", [1, 3, 4, 9])
def test_an_estimate_reads_few_words_and_the_mean_of_the_others(language_model: NgramModel, words: int) -> None:
    network = random_network()
    scorer = scorer_of(network, language_model)
    sample = random_ngrams(2000, seed=1)[0]
    estimating = scorer.estimating(sample, words)
    assert estimating.history == min(words, 4) and scorer.history == 4
    contexts, chosen = random_ngrams(120)
    contexts = contexts[:, 4 - estimating.history :]
    read = [np.where(rows < len(SHORTLIST), rows, UNK) for rows in (contexts, sample)]
    # further words, whose projections are the means
    p = in_numpy(network)
    means = p["projection"][read[1][:, : 4 - estimating.history]].mean(0)
    p["projection"] = np.concatenate([p["projection"], means])
    before = range(CONFIG.words, CONFIG.words + len(means))
    errors = [
        score - cslm_distribution(p, [*before, *context], np)[word - 1]
        for score, context, word in zip(estimating(contexts, chosen), read[0], chosen.tolist(), strict=True)
        if word < len(SHORTLIST) and word != UNK
    ]
    assert len(errors) > 20
    # What is left is the normalisers' estimate, which is fitted: no more than a few of its own standard deviations.
    assert np.abs(errors).max() < 6 * estimating.normalisers.error + 1e-6


def test_a_renormalised_distribution_sums_to_one(language_model: NgramModel) -> None:
    network = random_network()
    raw, scaled = (scorer_of(network, language_model, out_of_shortlist=way) for way in ("backoff", "renormalise"))
    words = np.array([UNK, *range(EOS, len(VOCABULARY))], dtype=np.int32)
    inside = (words != UNK) & (words < len(SHORTLIST))
    for context in random_ngrams(60)[0]:
        contexts = np.repeat(context[None], len(words), axis=0)
        backoff = 10 ** np.array([walked_score(language_model, context, word) for word in words.tolist()])
        shares = np.exp(scaled(contexts, words))
        assert shares.sum() == pytest.approx(1, rel=1e-9)
        # The toolkit's formula, literally.
        ids = np.where(context < len(SHORTLIST), context, UNK)
        p_outside = distribution(network, ids)[0]
        expected = np.exp(raw(contexts, words))[inside] / (1 - p_outside) * (1 - backoff[~inside].sum())
        np.testing.assert_allclose(shares[inside], expected, rtol=1e-9)
        np.testing.assert_array_equal(scaled(contexts, words)[~inside], raw(contexts, words)[~inside])


def test_a_score_depends_on_its_ngram_alone(monkeypatch: pytest.MonkeyPatch, language_model: NgramModel) -> None:
    """Neither on its company nor on chunks nor on threads."""
    scorer = scorer_of(random_network().float(), language_model)
    contexts, words = random_ngrams(500)
    contexts[250:] = contexts[:250]
    together = scorer(contexts, words)
    alone = np.concatenate([scorer(contexts[i : i + 1], words[i : i + 1]) for i in range(len(words))])
    np.testing.assert_allclose(alone, together, atol=2e-5)
    order = np.random.default_rng(1).permutation(500)
    np.testing.assert_allclose(scorer(contexts[order], words[order]), together[order], atol=2e-5)
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: scorer(contexts, words), range(12)):
            np.testing.assert_array_equal(scores, together)
    monkeypatch.setitem(cslm.CONTEXT_ROWS, "cpu", 7)
    monkeypatch.setitem(normalisers.LOGITS, "cpu", 3 * 14)
    chunked = scorer_of(scorer.network, language_model)
    np.testing.assert_allclose(chunked(contexts, words), together, atol=2e-5)


def test_a_language_model_of_other_words_is_refused(language_model: NgramModel) -> None:
    network = Trained(random_network(), SHORTLIST)
    check_refused(["another vocabulary", "CSLM"], CslmScorer, network, language_model, SHORTLIST)


def test_nothing_to_score_and_wrong_shapes(language_model: NgramModel) -> None:
    scorer = scorer_of(random_network(), language_model)
    assert scorer(np.empty((0, 4), np.int32), np.empty(0, np.int32)).shape == (0,)
    outside = np.full(2, len(VOCABULARY) + 1, np.int32)
    assert np.isfinite(scorer(np.full((2, 4), BOS, np.int32), outside)).all()
    with pytest.raises(ValueError, match="need contexts of 4 words"):
        scorer(np.zeros((2, 3), np.int32), outside)


def test_words_spelt_like_reserved_entries_are_unknown(language_model: NgramModel) -> None:
    """Words of the text spelt like a boundary are no boundary, but the ids of boundaries are."""
    scorer = scorer_of(random_network(), language_model)
    assert scorer.ids[[UNK, BOS, EOS, 3, len(SHORTLIST), len(VOCABULARY)]].tolist() == [UNK, BOS, EOS, 3, UNK, UNK]


def test_bfloat16_is_near(language_model: NgramModel) -> None:
    network = random_network().float()
    exact = scorer_of(network, language_model, precision="fp32")
    rounded = scorer_of(network, language_model, precision="bf16")
    assert rounded.first_layer.table.dtype == torch.bfloat16
    ngrams = random_ngrams(200)
    np.testing.assert_allclose(rounded(*ngrams), exact(*ngrams), atol=0.25)


@pytest.mark.slow
def test_a_stack_in_the_papers_sizes_equals_the_equations() -> None:
    lines = [" ".join(f"v{word}" for word in range(start, 15_000, 100)) for start in range(100)]
    vocabulary = Vocabulary.from_sentences([*lines, "rare"])
    model = NgramModel.from_tables(estimate(vocabulary.encode(lines), 2).tables, vocabulary)
    shortlist = most_frequent(vocabulary, 15_000)
    network = CslmNetwork(CslmConfig(len(shortlist)), seed=1)
    with torch.no_grad():  # so that it matters what is read
        for parameter in network.parameters():
            parameter *= 8
    scorer = CslmScorer(Trained(network, shortlist), model, vocabulary)
    assert scorer.history == 6
    assert scorer.first_layer.table.shape == (6 * 15_003, 1536)
    random = np.random.default_rng(0)
    contexts = random.integers(3, len(shortlist), (60, 6)).astype(np.int32)[np.repeat(np.arange(60), 3)]
    words = random.integers(2, len(shortlist), 180).astype(np.int32)
    scores = scorer(contexts, words)
    distributions = [distribution(network, context) for context in contexts[::3]]
    expected = [np.log(distributions[row // 3][word - 1]) for row, word in enumerate(words)]
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert np.std(expected) > 0.01


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_equals_cpu(language_model: NgramModel) -> None:
    network, ngrams = random_network(), random_ngrams(200)
    on_cpu = scorer_of(network, language_model, precision="fp32")(*ngrams)
    scorer = scorer_of(network.to("cuda"), language_model, precision="fp32")
    counted = getattr(sys.modules.get("simulated_cuda"), "counted", None)
    before = counted and (counted.uploads.total(), counted.waits.total())
    on_cuda = scorer(*ngrams)
    # where that can be seen: there and back once
    assert not counted or (counted.uploads.total(), counted.waits.total()) == (before[0] + 1, before[1] + 1)
    np.testing.assert_allclose(on_cuda, on_cpu, rtol=1e-9)
