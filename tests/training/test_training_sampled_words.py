"""Softmaxes that are estimated from some words: which are drawn, how often, and what is made of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from neural_smt.networks.device import MULTIPLE
from neural_smt.networks.softmax import Sample, word_log_probabilities
from neural_smt.training.sampled_words import EXACT, WordSampler

COUNTS = np.random.default_rng(0).zipf(1.3, 3000).clip(max=5000)
WORDS = np.array([5, 9, 9, 700, 2999, 5])


def drawn(sampler: WordSampler, update: int, words: np.ndarray, positions: torch.Tensor) -> Sample:
    found = sampler.sample(update, words, positions)
    assert found is not None
    return found


def sampled_updates(count: int) -> list[int]:
    return [update for update in range(2 * count) if update % EXACT][:count]


def test_some_updates_are_predicted_from_all_words() -> None:
    sampler, positions = WordSampler(COUNTS, 400, seed=3), torch.from_numpy(WORDS)
    exact = [update for update in range(4 * EXACT) if sampler.sample(update, WORDS, positions) is None]
    assert exact == [0, EXACT, 2 * EXACT, 3 * EXACT]


def test_a_sample_holds_the_words_of_the_batch_and_others() -> None:
    sampler, positions = WordSampler(COUNTS, 400, seed=3), torch.from_numpy(WORDS[[3, 0, 4]])
    found = drawn(sampler, 7, WORDS, positions)
    ids = found.ids.numpy()
    assert (np.diff(ids) > 0).all() and np.isin(WORDS, ids).all() and ids[-1] < len(COUNTS)
    assert len(ids) % MULTIPLE == 0 and 5 < len(ids) <= 405
    assert found.ids[found.words].tolist() == positions.tolist()
    assert ((found.chances > 0) & (found.chances <= 1)).all() and found.chances.dtype == torch.float32
    # a function of the seed and the update alone
    assert drawn(sampler, 7, WORDS, positions).ids.tolist() == ids.tolist()
    assert drawn(sampler, 9, WORDS, positions).ids.tolist() != ids.tolist()
    assert drawn(replace(sampler, seed=4), 7, WORDS, positions).ids.tolist() != ids.tolist()
    few = drawn(WordSampler(COUNTS, 3, seed=3), 7, WORDS, positions)
    assert few.ids.tolist() == sorted(set(WORDS))  # too few to make up a multiple


def test_chances_are_how_often_words_are_among_the_sample() -> None:
    random, sampler = np.random.default_rng(1), WordSampler(COUNTS, 300, seed=1)
    often, expected, draws = np.zeros(len(COUNTS)), np.zeros(len(COUNTS)), 600
    for update in sampled_updates(draws):
        words = random.choice(len(COUNTS), 200, p=COUNTS / COUNTS.sum())
        found = drawn(sampler, update, words, torch.from_numpy(words))
        often[found.ids] += 1
        expected[found.ids] += found.chances.numpy()
    seen = often > 50
    assert seen.sum() > 300
    deviations = np.sqrt(often * (1 - expected / often.clip(1)).clip(0.01)) / draws
    assert (np.abs(often / draws - expected / often.clip(1))[seen] < 5 * deviations[seen] + 0.01).all()


def test_estimates_are_those_of_the_formula() -> None:
    random = torch.Generator().manual_seed(0)
    weight, bias, inner = (torch.randn(shape, generator=random).double() for shape in ((3000, 6), 3000, (6, 6)))
    inner.requires_grad_()
    words = torch.from_numpy(WORDS)
    sample = drawn(WordSampler(COUNTS, 900, seed=1), 1, WORDS, words)
    chances = sample.chances.double()
    found = word_log_probabilities(inner, weight[sample.ids], bias[sample.ids], sample.words, inner.dtype, chances)
    logits = inner @ weight[sample.ids].t() + bias[sample.ids]
    shares = torch.where(sample.ids == words[:, None], 1.0, 1 / chances)
    expected = logits.gather(1, sample.words[:, None])[:, 0] - (logits.exp() * shares).sum(1).log()
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad(values.sum(), inner, retain_graph=True)[0] for values in (found, expected))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("own", [4, 2500])
def test_sums_are_estimated_without_bias(own: int) -> None:
    """Of batches of words as the text has them, one of which is predicted by the row in question."""
    random, sampler = np.random.default_rng(2), WordSampler(COUNTS, 400, seed=2)
    logits = torch.from_numpy(random.normal(np.log(COUNTS), 1.0))
    sums = []
    for update in sampled_updates(500):
        words = random.choice(len(COUNTS), 200, p=COUNTS / COUNTS.sum())
        words[0] = own
        sample = drawn(sampler, update, words, torch.from_numpy(words[:1]))
        inner, chances = torch.zeros(1, 1, dtype=torch.float64), sample.chances.double()
        rows = logits[sample.ids, None] * 0, logits[sample.ids]
        found = word_log_probabilities(inner, *rows, sample.words, inner.dtype, chances)
        sums.append((logits[own] - found).exp().item())
    assert np.mean(sums) == pytest.approx(logits.exp().sum().item(), rel=0.02)
