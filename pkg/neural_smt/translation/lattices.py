"""Systems that choose among the lattices of their base with a recurrent model (Auli et al. 2013), or anew weighed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neural_smt.declared_networks import joint_inputs
from neural_smt.decoding.lattices.batch import LatticeBatch
from neural_smt.decoding.lattices.kbest import list_paths
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.recurrent.joint import JointModel, TrainedJoint
from neural_smt.decoding.recurrent.linked import RECURRENT, LinkedLattices
from neural_smt.decoding.recurrent.lists import order_paths, score_paths
from neural_smt.decoding.recurrent.push_forward import push_forward
from neural_smt.decoding.recurrent.settings import RescoringSettings
from neural_smt.decoding.search import Decoder
from neural_smt.decoding.translations import trace
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.settings import read_settings
from neural_smt.systems import rescoring_network
from neural_smt.translation.experiment import Experiment
from neural_smt.translation.results import Candidate, Phrase, Translated
from neural_smt.translation.search import load_decoder

LISTED = 100
"""Paths of a lattice that a list of translations is chosen from, or as many as are asked for."""


@dataclass(frozen=True)
class LatticeTranslator:
    """decoder: of the base; density: what lattices are pruned to; model: None where only weights are new; settings:
    among which candidates the model chooses; tuned: the weights.
    """

    decoder: Decoder
    density: float
    model: TrainedJoint | None
    settings: RescoringSettings
    tuned: Weights

    batch = 16

    @classmethod
    def load(cls, experiment: Experiment, system: str, run: int, device: str, threads: int) -> "LatticeTranslator":
        """See the rules ``decode_lattices`` and ``rescore_lattices``."""
        layout, chosen = experiment.layout, experiment.config["systems"][system]
        network, decoding = rescoring_network(chosen), experiment.config["decoding"]
        inputs = joint_inputs(experiment.config).get(network or "")
        if inputs and inputs.get("side") == "target":
            raise UserError(f"system '{system}' reads references, which new text has none of; translate with another")
        weights, folder, representation = experiment.need(
            [
                layout.weights(system, run),
                layout.network(network) if network else None,
                layout.representation(network) if inputs else None,
            ]
        )
        values = {key: chosen["rescoring"][key] for key in ("candidates", "beam", "nbest")}
        settings = read_settings(RescoringSettings, values, "rescoring")
        density = decoding["list_density" if settings.candidates == "nbest" else "lattice_density"]
        decoder = load_decoder(experiment, chosen["base"], run, device, threads)
        model = TrainedJoint.load(folder, representation) if folder else None
        return cls(decoder, density or math.inf, model, settings, Weights.load(weights))

    @property
    def names(self) -> list[str]:
        """One name per score, the recurrent model's last."""
        return [*self.decoder.feature_set.names, *([RECURRENT] if self.model else [])]

    @property
    def weights(self) -> np.ndarray:
        """float64 ``[F]``."""
        parts = [self.tuned.values[feature.name] for feature in self.decoder.feature_set]
        return np.concatenate([*parts, self.tuned.values[RECURRENT] if self.model else ()])

    def translate(self, sentences: Sequence[list[str]], nbest: int = 1, explained: bool = False) -> list[Translated]:
        """See ``Translator``."""
        lattices = self.decoder.lattices(list(sentences), self.density)
        linked = LinkedLattices.of(lattices, self.decoder)
        paths, first, recurrent = self._paths(linked, sentences, max(1, nbest))
        traces = iter(self._traces(lattices, linked, paths, first))
        result = []
        for number, source in enumerate(sentences):
            rows = range(first[number], first[number + 1])
            found = [self._candidate(linked, paths[row], recurrent[row], next(traces)) for row in rows]
            result.append(Translated(source, found or [Candidate([], 0.0, np.zeros(len(self.names)))]))
        return result

    def _paths(
        self, linked: LinkedLattices, sentences: Sequence[list[str]], nbest: int
    ) -> tuple[Ragged, np.ndarray, np.ndarray]:
        """The best paths of each sentence (arcs, int ``Ragged`` of n), where those of each start (int64), and ln p of
        each by the recurrent model (float64 ``[n]``).
        """
        vector = self.weights
        if self.model is None:
            paths, first = list_paths(linked.flat, vector, nbest)
            return paths, first, np.zeros(len(paths))
        joint = self.model.on(linked, sentences)
        settings, weight, vector = self.settings, vector[-1], vector[:-1]
        whole = settings.candidates == "lattice"
        if whole and nbest == 1:
            best = push_forward(linked, joint, vector, weight, settings.beam, self.decoder.threads)
            filled = np.flatnonzero(best.arcs.lengths)
            first = np.concatenate([[0], np.cumsum(best.arcs.lengths > 0)])
            return best.arcs.take(filled), first, best.recurrent[filled]
        count = max(nbest, LISTED) if whole else settings.nbest
        paths, first = list_paths(linked.flat, linked.made_with, count)
        if whole:
            best = push_forward(linked, joint, vector, weight, settings.beam, self.decoder.threads)
            paths, first = _with_best(linked, paths, first, best.arcs)
        return _best_first(linked, joint, paths, first, vector, weight, nbest)

    def _traces(self, lattices, linked: LinkedLattices, paths: Ragged, first: np.ndarray):
        """How the paths were made, sentence by sentence."""
        start = linked.flat.arc_offsets[linked.flat.node_offsets]
        for number, lattice in enumerate(lattices):
            if lattice is not None:
                own = paths.take(np.arange(first[number], first[number + 1]))
                yield from self._trace(lattice, Ragged(own.values - start[number], own.offsets))

    def _trace(self, lattice: Lattice, paths: Ragged):
        return trace(LatticeBatch.of(lattice), paths, self.decoder.model)

    def _candidate(self, linked: LinkedLattices, path: np.ndarray, recurrent: float, made) -> Candidate:
        more = [recurrent] if self.model else []
        rows = made.features.astype(np.float64)
        features = np.append(rows.sum(axis=0), more)
        phrases = [
            Phrase(tuple(s[:2]), tuple(s[2:]), np.append(row, np.zeros(len(more))))
            for s, row in zip(made.segmentation, rows, strict=True)
        ]
        tokens = linked.spell(linked.flat.words.take(path).values)
        return Candidate(tokens, float(features @ self.weights), features, made.alignment, phrases)


