"""The recurrent model beside the lattices of a text, and what rescoring them finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from neural_smt.decoding.recurrent.linked import LinkedLattices
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import RecurrentConfig
from neural_smt.networks.recurrent.inputs import AuxiliaryInputs
from neural_smt.networks.recurrent.scorer import RecurrentScorer

if TYPE_CHECKING:
    from neural_smt.representations.representation import Representation
    from neural_smt.vocabulary import Vocabulary

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class TrainedJoint:
    """A trained recurrent model with the representation that it reads, for the lattices of any text.

    table: float32 ``[R, dimensions]``, the vectors that it learned, if it did.
    """

    folder: Path
    scorer: RecurrentScorer
    config: RecurrentConfig
    vocabulary: Vocabulary
    table: np.ndarray | None
    representation: Representation | None

    @classmethod
    def load(cls, folder: Path, representation: Path | None) -> TrainedJoint:
        """Raises ``UserError`` where the model reads a representation and none is given, or the other way round."""
        # PyTorch takes a second to load.
        import torch

        from neural_smt.networks.folder import load_recurrent
        from neural_smt.representations.folder import load_representation

        trained = load_recurrent(folder, torch.device("cpu"))
        config = trained.network.config
        if config.inputs == 0 and representation is not None:
            raise UserError(f"{folder}: the model has no inputs; leave out the representation {representation}")
        if config.inputs > 0 and representation is None:
            raise UserError(f"{folder}: the model has inputs; name the representation and the text that it reads")
        table = trained.network.input_table.detach().numpy() if config.input_rows else None
        read = None if representation is None else load_representation(representation)
        return cls(folder, RecurrentScorer(trained.network.arrays(), table), config, trained.vocabulary, table, read)

    def on(self, lattices: LinkedLattices, sentences: Sequence[list[str]] | None) -> JointModel:
        """The model as the lattices of a text need it; sentences: what the representation reads, if there is one.

        Raises ``UserError`` where the model was trained with another representation.
        """
        words = lattices.model_words(self.vocabulary)
        if self.representation is None:
            return JointModel(self.scorer, words, None)
        if sentences is None:
            raise UserError(f"{self.folder}: the model has inputs; name the representation and the text that it reads")
        inputs = self.representation.inputs(list(sentences), lattices.sets)
        if not _fit(self.config, inputs, self.table):
            raise UserError(f"{self.folder}: was trained with another representation than the one given")
        return JointModel(self.scorer, words, inputs)


@dataclass(frozen=True)
class JointModel:
    """The recurrent model as the lattices of a text need it.

    words: int32 ``[W]``, the words of the arcs in the model's ids; inputs: what is known of the words, by link set.
    """

    scorer: RecurrentScorer
    words: np.ndarray
    inputs: AuxiliaryInputs | None

    @classmethod
    def load(
        cls, folder: Path, lattices: LinkedLattices, sentences: Path | None, representation: Path | None
    ) -> JointModel:
        """A trained model; sentences: the text that the representation reads, where the model has inputs.

        Raises ``UserError`` when model, representation, text and lattices do not belong together.
        """
        trained = TrainedJoint.load(folder, representation)
        if sentences is None or trained.representation is None:
            return trained.on(lattices, None)
        tokens = [line.split() for line in read_lines(sentences)]
        if len(tokens) != len(lattices):
            raise UserError(f"{sentences} has {len(tokens)} lines, but there are lattices of {len(lattices)} sentences")
        return trained.on(lattices, tokens)


def _fit(config: RecurrentConfig, inputs: AuxiliaryInputs, table: np.ndarray | None) -> bool:
    """Whether inputs are such as a model was trained with; table: the vectors that it learned."""
    vectors = inputs.table if table is None else table
    return (
        (inputs.table is None) == (table is not None)
        and inputs.rows.shape[1] == config.slots
        and vectors.shape[1] == config.dimensions
        and inputs.rows.max(initial=0) < len(vectors)
    )


@dataclass(frozen=True)
class Rescored:
    """The best path of every sentence under all features.

    arcs: int32 ``Ragged`` of S paths, first arc first (none for an empty sentence); scores: float64 ``[S]``, weighted;
    recurrent: float64 ``[S]``, ln p by the recurrent model; evaluations: hidden layers computed; arc_scores: float32
    ``[A]`` where lattices were rescored, ln p of the words of each arc after the best state of the node it leaves.
    """

    arcs: Ragged
    scores: np.ndarray
    recurrent: np.ndarray
    evaluations: int
    arc_scores: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: Sequence[Rescored]) -> Rescored:
        """The parts of a text, one after the other."""
        of_arcs = [part.arc_scores for part in parts]
        return cls(
            Ragged.concatenate([Ragged.from_lists([]), *(part.arcs for part in parts)]),
            np.concatenate([np.zeros(0), *(part.scores for part in parts)]),
            np.concatenate([np.zeros(0), *(part.recurrent for part in parts)]),
            sum(part.evaluations for part in parts),
            None if any(x is None for x in of_arcs) else np.concatenate([np.zeros(0, np.float32), *of_arcs]),
        )


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """``work`` of every part, in order."""
    if threads == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))
