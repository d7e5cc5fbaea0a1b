"""What tuning tunes on, and with what: n-best lists with MERT or MIRA, or lattices with MERT."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from neural_smt.bleu import bleu
from neural_smt.bleu_primitives import count_translations
from neural_smt.decoding.batches import StatefulFeature
from neural_smt.decoding.features import Weights
from neural_smt.decoding.lattices.flat import FlatLattices, best_paths
from neural_smt.decoding.lattices.oracle import encode_references
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import prepare
from neural_smt.decoding.search import Decoder
from neural_smt.decoding.translations import NBestList
from neural_smt.errors import UserError, required
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.tuning.candidates import Candidates, LatticePool, join
from neural_smt.tuning.lattice_mert import LatticeSurface, optimise_lattices
from neural_smt.tuning.mert import ErrorSurface, Optimum, Surface, highest, optima
from neural_smt.tuning.mira import optimise_margins


@dataclass
class Method(ABC):
    """One way to tune. pool: the kind of its pool; decode: translates the development set with weights float64 ``[F]``
    (None: nothing is decoded); references: one of each sentence, int32 ``Ragged`` in the ids of what is decoded;
    tunable: bool ``[F]``; settings: of the section ``tuning``.
    """

    pool: ClassVar[type[Candidates] | type[LatticePool]]
    decode: Callable[[np.ndarray], Any] | None
    references: Ragged
    tunable: np.ndarray
    settings: Settings

    @abstractmethod
    def gather(self, pool: Any, weights: np.ndarray) -> tuple[float, Any]:
        """Decode with ``weights``: corpus BLEU (0 to 1) of the best translations, and the pool with what was found."""

    @abstractmethod
    def surface(self, pool: Any) -> Surface:
        """BLEU on a pool as a function of the weights."""

    @abstractmethod
    def optimise(
        self, pool: Any, weights: np.ndarray, generator: np.random.Generator, threads: int
    ) -> tuple[Optimum, Any]:
        """The best weights for the pool, starting from ``weights``, and the pool with what is worth keeping."""


def optimise_lists(
    lists: Candidates,
    surface: ErrorSurface,
    starts: Sequence[np.ndarray],
    settings: Settings,
    generator: np.random.Generator,
    threads: int,
) -> Optimum:
    """The best weights for n-best lists by MERT, starting from each of ``starts``, or by MIRA, from the first; surface:
    of the same lists; settings: of the section ``tuning``.
    """
    if settings.optimiser == "mira":
        found = optimise_margins(lists, surface, starts[0], generator, settings.mira)
        # MIRA's weights have a scale of their own, under which the beam of the search would be another one.
        return Optimum(surface.normalised(found.weights), found.bleu)
    return highest(optima(surface, starts, settings, generator, threads))


class ListMethod(Method):
    """N-best lists that ``decode`` makes (of one or more entries), with MERT (Och 2003) or batch MIRA (Cherry and
    Foster 2012).
    """

    pool = Candidates

    def surface(self, pool: Candidates) -> ErrorSurface:
        """See ``Method``."""
        return ErrorSurface(pool, self.tunable)

    def optimise(
        self, pool: Candidates, weights: np.ndarray, generator: np.random.Generator, threads: int
    ) -> tuple[Optimum, Candidates]:
        return optimise_lists(pool, self.surface(pool), [weights], self.settings, generator, threads), pool

    def gather(self, pool: Candidates, weights: np.ndarray) -> tuple[float, Candidates]:
        lists: Sequence[NBestList] = required(self.decode)(weights)
        if not lists:
            raise UserError("decoding gave no translation of the development set; check that the text is not empty")
        numbers, first = np.arange(len(lists), dtype=np.int32), offsets_of([len(entries) for entries in lists])
        words, features = Ragged.concatenate([e.words for e in lists]), np.concatenate([e.features for e in lists])
        found = pool.with_ids(np.repeat(numbers, np.diff(first)), words, features, self.references)
        return bleu(count_translations(words.take(first[:-1]).arrays, numbers, self.references.arrays)), found


class LatticeMethod(Method):
    """Lattices that ``decode`` makes (``FlatLattices``), with MERT (Macherey et al. 2008)."""

    pool = LatticePool

    def gather(self, pool: LatticePool, weights: np.ndarray) -> tuple[float, LatticePool]:
        lattices = required(self.decode)(weights)
        surface = LatticeSurface(lattices, self.references)
        if len(lattices.tails) == 0:
            raise UserError("decoding gave no translation of the development set; check that the text is not empty")
        found = replace(pool, lattices=join(pool.lattices, lattices))
        return surface.bleu_of(best_paths(lattices, weights)[0]), found

    def surface(self, pool: LatticePool) -> LatticeSurface:
        """See ``Method``."""
        return LatticeSurface(pool.lattices, self.references, self.tunable)

    def optimise(
        self, pool: LatticePool, weights: np.ndarray, generator: np.random.Generator, threads: int
    ) -> tuple[Optimum, LatticePool]:
        surface = self.surface(pool)
        optimum, listed = optimise_lattices(surface, weights, pool.candidates, self.settings, generator, threads)
        return optimum, replace(pool, candidates=listed)


def method_for(
    model: TranslationModel,
    search: Settings,
    sources: Sequence[list[str]],
    references: Sequence[list[str]],
    settings: Settings,
    threads: int = 1,
    feature: StatefulFeature | None = None,
) -> Method:
    """The method that the settings name, for a development set (tokens) and a model; options are looked up once.

    feature: of a network; it is tuned too, after the stateful ones of the model (``FeatureSet.with_feature``).
    """
    if (settings.optimiser, settings.candidates) == ("mira", "lattice"):
        raise UserError("MIRA learns from n-best lists: set tuning.candidates to nbest or tuning.optimiser to mert")
    features = model.feature_set.with_feature(feature.name) if feature else model.feature_set
    prepared = prepare(model, list(sources))

    def decoder(vector: np.ndarray) -> Decoder:
        return Decoder(model, search, Weights.from_vector(features, vector), threads, feature)

    def list_best(vector: np.ndarray) -> list[NBestList]:
        return decoder(vector).lists(prepared, settings.nbest)

    def build_lattices(vector: np.ndarray) -> FlatLattices:
        density = settings.density or math.inf
        return FlatLattices.of(decoder(vector).lattices(prepared, density), features.size)

    encoded = encode_references(references, model.target_vocabulary, prepared.unknown_words)
    if settings.candidates == "lattice":
        return LatticeMethod(build_lattices, encoded, features.tunable, settings)
    return ListMethod(list_best, encoded, features.tunable, settings)
