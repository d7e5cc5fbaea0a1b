"""The encoder-decoder against a literal one-pair-at-a-time version of the equations, and against finite differences."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from random_weights import assert_gradients_are_slopes, enlarge

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import Conventions, EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.packing import PairBatch, pack_pairs
from neural_smt.vocabulary import EOS

CPU = torch.device("cpu")
CONFIG = EncoderDecoderConfig(source_words=13, target_words=17, hidden=6, embedding=5, maxout=4, rank=3)
CHOICES = [
    *(
        pytest.param(replace(CONFIG, conventions=Conventions.following(follow)), id=str(follow))
        for follow in ("code", "paper", *({name.name: "paper"} for name in fields(Conventions)[:3]))
    ),
    *(
        pytest.param(replace(CONFIG, conventions=Conventions.following(follow), unit="tanh"), id=f"tanh {follow}")
        for follow in ("code", {"summary": "paper", "first_step": "paper"})
    ),
]


def random_pairs(count: int, seed: int = 0) -> tuple[Ragged, Ragged]:
    """Phrases of 1 to 7 ids that are not reserved, apart from UNK."""
    random = np.random.default_rng(seed)

    def side(words: int) -> Ragged:
        return Ragged.from_lists([random.integers(3, words, random.integers(1, 8)) for _ in range(count)])

    return side(CONFIG.source_words), side(CONFIG.target_words)


def random_network(config: EncoderDecoderConfig) -> EncoderDecoder:
    """A network in double precision whose weights (biases too) are large enough to matter."""
    network = EncoderDecoder(config).double()
    enlarge(network, 0.4)
    return network


def batch_of(rows: list[int], source: Ragged, target: Ragged) -> PairBatch:
    return pack_pairs(source.take(np.array(rows)), target.take(np.array(rows)), CPU)


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-values))


def literal_log_probability(network: EncoderDecoder, source: np.ndarray, target: np.ndarray) -> float:
    """log p(target | source) word by word, in the symbols of the supplement (u = 1 - z)."""
    conventions = network.config.conventions
    size = network.config.hidden
    p = {name: tensor.detach().numpy() for name, tensor in network.named_parameters()}

    def unit(name: str, embedded: np.ndarray, state: np.ndarray, context: list[np.ndarray], reset_after: bool):
        if network.config.unit == "tanh":
            inputs = p[f"{name}.input_weight"] @ embedded + p[f"{name}.input_bias"]
            return np.tanh(inputs + p[f"{name}.candidate_weight"] @ state + context[0])
        w, w_update, w_reset = (p[f"{name}.input_weight"][i * size : (i + 1) * size] for i in range(3))
        u_update, u_reset = p[f"{name}.gates_weight"][:size], p[f"{name}.gates_weight"][size:]
        u = p[f"{name}.candidate_weight"]
        update = sigmoid(w_update @ embedded + u_update @ state + context[1])
        reset = sigmoid(w_reset @ embedded + u_reset @ state + context[2])
        inputs = w @ embedded + p[f"{name}.input_bias"]
        if reset_after:
            candidate = np.tanh(inputs + reset * (u @ state + context[0]))
        else:
            candidate = np.tanh(inputs + u @ (reset * state) + context[0])
        return update * candidate + (1 - update) * state

    state = np.zeros(size)
    for word in [*source, EOS]:
        embedded = p["source_embedding.weight"][word] + p["source_embedding.bias"]
        state = unit("encoder", embedded, state, [np.zeros(size)] * 3, False)
    c = state if conventions.summary == "code" else np.tanh(p["summary.weight"] @ state + p["summary.bias"])
    context = (p["context.weight"] @ c).reshape(-1, size)
    state = np.tanh(p["initialiser.weight"] @ c + p["initialiser.bias"])
    previous = np.zeros(network.config.embedding)
    total = 0.0
    for position, word in enumerate([*target, EOS]):
        if position > 0 or conventions.first_step == "paper":
            state = unit("decoder", previous, state, context, conventions.reset == "paper")
        pieces = p["hidden_readout.weight"] @ state + p["hidden_readout.bias"]
        pieces = pieces + p["word_readout.weight"] @ previous + p["context_readout.weight"] @ c
        s = np.array([max(pieces[2 * i], pieces[2 * i + 1]) for i in range(network.config.maxout)])
        logits = p["output.weight"] @ (p["inner.weight"] @ s) + p["output.bias"]
        total += logits[word] - np.log(np.exp(logits).sum())
        previous = p["target_embedding.weight"][word] + p["target_embedding.bias"]
    return total


@pytest.mark.parametrize("config", CHOICES)
def test_a_batch_equals_the_literal_equations(config: EncoderDecoderConfig) -> None:
    network = random_network(config)
    source, target = random_pairs(12)
    expected = [literal_log_probability(network, *pair) for pair in zip(source, target, strict=True)]
    np.testing.assert_allclose(network(pack_pairs(source, target, CPU)).detach(), expected, rtol=1e-12)


@pytest.mark.parametrize("config", CHOICES)
def test_gradients_equal_finite_differences(config: EncoderDecoderConfig) -> None:
    network = random_network(config)
    batch = pack_pairs(*random_pairs(5, seed=1), CPU)
    weights = torch.from_numpy(np.random.default_rng(5).normal(size=5))
    (network(batch) * weights).sum().backward()
    gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
    assert_gradients_are_slopes(network, gradients, lambda: (network(batch) * weights).sum())


def test_a_score_does_not_depend_on_the_batch() -> None:
    network = EncoderDecoder(CONFIG, seed=1)
    source, target = random_pairs(40)
    together = network(pack_pairs(source, target, CPU)).detach()
    alone = [network(batch_of([row], source, target)).item() for row in range(40)]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    backwards = network(batch_of(list(range(39, -1, -1)), source, target)).detach()
    np.testing.assert_allclose(backwards.flip(0), together, atol=1e-5)


@pytest.mark.parametrize("unit", ["gated", "tanh"])
def test_initial_weights(unit: str) -> None:
    network = EncoderDecoder(replace(CONFIG, hidden=40, embedding=50, unit=unit), seed=4)
    for name, parameter in network.named_parameters():
        values = parameter.detach().double()
        if name.endswith("bias"):
            assert (values == 0).all()
        elif name.endswith(("gates_weight", "candidate_weight")):
            for square in values.split(40):
                np.testing.assert_allclose(square @ square.T, np.eye(40), atol=1e-5)
        elif values.numel() > 500:
            assert values.std().item() == pytest.approx(0.01, rel=0.1)
    again, other = (EncoderDecoder(replace(CONFIG, hidden=40, embedding=50, unit=unit), seed) for seed in (4, 5))
    assert torch.equal(network.inner.weight, again.inner.weight)
    assert not torch.equal(network.inner.weight, other.inner.weight)


@pytest.mark.parametrize("config", [*CHOICES[:2], CHOICES[-1]])
def test_bfloat16_is_near(config: EncoderDecoderConfig) -> None:
    network = random_network(config).float()
    batch = pack_pairs(*random_pairs(20), CPU)
    exact = network(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = network(batch)
    rounded.sum().backward()
    assert rounded.dtype == torch.float32
    np.testing.assert_allclose(rounded.detach(), exact.detach(), rtol=0.03)
    assert all(parameter.grad.dtype == torch.float32 for parameter in network.parameters())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("config", [*CHOICES[:2], CHOICES[-1]])
def test_cuda_equals_cpu(config: EncoderDecoderConfig) -> None:
    network = random_network(config)
    source, target = random_pairs(20)
    expected = network(pack_pairs(source, target, CPU)).detach()
    cuda = torch.device("cuda")
    scores = network.to(cuda)(pack_pairs(source, target, cuda))
    scores.sum().backward()
    np.testing.assert_allclose(scores.detach().cpu(), expected, rtol=1e-9)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UserError, match="no difference is called 'colour'"):
        Conventions.following({"colour": "code"})
    with pytest.raises(UserError, match="tanh units have no reset gate"):
        replace(CONFIG, unit="tanh", conventions=Conventions(reset="paper"))


def test_a_configuration_without_unit_and_direction_is_gated_and_forward() -> None:
    values = CONFIG.to_json()
    del values["unit"], values["direction"]
    assert EncoderDecoderConfig.from_json(values) == CONFIG
