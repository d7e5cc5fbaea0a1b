"""Networks of all kinds with random weights, examples for them, and the scores of these by the equations."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from recurrent_reference import reference_scores
from references import cslm_log_probability, log_probability, translate
from torch import Tensor, nn

from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork, membership, pack_batch
from neural_smt.networks.cslm import CslmConfig, CslmNetwork, NgramBatch
from neural_smt.networks.device import uploaded
from neural_smt.networks.encoder_decoder import Conventions, EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.packing import Filling, pack_pairs
from neural_smt.networks.recurrent.configuration import RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork, SentenceBatch, pack_sentences
from neural_smt.vocabulary import EOS, UNK

CPU = torch.device("cpu")
SIZES: dict[str, Any] = {"source_words": 13, "target_words": 17, "hidden": 6, "embedding": 5, "maxout": 4, "rank": 3}


class Case(NamedTuple):
    """network, config: classes of a kind; sizes: what the configuration is made of; examples: so many of a seed; pack:
    examples as a batch on a device; score: log p of an example by the equations (parameters, example, xp).
    """

    network: type[nn.Module]
    config: type[Any]
    sizes: dict[str, Any]
    examples: Callable[[int, int], list[tuple[Any, Any]]]
    pack: Callable[[Sequence[tuple[Any, Any]], torch.device], Any]
    score: Callable[[dict[str, Any], tuple[Any, Any], Any], Any]

    def make(self, seed: int = 0, **changes: Any) -> nn.Module:
        """A network as it is initialised."""
        return self.network(self.config(**self.sizes | changes), seed)

    def random(self) -> nn.Module:
        """A network in double precision whose weights (biases too) are large enough to matter."""
        network = self.make().double()
        enlarge(network, 0.4)
        return network


def enlarge(network: nn.Module, deviation: float, seed: int = 3) -> None:
    """Add to every parameter, biases too, so much that each matters."""
    random = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += torch.from_numpy(random.normal(0.0, deviation, parameter.shape))


def dense(gradient: Tensor) -> Tensor:
    """A gradient without gaps."""
    return gradient.to_dense() if gradient.is_sparse else gradient


def differentiate(network: nn.Module, batch: Any, weights: Tensor | float = 1.0) -> list[Tensor]:
    """Scores of a batch, and the gradients of their (weighted) sum by all parameters."""
    network.zero_grad()
    scores = network(batch)
    (scores * weights).sum().backward()
    return [scores.detach().cpu(), *(dense(parameter.grad).cpu().clone() for parameter in network.parameters())]


def sides(pairs: Sequence[tuple[Any, Any]]) -> list[Ragged]:
    return [Ragged.from_lists(list(side)) for side in zip(*pairs, strict=True)]


def random_pairs(count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sentences of up to 7 ids; where there are three, one source and one target are empty."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 8, (2, count))
    lengths[0, 1:2] = lengths[1, 2:3] = 0
    words = SIZES["source_words"], SIZES["target_words"]
    return [tuple(random.integers(3, *part) for part in zip(words, row, strict=True)) for row in lengths.T]


def pairs_case(network: type[nn.Module], config: type[Any], pack: Callable, score: Callable, **sizes: Any) -> Case:
    return Case(network, config, SIZES | sizes, random_pairs, lambda pairs, place: pack(*sides(pairs), place), score)


def phrases(conventions: Any, unit: str = "gated", filled: Filling = "") -> Case:
    conventions = Conventions.following(conventions)
    return pairs_case(
        EncoderDecoder,
        EncoderDecoderConfig,
        partial(pack_pairs, filled=filled),
        lambda p, pair, xp: log_probability(p, *pair, xp, conventions),
        conventions=conventions,
        unit=unit,
    )


def attention(
    word_in_scorer: bool = True,
    allowed: Callable[[np.ndarray], np.ndarray] | None = None,
    own: bool = False,
    readout: str = "current",
    filled: Filling = "",
) -> Case:
    """allowed: the words that a target sentence may be predicted from, None: all; own: whether they are its own."""

    def pack_limited(source: Ragged, target: Ragged, place: torch.device) -> Any:
        sets = Ragged.from_lists([allowed(sentence) for sentence in target])
        ids = np.unique(sets.values)
        return pack_batch(source, target, place, ids, membership(ids, sets, ids[:0]) if own else None, filled)

    return pairs_case(
        AttentionNetwork,
        AttentionConfig,
        partial(pack_batch, filled=filled) if allowed is None else pack_limited,
        lambda p, pair, xp: translate(p, *pair, xp, allowed and allowed(pair[1]).tolist(), readout == "current")[0],
        attention=7,
        word_in_scorer=word_in_scorer,
        readout=readout,
    )


def common_words(target: np.ndarray) -> np.ndarray:
    return np.array([UNK, EOS, 3, 4, 7, 8, 11, 13, 16])


def half_of_the_words(target: np.ndarray) -> np.ndarray:
    """Every other word of a sentence, so that some are missing, and a few more that depend on them."""
    return np.unique([UNK, EOS, *target[::2], 3 + target.sum() % 14, 3 + len(target)])


def ngrams(count: int, seed: int = 0) -> list[tuple[np.ndarray, int]]:
    random = np.random.default_rng(seed)
    return list(zip(random.integers(0, 15, (count, 4)), random.integers(0, 14, count), strict=True))


def pack_ngrams(examples: Sequence[tuple[np.ndarray, int]], place: torch.device) -> NgramBatch:
    return NgramBatch(*(torch.from_numpy(np.array(part)).to(place) for part in zip(*examples, strict=True)))


CLASSES = WordClasses(np.array([3, 5, 0, 2, 6, 4, 7, 8], dtype=np.int32), np.array([0, 2, 3, 8]))
"""Nine words in classes of two, one (``UNK``) and five."""

INPUTS = np.random.default_rng(3).normal(size=(5, 3))
"""The vectors that recurrent models read which learn none."""


class SentenceModel(RecurrentNetwork):
    """A recurrent model of ``CLASSES`` whose scores are those of whole sentences."""

    def __init__(self, config: RecurrentConfig, seed: int = 0):
        super().__init__(config, CLASSES, seed)

    def forward(self, given: tuple[SentenceBatch, Tensor]) -> Tensor:
        batch, owner = given
        if batch.table is not None:
            batch = batch._replace(table=batch.table.to(self.embedding.dtype))
        scores = super().forward(batch)
        return scores.new_zeros(batch.sizes[0]).index_add(0, owner, scores)


def recurrent(**sizes: Any) -> Case:
    sizes = {"words": 9, "classes": 3, "hidden": 6} | sizes
    config = RecurrentConfig(**sizes)

    def examples(count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sentences of up to 9 ids, the second empty, with the rows of the inputs of each word."""
        random = np.random.default_rng(seed)
        lengths = random.integers(1, 10, count)
        lengths[1:2] = 0
        words = (random.choice([UNK, 3, 4, 5, 6, 7, 8], length).astype(np.int32) for length in lengths)
        return [(sentence, random.integers(0, 3, (len(sentence) + 1, config.slots))) for sentence in words]

    def pack_rows(found: Sequence[tuple[Any, Any]], place: torch.device) -> tuple[SentenceBatch, Tensor]:
        sentences, rows = Ragged.from_lists([words for words, _ in found]), np.concatenate([rows for _, rows in found])
        table = None if config.input_rows else torch.from_numpy(INPUTS).to(place)
        batch = pack_sentences(config, CLASSES, sentences, rows if config.slots else None, table)
        owner = np.repeat(np.arange(len(found)), sentences.lengths + 1)[batch.tokens]
        return uploaded((batch, torch.from_numpy(owner)), place)

    def score(p: dict[str, Any], example: tuple[Any, Any], xp: Any) -> Any:
        words, rows = example
        table = p["input_table"] if config.input_rows else xp.asarray(INPUTS)
        inputs = table[xp.asarray(rows)].reshape(len(rows), config.inputs)
        return reference_scores(config, CLASSES, p, words.tolist(), inputs, xp).sum()

    return Case(SentenceModel, RecurrentConfig, sizes, examples, pack_rows, score)


