"""Lattices of tiny models, recurrent models to rescore them with, and all their paths scored by the equations."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from lattice_files import all_paths
from recurrent_reference import random_weights, reference_scores
from tiny_models import EVERYTHING, random_model

from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices, model_ids
from neural_smt.decoding.reranking.push_forward import LatticeScorer
from neural_smt.decoding.scorers.recurrent import RecurrentTextScorer
from neural_smt.decoding.search import Decoder
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.scorer import RecurrentScorer
from neural_smt.vocabulary import Vocabulary

SENTENCES = [["a", "b", "c"], [], ["c", "unknown", "a"], ["b"], ["c", "a", "b", "other"], ["a", "a"]]

MODEL = Vocabulary(["<unk>", "<s>", "</s>", "y", "x", "other", "never"], [0] * 7)
"""The words of the recurrent model: fewer than the target vocabulary has, in another order, and others."""

KINDS = ("none", "sentence", "links")
"""What inputs depend on."""


def linked_lattices(seed: int, sentences=SENTENCES) -> tuple[AlignedLattices, Decoder]:
    """Every derivation of some sentences by a random model whose phrase pairs have random alignments."""
    model, weights = random_model(seed)
    generator = np.random.default_rng(seed)
    table = model.phrase_table
    links = []
    for row, source in enumerate(table.entry_source):
        size = len(table.source[source]), len(table.target[row])
        pairs = {tuple(generator.integers(0, size).tolist()) for _ in range(generator.integers(1, 4))}
        links.append(sorted(pairs))
    alignment = Ragged(np.concatenate(links).astype(np.uint8), offsets_of([len(pairs) for pairs in links]))
    decoder = Decoder(replace(model, phrase_table=replace(table, alignment=alignment)), EVERYTHING, weights)
    return AlignedLattices.of(decoder.lattices(list(sentences)), decoder), decoder


@dataclass(eq=False)
class World:
    """Lattices and the decoder that made them, a recurrent model with inputs of some kind, and weights."""

    lattices: AlignedLattices
    decoder: Decoder
    config: RecurrentConfig
    classes: WordClasses
    weights: dict[str, np.ndarray]
    inputs: AuxiliaryInputs | None
    vector: np.ndarray
    weight: float

    @property
    def model(self) -> LatticeScorer:
        scorer = RecurrentTextScorer(RecurrentScorer(self.config, self.classes, self.weights), self.inputs)
        return LatticeScorer(self.lattices, "Recurrent0", scorer, self.words)

    @property
    def all_weights(self) -> np.ndarray:
        """float64 ``[F + 1]``: the weights of the lattices' scores and of the model."""
        return np.append(self.vector, self.weight)

    @property
    def words(self) -> np.ndarray:
        """The words of all arcs in the model's ids."""
        return model_ids(self.lattices.words, MODEL)[self.lattices.flat.words.values]

    def score(self, arcs: list[int], sentence: int) -> tuple[float, float]:
        """Weighted and recurrent score of a path by the equations."""
        recurrent = float(word_scores(self, *self.predicted(arcs, sentence)).sum())
        features = self.lattices.flat.features[:, arcs].astype(np.float64).sum(axis=1)
        return float(features @ self.vector + self.weight * recurrent), recurrent

    def predicted(self, arcs: list[int], sentence: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The words of a path in the model's ids, and the link sets of these words and of the end."""
        places = Ragged(np.arange(len(self.words)), self.lattices.flat.words.offsets).take(arcs).values
        links = [*self.lattices.links[places].tolist(), int(self.lattices.ends[sentence])]
        return tuple(self.words[places].tolist()), tuple(links)

    def paths(self, sentence: int) -> list[list[int]]:
        """Every path of a sentence as arcs."""
        return all_paths(self.lattices.flat, sentence)


@cache
def word_scores(world: World, words: tuple[int, ...], links: tuple[int, ...]) -> np.ndarray:
    """ln p of words and of the end of their sentence by the equations; links: the link set of each."""
    known = world.inputs.table[world.inputs.rows[list(links)]] if world.inputs else np.zeros((len(links), 0))
    return reference_scores(world.config, world.classes, world.weights, list(words), known.reshape(len(links), -1))


def random_world(seed: int, kind: str, sentences=SENTENCES, direct_size: int = 64) -> World:
    """A world of which everything is random."""
    lattices, decoder = linked_lattices(seed, sentences)
    generator = np.random.default_rng(seed + 1)
    slots, dimensions = {"none": (0, 0), "sentence": (1, 3), "links": (2, 2)}[kind]
    config = RecurrentConfig(len(MODEL), 3, 5, slots, dimensions, 0, direct_size)
    units = generator.permutation(np.delete(np.arange(len(MODEL)), 1)).astype(np.int32)
    inputs = None
    if kind != "none":
        sets = lattices.sets
        rows = generator.integers(0, 6, (len(sets), slots)) if kind == "links" else sets.sentences[:, None]
        inputs = AuxiliaryInputs(rows.astype(np.int32), generator.normal(size=(6, dimensions)).astype(np.float32))
    classes = WordClasses(units, np.array([0, 1, 3, len(units)]))
    return World(lattices, decoder, config, classes, random_weights(config, seed), inputs, decoder.vector, 0.7)


class Positions:
    """A representation whose rows tell the sentences and the source positions apart."""

    of_sentences = False

    def __init__(self, slots: int, dimensions: int):
        self.slots = slots
        self.table = np.random.default_rng(8).normal(size=(50, dimensions)).astype(np.float32)

    def rows(self, tokens: list[str], positions: list[int]) -> list[int]:
        key = sum(ord(token[0]) for token in tokens) + sum(3 * position + 1 for position in positions)
        return [(key * (slot + 2)) % 50 for slot in range(self.slots)]

    def inputs(self, sentences, links) -> AuxiliaryInputs:
        rows = [
            self.rows(sentences[sentence], positions.tolist())
            for sentence, positions in zip(links.sentences.tolist(), links.positions, strict=True)
        ]
        return AuxiliaryInputs(np.array(rows, dtype=np.int32).reshape(len(rows), self.slots), self.table)


def read_positions(world: World, kind: str) -> Positions | None:
    """Let the model of a world read ``Positions``, if it reads something."""
    if kind == "none":
        return None
    representation = Positions(world.config.slots, world.config.dimensions)
    world.inputs = representation.inputs(SENTENCES, world.lattices.sets)
    return representation
