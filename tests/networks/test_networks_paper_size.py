"""The networks in the sizes of Cho et al. (2014), 1000 units and 15,000 words, against the equations in float64."""

from pathlib import Path

import numpy as np
import pytest
import references as reference
import torch
from network_cases import dense

from neural_smt.experiment.settings import Settings, network_settings
from neural_smt.io.files import read_yaml
from neural_smt.io.ragged import Ragged
from neural_smt.networks.cslm import CslmConfig, CslmNetwork, word_classes
from neural_smt.networks.encoder_decoder import Conventions, EncoderDecoder, EncoderDecoderConfig
from neural_smt.rescoring.scorer import PairScorer
from neural_smt.training.cslm import NgramTask
from neural_smt.training.encoder_decoder import PhraseTask
from neural_smt.training.loop import Trainer
from neural_smt.training.optimisers import optimiser_of
from neural_smt.training.tasks import BatchOrder, Task
from neural_smt.training.texts import NgramText, Pairs

WORDS = 15_003
"""15,000 words and three reserved entries."""

SOURCES = [[5, 14_999, 7], [15_002], [5, 14_999], [300, 0, 4, 9]]
TARGETS = [[15_002, 3], [8, 900, 8], [15_002, 3, 12_000], [77]]


Weights = dict[str, torch.Tensor]

SHAPES = read_yaml(Path(__file__).with_name("paper_shapes.yaml"))


def shapes(network: torch.nn.Module) -> dict[str, list[int]]:
    return {name: list(parameter.shape) for name, parameter in network.named_parameters()}


@pytest.fixture(scope="module")
def weights() -> Weights:
    """Weights of the encoder-decoder as it is initialised, those that are not recurrent scaled so that they matter."""
    random = np.random.default_rng(1)
    network = EncoderDecoder(EncoderDecoderConfig(WORDS, WORDS, conventions=Conventions.following("paper")), seed=1)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter += torch.from_numpy(random.normal(0, 0.1, parameter.shape))
            elif not name.endswith(("gates_weight", "candidate_weight")):
                parameter *= 8
    return network.state_dict()


def encoder_decoder(weights: Weights, conventions: str) -> EncoderDecoder:
    """A network with copies of ``weights``; their own initial values are not drawn again."""
    network = EncoderDecoder(EncoderDecoderConfig(WORDS, WORDS, conventions=Conventions.following(conventions)), None)
    network.load_state_dict({name: weights[name].clone() for name in network.state_dict()})
    return network


def check_update(task: Task, settings: Settings, folder: Path, losses: list[torch.Tensor], p: dict) -> None:
    """Compare loss, gradients, and the parameters after one update with those of the reference."""
    network = task.network
    expected_loss = sum(loss.item() for loss in losses)
    divisor = task.minibatch(0).divisor
    (sum(losses) / divisor).backward()
    expected = {name: tensor.grad.numpy() for name, tensor in p.items()}

    loss = -network(task.minibatch(0).inputs).sum()
    (loss / divisor).backward()
    assert loss.item() == pytest.approx(expected_loss, rel=1e-6)
    for name, parameter in network.named_parameters():
        gradient = dense(parameter.grad)
        assert gradient.shape == parameter.shape == expected[name].shape, name
        assert torch.isfinite(gradient).all(), name
        largest = np.abs(expected[name]).max()
        assert largest > 0, name
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-3, atol=2e-5 * largest, err_msg=name)
        chosen = np.unravel_index(np.argsort(-np.abs(expected[name]), axis=None)[:5], expected[name].shape)
        np.testing.assert_allclose(gradient[chosen], expected[name][chosen], rtol=1e-4, err_msg=name)

    before = {name: parameter.detach().clone() for name, parameter in network.named_parameters()}
    trainer = Trainer(task, settings, folder, "run", optimiser_of(network, settings))
    trainer.update()
    assert trainer.progress.cost == pytest.approx(expected_loss, rel=1e-6)
    assert trainer.progress.non_finite == 0
    norm = np.sqrt(sum((gradient**2).sum() for gradient in expected.values()))
    assert norm > settings.clip
    for name, step in reference.adadelta_steps(expected, settings.clip).items():
        taken = before[name].double() - network.get_parameter(name).detach().double()
        # Parameters are rounded to single precision after the step.
        rounding = 2.0**-24 * before[name].abs().max().item()
        np.testing.assert_allclose(taken, step, rtol=1e-3, atol=1e-4 * np.abs(step).max() + rounding, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("conventions", ["code", "paper"])
def test_one_training_step_of_the_encoder_decoder(weights: Weights, conventions: str, tmp_path: Path) -> None:
    network = encoder_decoder(weights, conventions)
    assert shapes(network) == SHAPES[conventions]
    settings = network_settings("encoder_decoder", {"validation_pairs": 0, "precision": "fp32", "clip": 0.1})
    pairs = Pairs(Ragged.from_lists(SOURCES), Ragged.from_lists(TARGETS))
    task = PhraseTask(network, pairs, pairs.take(np.arange(0)), BatchOrder(pairs.lengths, settings.batch, 1))
    p = reference.in_torch(network)
    texts, followed = zip(SOURCES, TARGETS, strict=True), Conventions.following(conventions)
    losses = [-reference.log_probability(p, *pair, torch, followed) for pair in texts]
    check_update(task, settings, tmp_path, losses, p)


def test_one_rescoring_batch(weights: Weights) -> None:
    network = encoder_decoder(weights, "code")
    sources = [[5, 14_999, 7], [5, 14_999], [15_002]]
    # Prefixes are shared within the first source and, being of different sources, not between the others.
    pairs = [(0, [15_002, 3]), (0, [15_002, 3, 12_000]), (0, [15_002]), (1, [15_002, 3]), (2, [0]), (0, [15_002, 3])]
    source_of = np.array([source for source, _ in pairs])
    target = Ragged.from_lists([phrase for _, phrase in pairs])
    scores, work = PairScorer(network).score(Ragged.from_lists(sources).take(source_of), target, batch=2)
    p = reference.in_numpy(network)
    expected = [reference.log_probability(p, sources[source], phrase, np, Conventions()) for source, phrase in pairs]
    assert scores.shape == (6,) and scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    assert np.std(expected) > 1
    # (), 15002, 15002 3, 15002 3 12000; (), 15002, 15002 3; (), 0.
    assert (work.prefixes, work.words) == (9, 17)


@pytest.mark.slow
def test_one_training_step_of_the_cslm(tmp_path: Path) -> None:
    network = CslmNetwork(CslmConfig(WORDS), seed=1)
    assert shapes(network) == SHAPES["cslm"]
    with torch.no_grad():  # so that it matters what is read
        for name, parameter in network.named_parameters():
            if not name.endswith("bias"):
                parameter *= 8
    text = NgramText.of(Ragged.from_lists([[9, 15_002, 0, 9]]), 6)
    settings = network_settings("cslm", {"precision": "fp32", "clip": 0.1})
    task = NgramTask(network, text, text, BatchOrder(text.lengths, settings.batch, 1))
    contexts, words = text.ngrams(np.arange(len(text)))
    assert contexts.shape == (5, 6)
    p = reference.in_torch(network)
    ngrams = zip(contexts.tolist(), word_classes(words).tolist(), strict=True)
    losses = [-reference.cslm_log_probability(p, context, following, torch) for context, following in ngrams]
    check_update(task, settings, tmp_path, losses, p)
