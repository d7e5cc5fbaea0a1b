"""What an attention network knows besides scores: its alignments, steps word by word, softmaxes over some words."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU, Case, dense, random_pairs, sides
from references import in_numpy, in_torch, translate

from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import (
    AttentionBatch,
    AttentionNetwork,
    membership,
    pack_batch,
    pack_sentences,
)
from neural_smt.vocabulary import EOS, UNK

CASE = CASES["attention"]
EVERY = pytest.mark.parametrize("case", [CASE, CASES["no word in scorer"]], ids=["word", "no word"])
OUTPUT = ("output.weight", "output.bias")

Pairs = Sequence[tuple[np.ndarray, np.ndarray]]


def random_network() -> AttentionNetwork:
    return CASE.random()


def random_sets(pairs: Pairs, seed: int = 4) -> Ragged:
    """For every target sentence its words and a few others, reserved ones among them."""
    random = np.random.default_rng(seed)
    return Ragged.from_lists([np.union1d(target, [UNK, EOS, *random.integers(3, 17, 2)]) for _, target in pairs])


def limited_batch(pairs: Pairs, sets: Ragged, own: bool = False, device: torch.device = CPU) -> AttentionBatch:
    """A batch predicted from the union of the sets, or with ``own`` each pair from its own."""
    ids = np.unique(sets.values)
    return pack_batch(*sides(pairs), device, ids, membership(ids, sets, ids[:0]) if own else None)


@EVERY
def test_alignments_are_those_of_the_equations_and_nothing_on_padding(case: Case) -> None:
    network, pairs = case.random(), random_pairs(12)
    batch = case.pack(pairs, CPU)
    for found, pair in zip(network.alignments(batch), pairs, strict=True):
        np.testing.assert_allclose(found, translate(in_numpy(network), *pair, np)[1], rtol=1e-11)
        np.testing.assert_allclose(found.sum(1), 1, rtol=1e-14)
    alphas, padding = network._decoded(batch)[2], batch.layout.padding[batch.pairs.target.rows]
    assert padding.any()
    assert (alphas[padding] == 0).all()
    assert (alphas[~padding] > 0).all()


@EVERY
def test_stepping_word_by_word_equals_the_whole(case: Case) -> None:
    network, (source, target) = case.random(), sides(random_pairs(8))
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
        pack_batch(*sides(random_pairs(3)), CPU, np.array([0, 3, 4]))


@pytest.mark.parametrize("own", [False, True])
def test_a_limited_batch_equals_the_literal_equations(own: bool) -> None:
    network, pairs = random_network(), random_pairs(12)
    # sets of the sentences in reverse: words to predict are missing
    sets = random_sets(pairs).take(np.arange(11, -1, -1))
    union = np.unique(sets.values)
    expected = [
        translate(in_numpy(network), *pair, np, list(sets[i]) if own else list(union))[0]
        for i, pair in enumerate(pairs)
    ]
    np.testing.assert_allclose(network(limited_batch(pairs, sets, own)).detach(), expected, rtol=1e-12)


def test_a_score_does_not_depend_on_the_sets_of_others() -> None:
    network, pairs = CASE.make(seed=1), random_pairs(40)
    sets = random_sets(pairs)
    together = network(limited_batch(pairs, sets, own=True)).detach()
    alone = [network(limited_batch([pairs[i]], sets.take(np.array([i])), own=True)).item() for i in range(40)]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_gradients_are_those_of_the_full_softmax_restricted_to_the_rows() -> None:
    """The full softmax over the same words: that of a network whose other logits are minus infinity."""
    network, pairs = random_network(), random_pairs(6)
    limited, full = limited_batch(pairs, random_sets(pairs)), CASE.pack(pairs, CPU)
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
    network, pairs = random_network(), random_pairs(5, seed=1)
    sets = random_sets(pairs)
    union, reference = list(np.unique(sets.values)), in_torch(network)
    for pair in pairs:
        translate(reference, *pair, torch, union)[0].backward()
    network(limited_batch(pairs, sets)).sum().backward()
    for name, parameter in network.named_parameters():
        np.testing.assert_allclose(dense(parameter.grad), reference[name].grad, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("own", [False, True])
def test_with_all_words_it_is_the_plain_model(own: bool) -> None:
    network, pairs = random_network(), random_pairs(12)
    everything = Ragged.from_lists([np.arange(17)] * 12)
    results = []
    for batch in (CASE.pack(pairs, CPU), limited_batch(pairs, everything, own)):
        network.zero_grad()
        scores = network(batch)
        scores.sum().backward()
        results.append((scores.detach(), [dense(parameter.grad) for parameter in network.parameters()]))
    (plain, plain_gradients), (limited, limited_gradients) = results
    torch.testing.assert_close(limited, plain, rtol=1e-13, atol=0)
    torch.testing.assert_close(limited_gradients, plain_gradients, rtol=1e-10, atol=1e-14)


def test_words_outside_are_unknown_words() -> None:
    network, sets = random_network(), Ragged.from_lists([[UNK, EOS, 7]])
    # the input after the first prediction differs, so compare the last words
    scores = [network(limited_batch([([5, 6], [7, word])], sets, own=True)).item() for word in (9, UNK)]
    expected = [translate(in_numpy(network), [5, 6], [7, word], np, [UNK, EOS, 7])[0] for word in (9, UNK)]
    assert scores == pytest.approx(expected, rel=1e-12)


def test_bfloat16_is_near() -> None:
    network, pairs = random_network().float(), random_pairs(20)
    batch = limited_batch(pairs, random_sets(pairs))
    exact = network(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = network(batch)
    rounded.sum().backward()
    assert rounded.dtype == torch.float32
    np.testing.assert_allclose(rounded.detach(), exact.detach(), rtol=0.03, atol=0.05)
    assert all(parameter.grad.dtype == torch.float32 for parameter in network.parameters())


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_equals_cpu() -> None:
    network, pairs, results = random_network(), random_pairs(20), []
    for device in (CPU, torch.device("cuda")):
        network.zero_grad()
        scores = network.to(device)(limited_batch(pairs, random_sets(pairs), device=device))
        scores.sum().backward()
        results.append([scores.detach().cpu(), *(dense(weight.grad).cpu().clone() for weight in network.parameters())])
    for expected, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-10)
