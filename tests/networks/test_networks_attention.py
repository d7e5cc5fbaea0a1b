"""The attention network against its equations word by word, and against finite differences."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from attention_reference import translate
from paper_reference import in_numpy, in_torch
from random_weights import assert_gradients_are_slopes, dense, enlarge

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention import decoder
from neural_smt.networks.attention.network import (
    AttentionBatch,
    AttentionConfig,
    AttentionNetwork,
    membership,
    pack_batch,
    pack_sentences,
)
from neural_smt.vocabulary import EOS, UNK

CPU = torch.device("cpu")
CONFIG = AttentionConfig(13, 17, hidden=6, embedding=5, attention=7, maxout=4, rank=3)
CONFIGS = [
    pytest.param(CONFIG, id="word in scorer"),
    pytest.param(replace(CONFIG, word_in_scorer=False), id="no word in scorer"),
]


def random_pairs(count: int, seed: int = 0) -> tuple[Ragged, Ragged]:
    """Sentences of up to 7 ids; one source and one target are empty."""
    random = np.random.default_rng(seed)

    def side(words: int, empty: int) -> Ragged:
        lengths = random.integers(1, 8, count)
        lengths[empty] = 0
        return Ragged.from_lists([random.integers(3, words, length) for length in lengths])

    return side(CONFIG.source_words, 1), side(CONFIG.target_words, 2)


def random_network(config: AttentionConfig = CONFIG) -> AttentionNetwork:
    """A network in double precision whose weights (biases too) are large enough to matter."""
    network = AttentionNetwork(config).double()
    enlarge(network, 0.4)
    return network


def random_sets(targets: Ragged, seed: int = 4) -> Ragged:
    """For every sentence its words and a few others, reserved ones among them."""
    random = np.random.default_rng(seed)
    sets = [np.union1d(target, [UNK, EOS, *random.integers(3, CONFIG.target_words, 2)]) for target in targets]
    return Ragged.from_lists(sets)


def limited_batch(source: Ragged, target: Ragged, sets: Ragged, own: bool = False) -> AttentionBatch:
    """A batch predicted from the union of the sets, or with ``own`` each pair from its own."""
    ids = np.unique(sets.values)
    return pack_batch(source, target, CPU, ids, membership(ids, sets, ids[:0]) if own else None)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_batch_equals_the_literal_equations(config: AttentionConfig) -> None:
    network, (source, target) = random_network(config), random_pairs(12)
    parameters = in_numpy(network)
    expected = [translate(parameters, *pair, np) for pair in zip(source, target, strict=True)]
    batch = pack_batch(source, target, CPU)
    np.testing.assert_allclose(network(batch).detach(), [score for score, _ in expected], rtol=1e-12)
    for found, (_, alpha) in zip(network.alignments(batch), expected, strict=True):
        np.testing.assert_allclose(found, alpha, rtol=1e-11)
        np.testing.assert_allclose(found.sum(1), 1, rtol=1e-14)


@pytest.mark.parametrize("config", CONFIGS)
def test_gradients_are_those_of_the_equations(config: AttentionConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "TILE", 100)  # a few rows at a time
    network, (source, target) = random_network(config), random_pairs(5, seed=1)
    weights = np.random.default_rng(5).normal(size=5)
    reference = in_torch(network)
    for weight, *pair in zip(weights, source, target, strict=True):
        (weight * translate(reference, *pair, torch)[0]).backward()
    (network(pack_batch(source, target, CPU)) * torch.from_numpy(weights)).sum().backward()
    for name, parameter in network.named_parameters():
        np.testing.assert_allclose(dense(parameter.grad), reference[name].grad, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("config", CONFIGS)
def test_gradients_equal_finite_differences(config: AttentionConfig, limited: bool) -> None:
    network, (source, target) = random_network(config), random_pairs(5, seed=1)
    batch = limited_batch(source, target, random_sets(target)) if limited else pack_batch(source, target, CPU)
    weights = torch.from_numpy(np.random.default_rng(5).normal(size=5))
    (network(batch) * weights).sum().backward()
    gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
    assert_gradients_are_slopes(network, gradients, lambda: (network(batch) * weights).sum())


def test_attention_is_nothing_on_padding() -> None:
    network, (source, target) = random_network(), random_pairs(9)
    batch = pack_batch(source, target, CPU)
    alphas = network._decoded(batch)[2]
    padding = batch.layout.padding[batch.pairs.target.rows]
    assert padding.any()
    assert (alphas[padding] == 0).all()
    assert (alphas[~padding] > 0).all()


def test_a_score_does_not_depend_on_the_batch() -> None:
    network, (source, target) = AttentionNetwork(CONFIG, seed=1), random_pairs(40)
    sets = random_sets(target)

    def scores(rows: list[int], own: bool) -> np.ndarray:
        parts = [side.take(np.array(rows)) for side in (source, target, sets)]
        batch = limited_batch(*parts, own=True) if own else pack_batch(*parts[:2], CPU)
        return network(batch).detach().numpy()

    for own in (False, True):
        together = scores(list(range(40)), own)
        np.testing.assert_allclose(np.concatenate([scores([row], own) for row in range(40)]), together, atol=1e-5)
        np.testing.assert_allclose(scores(list(range(39, -1, -1)), own)[::-1], together, atol=1e-5)


@pytest.mark.parametrize("config", CONFIGS)
def test_stepping_word_by_word_equals_the_whole(config: AttentionConfig) -> None:
    network, (source, target) = random_network(config), random_pairs(8)
    packed, layout, order = pack_sentences(source, CPU)
    batch = pack_batch(source, target, CPU)
    expected, alignments = network(batch).detach(), network.alignments(batch)
    starts, memory = network.encode(packed, layout)
    weight, bias = network.output.rows(None)
    for row, pair in enumerate(order):
        state, own = starts[row : row + 1], memory.take(torch.tensor([row]))
        total, previous = 0.0, None
        for position, word in enumerate([*target[int(pair)].tolist(), EOS]):
            inner, context, alpha = network.look(state, previous, own)
            total += torch.log_softmax(inner @ weight.T + bias, 1)[0, word].item()
            found = alpha[0, : alignments[pair].shape[1]]
            np.testing.assert_allclose(found, alignments[pair][position], rtol=1e-10)
            previous = torch.tensor([word])
            state = network.advance(state, previous, context)
        assert total == pytest.approx(expected[pair].item(), rel=1e-12)


def test_initial_weights() -> None:
    config = replace(CONFIG, hidden=40, embedding=50, attention=30)
    network = AttentionNetwork(config, seed=4)
    for name, parameter in network.named_parameters():
        values = parameter.detach().double()
        if name.endswith(("bias", "energy")):
            assert (values == 0).all(), name
        elif name.endswith(("gates_weight", "candidate_weight")):
            for square in values.split(40):
                np.testing.assert_allclose(square @ square.T, np.eye(40), atol=1e-5)
        elif values.numel() > 500:
            deviation = 0.001 if name.startswith("scorer") else 0.01
            assert values.std().item() == pytest.approx(deviation, rel=0.1), name
    again, other = (AttentionNetwork(config, seed) for seed in (4, 5))
    assert torch.equal(network.inner.weight, again.inner.weight)
    assert not torch.equal(network.inner.weight, other.inner.weight)


@pytest.mark.parametrize("limited", [False, True])
def test_bfloat16_is_near(limited: bool) -> None:
    network, (source, target) = random_network().float(), random_pairs(20)
    batch = limited_batch(source, target, random_sets(target)) if limited else pack_batch(source, target, CPU)
    exact = network(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = network(batch)
    rounded.sum().backward()
    assert rounded.dtype == torch.float32
    np.testing.assert_allclose(rounded.detach(), exact.detach(), rtol=0.03, atol=0.05)
    assert all(parameter.grad.dtype == torch.float32 for parameter in network.parameters())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("limited", [False, True])
def test_cuda_equals_cpu(limited: bool) -> None:
    network, (source, target) = random_network(), random_pairs(20)
    ids = np.unique(random_sets(target).values) if limited else None
    expected = network(pack_batch(source, target, CPU, ids))
    expected.sum().backward()
    gradients = {name: dense(parameter.grad).clone() for name, parameter in network.named_parameters()}
    network.zero_grad()
    cuda = torch.device("cuda")
    scores = network.to(cuda)(pack_batch(source, target, cuda, ids))
    scores.sum().backward()
    np.testing.assert_allclose(scores.detach().cpu(), expected.detach(), rtol=1e-9)
    for name, parameter in network.named_parameters():
        np.testing.assert_allclose(dense(parameter.grad).cpu(), gradients[name], rtol=1e-7, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", ["hidden", "attention", "rank"])
def test_sizes_must_be_positive(name: str) -> None:
    with pytest.raises(UserError, match=f"attention network's {name} is 0"):
        replace(CONFIG, **{name: 0})


def test_a_configuration_comes_back() -> None:
    assert AttentionConfig.from_json(CONFIG.to_json()) == CONFIG
    with pytest.raises(TypeError):
        AttentionConfig.from_json(CONFIG.to_json() | {"depth": 2})
