"""Training of encoder-decoders from a phrase table to a model folder; the order of minibatches; pairs held out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import check_refused
from training_runs import SETTINGS, Inputs, train, weights

from neural_smt.io.checkpoint import NAME
from neural_smt.io.files import read_csv, read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.folder import Trained
from neural_smt.training.encoder_decoder import split_pairs
from neural_smt.training.tasks import BatchOrder
from neural_smt.training.texts import Pairs, split_sentences

KIND = "encoder_decoder"


def test_two_threads_make_the_same_in_every_run(inputs: Inputs, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for name in "abcd":
            train(KIND, inputs, tmp_path / name, batch=400, hidden=64, maxout=256, updates=4, validate_every=4)
    finally:
        torch.set_num_threads(before)
    assert len({weights(tmp_path / name) for name in "abcd"}) == 1
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_broken_checkpoint_starts_afresh(inputs: Inputs, tmp_path: Path) -> None:
    train(KIND, inputs, tmp_path)
    expected = weights(tmp_path)
    checkpoint = tmp_path / "state" / NAME
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    train(KIND, inputs, tmp_path)
    assert weights(tmp_path) == expected


@pytest.mark.slow
def test_word_by_word_translation_is_learnt(inputs: Inputs, tmp_path: Path) -> None:
    train(KIND, inputs, tmp_path, hidden=32, embedding=16, maxout=16, rank=16, updates=1500, validate_every=250)
    rows = read_csv(tmp_path / "curve.csv")
    assert [row["updates"] for row in rows] == ["250", "500", "750", "1000", "1250", "1500"]
    curve = [float(row["validation_perplexity"]) for row in rows]
    assert curve[0] > 5
    assert curve[-1] < 4


@pytest.mark.parametrize("unit", ["gated", "tanh"])
def test_a_backward_network_reads_target_phrases(inputs: Inputs, tmp_path: Path, unit: str) -> None:
    """Source words are s<i>, target words t<i>; both directions hold out the same pairs."""
    for direction, read in (("forward", "s"), ("backward", "t")):
        train(KIND, inputs, tmp_path / direction, unit=unit, direction=direction)
        model = Trained.load(tmp_path / direction / "model", EncoderDecoder, torch.device("cpu"))
        assert model.network.config.direction == direction
        assert {word[0] for word in model.source.words[3:]} == {read}
        assert {word[0] for word in model.target.words[3:]} == {"s", "t"} - {read}
    curves = [read_csv(tmp_path / direction / "curve.csv") for direction in ("forward", "backward")]
    for row in zip(*curves, strict=True):
        # the language is symmetric, so what both learn is nearly the same
        perplexities = [float(record["validation_perplexity"]) for record in row]
        assert perplexities[0] == pytest.approx(perplexities[1], rel=0.1)


def test_the_curve_counts_words_and_epochs(inputs: Inputs, tmp_path: Path) -> None:
    targets = [line.split(" ||| ")[1].split() for line in read_lines(inputs["phrase_table"].parent / "table.txt")]
    words = sum(len(target) + 1 for target in targets)
    epoch = -(-len(targets) // SETTINGS[KIND]["batch"])
    train(KIND, inputs, tmp_path, validation_pairs=0, updates=2 * epoch, validate_every=epoch)
    rows = read_csv(tmp_path / "curve.csv")
    assert [(row["examples"], row["words"], row["epochs"]) for row in rows] == [
        (str(len(targets)), str(words), "1.0000"),
        (str(2 * len(targets)), str(2 * words), "2.0000"),
    ]


def test_a_table_of_other_vocabularies_is_refused(inputs: Inputs, tmp_path: Path) -> None:
    swapped = inputs | {"source_vocabulary": inputs["target_vocabulary"]}
    check_refused("another source vocabulary", train, KIND, swapped, tmp_path)


def order_of(count: int, reshuffle: bool = False, seed: int = 0) -> BatchOrder:
    lengths = np.random.default_rng(9).integers(1, 8, count)
    return BatchOrder(lengths, batch=4, buffer=3, seed=seed, reshuffle=reshuffle)


def test_an_epoch_holds_every_pair_once_sorted_within_each_buffer() -> None:
    order = order_of(50)
    assert order.updates_per_epoch == 13
    batches = [order.rows(update) for update in range(13)]
    assert sorted(np.concatenate(batches).tolist()) == list(range(50))
    assert [len(rows) for rows in batches] == [4] * 12 + [2]
    for start in range(0, 13, 3):
        lengths = order.lengths[np.concatenate(batches[start : start + 3])]
        assert (np.diff(lengths) >= 0).all()


def test_the_code_repeats_its_order_and_the_paper_does_not() -> None:
    def rows(seed: int = 0, reshuffle: bool = False) -> list[list[int]]:
        order = order_of(50, reshuffle, seed)
        return [order.rows(update).tolist() for update in range(26)]

    fixed, fresh = rows(), rows(reshuffle=True)
    assert fixed[:13] == fixed[13:] == fresh[:13] and fresh[:13] != fresh[13:]
    assert rows(seed=1)[:13] != fixed[:13]
    for update in (23, 3, 20):  # any update can be asked for first
        assert order_of(50, reshuffle=True).rows(update).tolist() == fresh[update]


def examples(part: Pairs | Ragged) -> list[tuple[Any, ...]]:
    sides = (part.source, part.target) if isinstance(part, Pairs) else (part,)
    return sorted(zip(*(map(tuple, side) for side in sides), strict=True))


@pytest.mark.parametrize("kind", ["pairs", "sentences"])
def test_examples_that_look_alike_fall_on_the_same_side(kind: str) -> None:
    sentences = Ragged.from_lists(np.random.default_rng(0).integers(3, 9, (3000, 4)).tolist())
    whole = Pairs(sentences, sentences) if kind == "pairs" else sentences

    def split(of: Any, count: int, seed: int) -> tuple[Any, Any]:
        return (
            split_pairs([of.take(np.arange(1000)), of.take(np.arange(1000, 3000))], 3000, count, seed)
            if kind == "pairs"
            else split_sentences(of, count / 3000, seed)
        )

    kept, held_out = split(whole, 300, 1)
    assert len(kept) + len(held_out) == 3000 and 220 < len(held_out) < 380
    assert not set(examples(kept)) & set(examples(held_out))
    assert examples(split(whole.take(np.arange(2999, -1, -1)), 300, 1)[1]) == examples(held_out)
    assert examples(split(whole, 300, 2)[1]) != examples(held_out)
    assert len(split(whole, 0, 1)[1]) == 0 and 1300 < len(split(whole, 1500, 1)[1]) < 1700
    assert len(split_sentences(sentences, 1e-9, 1)[1]) >= 1
