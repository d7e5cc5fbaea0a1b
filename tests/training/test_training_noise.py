"""Dropout and label smoothing: what is silent, what it changes, and that shares of a minibatch agree."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from network_cases import CASES, enlarge, random_pairs, sides

from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.packing import PairBatch, pack_pairs
from neural_smt.networks.recurrent.network import RecurrentNetwork, Silence
from neural_smt.networks.softmax import smoothed, word_log_probabilities
from neural_smt.training.joint_texts import JointText
from neural_smt.training.noise import NoiseSource, draw_masks
from neural_smt.training.recurrent import RecurrentTask
from neural_smt.training.tasks import WHOLE, BatchOrder

CPU = torch.device("cpu")
SOURCE = NoiseSource(dropout=0.25, smoothing=0.1, embedding=200, maxout=100, seed=1)
PAIRS = random_pairs(9)


def packed(pairs: list) -> PairBatch:
    return pack_pairs(*sides(pairs), CPU)


def test_units_are_silent_as_often_as_asked_and_others_make_up_for_them() -> None:
    batch = packed(PAIRS)
    noise = SOURCE.of_batch(batch, 5, WHOLE, 9)
    assert noise is not None
    for mask, width in zip(noise[:3], (200, 200, 100), strict=True):
        assert mask.shape == (9, width)
        assert set(mask.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
        assert 0.15 < (mask == 0).float().mean() < 0.35
    assert replace(SOURCE, dropout=0.0, smoothing=0.0).of_batch(batch, 5, WHOLE, 9) is None
    assert not torch.equal(noise.source, SOURCE.of_batch(batch, 6, WHOLE, 9).source)


def test_a_pair_has_the_same_noise_in_every_share() -> None:
    whole = packed(PAIRS)
    together = SOURCE.of_batch(whole, 5, WHOLE, 9)
    share = packed(PAIRS[3:7])
    found = SOURCE.of_batch(share, 5, slice(3, 7), 9)
    of_pairs = [torch.empty(9, 200), torch.empty(4, 200)]
    for target, batch, noise in zip(of_pairs, (whole, share), (together, found), strict=True):
        target[batch.order] = noise.target
        # the source row of a target row has the noise of the same pair
        assert len(noise.source) == len(noise.target)
    assert torch.equal(of_pairs[0][3:7], of_pairs[1])
    sources = [
        noise.source[batch.pairing][torch.argsort(batch.order)] for batch, noise in ((whole, together), (share, found))
    ]
    assert torch.equal(sources[0][3:7], sources[1])


def test_scores_under_noise_are_those_of_a_network_without_the_silent_units() -> None:
    """One pair at a time: its silent units as if embeddings and readout did not have them."""
    config = EncoderDecoderConfig(13, 17, hidden=6, embedding=5, maxout=4, rank=3)
    network = EncoderDecoder(config).double()
    enlarge(network, 0.4)
    source = replace(SOURCE, embedding=5, maxout=4, dropout=0.5, smoothing=0.0)
    batch = packed(PAIRS)
    noise = source.of_batch(batch, 0, WHOLE, 9)
    assert noise is not None
    noise = noise._replace(**{name: getattr(noise, name).double() for name in ("source", "target", "readout")})
    with torch.no_grad():
        together = network(replace(batch, noise=noise))
        plain = network(batch)
        assert not torch.allclose(together, plain)
        for row, pair in enumerate(batch.order.tolist()):
            other = EncoderDecoder(config).double()
            other.load_state_dict(network.state_dict())
            masks = noise.source[batch.pairing[row]], noise.target[row], noise.readout[row]
            for part, mask in zip((other.source_embedding, other.target_embedding), masks, strict=False):
                part.weight *= mask
                part.bias *= mask
            other.inner.weight *= masks[2]
            torch.testing.assert_close(other(packed([PAIRS[pair]]))[0], together[pair])


@pytest.mark.parametrize("kind", ["recurrent", "learned"])
def test_a_recurrent_model_is_trained_without_the_silent_units_of_each_sentence(kind: str) -> None:
    """Embeddings, inputs and states as they are read; the state goes on whole."""
    case = CASES[kind]
    network, examples = case.random(), case.examples(7, 1)
    config = network.config
    inputs = np.concatenate([rows for _, rows in examples]) if config.inputs else None
    text = JointText(Ragged.from_lists([words for words, _ in examples]), inputs)
    task = RecurrentTask(network, text, text, BatchOrder(text.lengths, 7, seed=3, buffer=2), dropout=0.5)
    batch, rows = task.minibatch(4).inputs, task.order.rows(4)
    masks = draw_masks(0.5, (6, 6, config.inputs), 3, 4, WHOLE, 7)
    with torch.no_grad():
        silence = Silence(*(mask.double() for mask in batch.silence))
        found = RecurrentNetwork.forward(network, batch._replace(silence=silence))
        assert not torch.allclose(found, RecurrentNetwork.forward(network, batch._replace(silence=None)))
        sums = np.add.reduceat(found.numpy()[np.argsort(batch.tokens)], offsets_of(text.lengths[rows] + 1)[:-1])
        for row, number in enumerate(rows):
            embedded, hidden, read = (mask[row].double() for mask in masks)
            other = case.random()
            other.embedding *= embedded
            other.class_output *= torch.cat((hidden, read))
            other.word_output *= torch.cat((hidden, read))
            if config.inputs:
                other.input_hidden *= read
            assert other(case.pack([examples[number]], CPU)).item() == pytest.approx(sums[row])
    share = task.minibatch(4, slice(2, 5)).inputs
    together = dict(zip(batch.order.tolist(), torch.cat(batch.silence, 1), strict=True))
    for row, silent in zip(share.order.tolist(), torch.cat(share.silence, 1), strict=True):
        assert torch.equal(together[row + 2], silent)


def test_smoothed_scores_are_those_of_the_formula() -> None:
    random = torch.Generator().manual_seed(0)
    inner, weight, bias = (torch.randn(shape, generator=random).double() for shape in ((4, 3), (11, 3), 11))
    words = torch.tensor([0, 10, 3, 3])
    every = (inner @ weight.t() + bias).log_softmax(1)
    scores = word_log_probabilities(inner, weight, bias, words, inner.dtype)
    found = smoothed(scores, inner, weight, bias, words, 0.2)
    torch.testing.assert_close(found, 0.8 * every[torch.arange(4), words] + 0.2 * every.mean(1))
    np.testing.assert_allclose(smoothed(scores, inner, weight, bias, words, 0.0), scores)