RECURRENT = {
    "recurrent": recurrent(direct_size=0),
    "direct": recurrent(direct_size=128),
    "unigrams": recurrent(direct_size=64, direct_order=1),
    "inputs": recurrent(direct_size=128, direct_order=5, slots=2, dimensions=3),
    "one vector": recurrent(direct_size=0, slots=1, dimensions=3),
    "learned": recurrent(direct_size=0, slots=2, dimensions=3, input_rows=5),
}

WAYS: Sequence[Filling] = ("rows", "tiles")

CASES = {
    **{str(conventions): phrases(conventions) for conventions in ("code", "paper")},
    **{name.name: phrases({name.name: "paper"}) for name in fields(Conventions)[:3]},
    "tanh": phrases("code", "tanh"),
    "tanh paper": phrases({"summary": "paper", "first_step": "paper"}, "tanh"),
    "attention": attention(),
    "no word in scorer": attention(False),
    "previous readout": attention(readout="previous"),
    "words in common": attention(allowed=common_words),
    "own words": attention(allowed=half_of_the_words, own=True),
    "cslm": Case(
        CslmNetwork,
        CslmConfig,
        {"words": 15, "order": 5, "projection": 4, "layers": (7, 6)},
        ngrams,
        pack_ngrams,
        lambda p, ngram, xp: cslm_log_probability(p, *ngram, xp),
    ),
    **RECURRENT,
    **{f"{ways}, in {way}": phrases(ways, filled=way) for ways in ("code", "paper") for way in WAYS},
    **{f"attention, in {way}": attention(filled=way) for way in WAYS},
    **{f"words in common, in {way}": attention(allowed=common_words, readout="previous", filled=way) for way in WAYS},
}
