"""Lattices with the source words that every target word is aligned to, as networks that rescore them read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from neural_smt.decoding.features import COLUMN_WEIGHT, Feature, FeatureSet, Weights
from neural_smt.decoding.lattices.flat import FlatLattices
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.search import Decoder
from neural_smt.decoding.translations import phrase_links
from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.files import atomic, digest_lines, read_lines, write_lines
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.records import FILE, arrays_of, record_of
from neural_smt.networks.recurrent.configuration import LinkSets
from neural_smt.representations.links import aligned_positions, intern_links
from neural_smt.vocabulary import BOS, UNK, Vocabulary


def model_ids(words: Sequence[str], vocabulary: Vocabulary) -> np.ndarray:
    """int32: words in the ids of a recurrent model's vocabulary, by their spelling."""
    ids = vocabulary.ids(words)
    ids[ids == BOS] = UNK  # a text may hold <s>, but no model predicts it
    return ids


@dataclass(frozen=True)
class _Arrays:
    flat: FlatLattices
    links: Annotated[np.ndarray, "int32 [W] < N"]
    ends: Annotated[np.ndarray, "int32 [S] < N"]
    sets: LinkSets

    def fault(self) -> str | None:
        """What is wrong with the lattices as they were read, besides their layout."""
        return self.flat.fault() if len(self.links) == len(self.flat.words.values) else "not every word has links"


@dataclass(frozen=True)
class AlignedLattices(_Arrays):
    """The lattices of S sentences with A arcs, W words on them and F scores.

    flat: the lattices; links: the number of the link set of each word of ``flat.words``; ends: that of the end of each
    sentence; sets: the N link sets; features: what the scores are, with the weights that the lattices were made with;
    words: how ids are spelled, first the ``vocabulary_size`` words of the target vocabulary, then words that were
    copied.
    """

    features: FeatureSet
    words: list[str]
    vocabulary_size: int

    def __len__(self) -> int:
        """The number of sentences S."""
        return len(self.flat)

    @classmethod
    def of(cls, lattices: Sequence[Lattice | None], decoder: Decoder) -> "AlignedLattices":
        """Lattices that a decoder made (None: of an empty sentence), of all sentences of one call."""
        flat = FlatLattices.of(lattices, decoder.feature_set.size)
        filled, positions = [x for x in lattices if x is not None], Ragged.from_lists([])
        if filled:
            options, starts = (np.concatenate([getattr(x, name) for x in filled]) for name in ("options", "starts"))
            positions = source_positions(filled[0].weighted, decoder.model, options, starts)  # one call has one for all
        ends = np.arange(len(lattices))
        sets, numbers = intern_links(
            np.concatenate([flat.sentences_of_words, ends]),
            Ragged(positions.values, np.append(positions.offsets, [positions.offsets[-1]] * len(ends))),
        )
        weights = Weights.from_vector(decoder.feature_set, decoder.vector).values
        features = [Feature(f.name, weights[f.name], tunable=f.tunable) for f in decoder.feature_set]
        vocabulary = decoder.model.target_vocabulary
        copied = filled[0].weighted.prepared.unknown_words if filled else []
        return cls(
            flat,
            numbers[: len(positions)],
            numbers[len(positions) :],
            sets,
            FeatureSet(features),
            [*vocabulary.words, *copied],
            len(vocabulary),
        )

    @cached_property
    def made_with(self) -> np.ndarray:
        """float64 ``[F]``: the weights that the lattices were made with."""
        return np.concatenate([np.zeros(0), *(np.array(feature.weights) for feature in self.features)])

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The target vocabulary, without its counts."""
        return Vocabulary(self.words[: self.vocabulary_size], [0] * self.vocabulary_size)

    @property
    def copied(self) -> list[str]:
        """The words beyond the target vocabulary."""
        return self.words[self.vocabulary_size :]

    def with_feature(self, name: str) -> FeatureSet:
        """The features and that of a network after them."""
        return FeatureSet([*self.features, Feature(name, (COLUMN_WEIGHT,))])

    def spell(self, ids: np.ndarray) -> list[str]:
        """The words of ids as strings."""
        return [self.words[i] for i in ids.tolist()]

    def save(self, folder: Path) -> None:
        """Write a folder of arrays and spelled words, replacing an older one atomically."""
        features = [{"name": f.name, "weights": list(f.weights), "tunable": f.tunable} for f in self.features]
        with atomic(folder, directory=True) as temporary:
            write_lines(temporary / "words.txt", self.words)
            meta = {"features": features, "vocabulary_size": self.vocabulary_size, "words": digest_lines(self.words)}
            write_arrays(temporary / FILE, arrays_of(self, _Arrays), meta)

    @classmethod
    def load(cls, folder: Path) -> "AlignedLattices":
        """Read what ``save`` wrote into memory; ``UserError`` where parts do not fit."""
        folder = Path(folder)
        arrays = read_arrays(folder / FILE, mapped=False, advice="decode into lattices again")
        meta, words = arrays.meta, read_lines(folder / "words.txt")
        features = FeatureSet([Feature(f["name"], tuple(f["weights"]), tunable=f["tunable"]) for f in meta["features"]])
        read = record_of(_Arrays, arrays, F=features.size)
        if digest_lines(words) != meta["words"] or read.flat.words.values.max(initial=-1) >= len(words):
            raise arrays.damaged("its words are not those of words.txt")
        return cls(**vars(read), features=features, words=words, vocabulary_size=meta["vocabulary_size"])


def source_positions(
    weighted: WeightedSentences, model: TranslationModel, options: np.ndarray, starts: np.ndarray
) -> Ragged:
    """int32 ``Ragged`` of all words of n options in a row: their source positions within the sentence, rising.

    options, starts: int ``[n]``, the option and the first source word that it covers.
    """
    distinct, option_of = np.unique(options, return_inverse=True)
    lengths = np.diff(weighted.options.word_offsets)[distinct]
    positions = aligned_positions(phrase_links(weighted.prepared.rows[weighted.rows[distinct]], model), lengths)
    places = Ragged(np.arange(len(positions)), offsets_of(lengths)).take(option_of)
    words = positions.take(places.values)
    shifts = np.repeat(np.repeat(starts, places.lengths), words.lengths)
    return Ragged((words.values + shifts).astype(np.int32), words.offsets)
