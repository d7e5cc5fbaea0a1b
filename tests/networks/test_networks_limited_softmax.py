"""The softmax over the words of a batch: values, gradients of its rows alone, and what an update leaves alone."""

import numpy as np
import pytest
import torch
from attention_reference import translate
from paper_reference import in_numpy, in_torch
from test_networks_attention import CPU, dense, limited_batch, random_network, random_pairs, random_sets

from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import membership, pack_batch
from neural_smt.vocabulary import EOS, UNK

OUTPUT = ("output.weight", "output.bias")


def test_the_words_of_a_batch() -> None:
    source, target = Ragged.from_lists([[3], [4]]), Ragged.from_lists([[5], [9, 12]])
    sets = Ragged.from_lists([[5, 7], [7, 9, 11]])
    ids, common = np.array([0, 2, 5, 7, 9, 11]), np.array([0, 2])
    shared = pack_batch(source, target, CPU, ids)
    # rows by length: 9 12 EOS and 5 EOS, step by step; 12 is in no set
    assert shared.pairs.target.words.tolist() == [9, 5, 12, EOS, EOS]
    assert shared.vocabulary.words.tolist() == [4, 2, 0, 1, 1]
    assert shared.vocabulary.allowed is None
    own = pack_batch(source, target, CPU, ids, membership(ids, sets, common)).vocabulary
    assert own.allowed.tolist() == [[True, True, False, True, True, True], [True, True, True, True, False, False]]
    assert own.words.tolist() == [4, 2, 0, 1, 1]
    # a word of the other's set alone is unknown too
    swapped = pack_batch(source, target, CPU, ids, membership(ids, sets, common)[::-1]).vocabulary
    assert swapped.words.tolist() == [0, 0, 0, 1, 1]


def test_unknown_word_and_end_symbol_are_needed() -> None:
    with pytest.raises(ValueError, match="must be among the words"):
        pack_batch(*random_pairs(3), CPU, np.array([0, 3, 4]))


@pytest.mark.parametrize("own", [False, True])
def test_a_limited_batch_equals_the_literal_equations(own: bool) -> None:
    network, (source, target) = random_network(), random_pairs(12)
    # sets of the sentences in reverse: words to predict are missing
    sets = random_sets(target).take(np.arange(11, -1, -1))
    union = np.unique(sets.values)
    parameters = in_numpy(network)
    expected = [
        translate(parameters, *pair, np, list(sets[i]) if own else list(union))[0]
        for i, pair in enumerate(zip(source, target, strict=True))
    ]
    found = network(limited_batch(source, target, sets, own)).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_gradients_are_those_of_the_full_softmax_restricted_to_the_rows() -> None:
    """The full softmax over the same words: that of a network whose other logits are minus infinity."""
    network, (source, target) = random_network(), random_pairs(6)
    limited, full = limited_batch(source, target, random_sets(target)), pack_batch(source, target, CPU)
    ids = limited.vocabulary.ids
    others = torch.tensor([word for word in range(17) if word not in ids])
    assert len(others) > 0
    network(limited).sum().backward()
    found = {name: parameter.grad for name, parameter in network.named_parameters()}
    for name in OUTPUT:
        assert found[name].is_sparse
        assert found[name].coalesce().indices()[0].tolist() == ids.tolist()
    network.zero_grad()
    with torch.no_grad():
        network.output.bias[others] = -1e4
    network(full).sum().backward()
    for name, parameter in network.named_parameters():
        np.testing.assert_allclose(dense(found[name]), dense(parameter.grad), rtol=1e-9, atol=1e-13, err_msg=name)
        if name in OUTPUT:
            assert (parameter.grad[others] == 0).all()


def test_gradients_are_those_of_the_equations() -> None:
    network, (source, target) = random_network(), random_pairs(5, seed=1)
    sets = random_sets(target)
    union, reference = list(np.unique(sets.values)), in_torch(network)
    for pair in zip(source, target, strict=True):
        translate(reference, *pair, torch, union)[0].backward()
    network(limited_batch(source, target, sets)).sum().backward()
    for name, parameter in network.named_parameters():
        np.testing.assert_allclose(dense(parameter.grad), reference[name].grad, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("own", [False, True])
def test_with_all_words_it_is_the_plain_model(own: bool) -> None:
    network, (source, target) = random_network(), random_pairs(12)
    everything = Ragged.from_lists([np.arange(17)] * 12)
    results = []
    for batch in (pack_batch(source, target, CPU), limited_batch(source, target, everything, own)):
        network.zero_grad()
        scores = network(batch)
        scores.sum().backward()
        results.append((scores.detach(), [dense(parameter.grad) for parameter in network.parameters()]))
    (plain, plain_gradients), (limited, limited_gradients) = results
    torch.testing.assert_close(limited, plain, rtol=1e-13, atol=0)
    torch.testing.assert_close(limited_gradients, plain_gradients, rtol=1e-10, atol=1e-14)


def test_words_outside_are_unknown_words() -> None:
    network, source = random_network(), Ragged.from_lists([[5, 6]])
    sets = Ragged.from_lists([[UNK, EOS, 7]])
    # the input after the first prediction differs, so compare the last words
    scores = [
        network(limited_batch(source, Ragged.from_lists([[7, word]]), sets, own=True)).item() for word in (9, UNK)
    ]
    expected = [translate(in_numpy(network), [5, 6], [7, word], np, [UNK, EOS, 7])[0] for word in (9, UNK)]
    assert scores == pytest.approx(expected, rel=1e-12)
