"""What an attention network knows besides scores: its alignments, steps word by word, softmaxes over some words."""

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU, Case, attention, differentiate, random_pairs, sides
from references import in_numpy, translate

from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import membership, pack_batch, pack_sentences
from neural_smt.vocabulary import EOS

CASE = CASES["attention"]
KINDS = "attention", "no word in scorer", "previous readout"
EVERY = pytest.mark.parametrize("case", [CASES[name] for name in KINDS], ids=KINDS)


@EVERY
def test_alignments_are_those_of_the_equations_and_nothing_on_padding(case: Case) -> None:
    network, pairs = case.random(), random_pairs(12)
    batch = case.pack(pairs, CPU)
    for found, pair in zip(network.alignments(batch), pairs, strict=True):
        np.testing.assert_allclose(
            found, translate(in_numpy(network), *pair, np, current=network.current)[1], rtol=1e-11
        )
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
            inner, kept, alpha = network.look(state, previous, own)
            total += torch.log_softmax(inner @ weight.T + bias, 1)[0, word].item()
            found = alpha[0, : alignments[pair].shape[1]]
            np.testing.assert_allclose(found, alignments[pair][position], rtol=1e-10)
            previous = torch.tensor([word])
            state = network.advance(state, previous, kept)
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


@pytest.mark.parametrize("name", ["words in common", "own words"])
def test_gradients_of_the_output_layer_are_those_of_its_words_alone(name: str) -> None:
    """The words are as if those outside had logits of minus infinity: the full softmax has the same gradients."""
    network, pairs = CASES[name].random(), random_pairs(6)
    batch = CASES[name].pack(pairs, CPU)
    network(batch).sum().backward()
    for parameter in (network.output.weight, network.output.bias):
        assert parameter.grad.is_sparse
        assert parameter.grad.coalesce().indices()[0].tolist() == batch.vocabulary.ids.tolist()


@pytest.mark.parametrize("own", [False, True])
def test_with_all_words_it_is_the_plain_model(own: bool) -> None:
    pairs, cases = random_pairs(12), (CASE, attention(allowed=lambda target: np.arange(17), own=own))
    results = (differentiate(case.random(), case.pack(pairs, CPU)) for case in cases)
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-14)
