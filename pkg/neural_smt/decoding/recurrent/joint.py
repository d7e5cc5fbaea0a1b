"""The recurrent model beside the lattices of a text, and what rescoring them finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from neural_smt.decoding.recurrent.linked import LinkedLattices
from neural_smt.errors import UserError
from neural_smt.files import read_lines
from neural_smt.networks.recurrent.configuration import RecurrentConfig
from neural_smt.networks.recurrent.inputs import AuxiliaryInputs
from neural_smt.networks.recurrent.scorer import RecurrentScorer
from neural_smt.ragged import Ragged

Part = TypeVar("Part")
Result = TypeVar("Result")


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
        # PyTorch takes a second to load.
        import torch

        from neural_smt.networks.folder import load_recurrent

        trained = load_recurrent(folder, torch.device("cpu"))
        config = trained.network.config
        inputs = None
        if config.inputs == 0 and representation is not None:
            raise UserError(f"{folder}: the model has no inputs; leave out the representation {representation}")
        if config.inputs > 0:
            if representation is None or sentences is None:
                raise UserError(f"{folder}: the model has inputs; name the representation and the text that it reads")
            inputs = _read_inputs(representation, sentences, lattices)
        table = trained.network.input_table.detach().numpy() if config.input_rows else None
        if inputs is not None and not _fit(config, inputs, table):
            raise UserError(f"{folder}: was trained with another representation than {representation}")
        scorer = RecurrentScorer(trained.network.arrays(), table)
        return cls(scorer, lattices.model_words(trained.vocabulary), inputs)


def _fit(config: RecurrentConfig, inputs: AuxiliaryInputs, table: np.ndarray | None) -> bool:
    """Whether inputs are such as a model was trained with; table: the vectors that it learned."""
    vectors = inputs.table if table is None else table
    return (
        (inputs.table is None) == (table is not None)
        and inputs.rows.shape[1] == config.slots
        and vectors.shape[1] == config.dimensions
        and inputs.rows.max(initial=0) < len(vectors)
    )


def _read_inputs(representation: Path, sentences: Path, lattices: LinkedLattices) -> AuxiliaryInputs:
    """What a representation gives for the link sets of lattices."""
    from neural_smt.representations.folder import load_representation

    tokens = [line.split() for line in read_lines(sentences)]
    if len(tokens) != len(lattices):
        raise UserError(f"{sentences} has {len(tokens)} lines, but there are lattices of {len(lattices)} sentences")
    return load_representation(representation).inputs(tokens, lattices.sets)


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