def _with_best(linked: LinkedLattices, paths: Ragged, first: np.ndarray, best: Ragged) -> tuple[Ragged, np.ndarray]:
    """The paths of each sentence and before them its best one, in place of one of the same words."""
    kept, offsets = [], [0]
    for number in range(len(linked)):
        rows = range(first[number], first[number + 1])
        words = linked.flat.words.take(best[number]).values.tolist()
        others = [paths[row] for row in rows if linked.flat.words.take(paths[row]).values.tolist() != words]
        kept += [best[number], *others] if len(rows) else []
        offsets.append(len(kept))
    return Ragged.from_lists(kept), np.array(offsets)


def _best_first(
    linked: LinkedLattices,
    joint: JointModel,
    paths: Ragged,
    first: np.ndarray,
    vector: np.ndarray,
    weight: float,
    nbest: int,
) -> tuple[Ragged, np.ndarray, np.ndarray]:
    """The ``nbest`` best paths of each sentence with the recurrent model, where these start, and its ln p of them."""
    recurrent, _ = score_paths(linked, joint, paths, first)
    arcs = linked.flat.scores(vector)
    totals = weight * recurrent + [arcs[path].sum() for path in paths]
    sentence = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = order_paths(totals, first)
    rank = np.arange(len(order)) - first[sentence]
    chosen = order[rank < nbest]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(np.diff(first), nbest))])
    return paths.take(chosen), offsets, recurrent[chosen]
