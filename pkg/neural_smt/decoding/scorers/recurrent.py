"""Recurrent and joint models as scorers (Auli et al. 2013): of the search, of lattices and of n-best lists.

In the search every hypothesis keeps the recurrent state of the best way into it: lattice rescoring at k = 1 (section 3)
moved into the first pass, where what the model says can still decide which hypotheses stay. A hypothesis is scored when
it is first extended (``stack_primitives``), the hypotheses of a stack and of all sentences of a batch together; listed
translations get their exact scores in the end.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neural_smt.decoding.batches import Derivations, NewHypotheses, StatefulFeature
from neural_smt.decoding.features import column_name
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import WeightedSentences
from neural_smt.decoding.reranking.aligned_lattices import model_ids, source_positions
from neural_smt.decoding.scorers.interface import TargetNetwork, TargetText, TextScorer
from neural_smt.decoding.stack_primitives import with_room
from neural_smt.errors import UserError, required
from neural_smt.experiment.system_folder import System
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs
from neural_smt.networks.recurrent.scorer import RecurrentScorer, RecurrentWalk, distinct_inputs, score_sequences
from neural_smt.networks.recurrent.tries import Tries, build_tries
from neural_smt.representations.links import intern_links
from neural_smt.vocabulary import BOS, EOS

if TYPE_CHECKING:
    from neural_smt.representations.representation import Representation
    from neural_smt.vocabulary import Vocabulary

FEATURE = column_name("recurrent")
"""ln p of the translation, its end included."""


@dataclass
class RecurrentScoring(TargetNetwork):
    """A trained recurrent model with the representation of the source that it reads, if it reads one."""

    folder: Path
    scorer: RecurrentScorer
    vocabulary: "Vocabulary"
    representation: "Representation | None"
    feature: str = FEATURE

    @classmethod
    def load(cls, folder: Path, representation: Path | None) -> "RecurrentScoring":
        """Raises ``UserError`` where the model reads a representation and none or another is given, or the other way
        round.
        """
        # PyTorch takes a second to load.
        import torch

        from neural_smt.networks.folder import Trained
        from neural_smt.networks.recurrent.network import RecurrentNetwork
        from neural_smt.representations.representation import load_representation

        trained = Trained.load(folder, RecurrentNetwork, torch.device("cpu"))
        config = trained.network.config
        if config.inputs == 0 and representation is not None:
            raise UserError(f"{folder}: the model has no inputs; leave out the representation {representation}")
        if config.inputs > 0 and representation is None:
            raise UserError(f"{folder}: the model has inputs; name the representation and the text that it reads")
        read = None if representation is None else load_representation(representation)
        sizes = config.slots, config.dimensions, config.input_rows
        if read is not None and (read.slots, read.dimensions, read.input_rows) != sizes:
            raise UserError(f"{folder}: was trained with another representation than the one given")
        scorer = RecurrentScorer(config, trained.network.classes, trained.network.arrays())
        return cls(folder, scorer, trained.target, read)

    @property
    def aligned(self) -> bool:  # type: ignore[override]  # follows from the representation
        """See ``TargetNetwork``: representations of whole sentences are the same for all words."""
        return self.representation is not None and not self.representation.of_sentences

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """See ``TargetNetwork``."""
        return model_ids(words, self.vocabulary)

    def on(self, text: TargetText) -> "RecurrentTextScorer":
        """See ``TargetNetwork``."""
        if self.representation is None:
            return RecurrentTextScorer(self.scorer, None)
        if text.sentences is None or text.links is None:
            raise UserError(f"{self.folder}: the model has inputs; name the representation and the text that it reads")
        return RecurrentTextScorer(self.scorer, self.representation.inputs(list(text.sentences), text.links))


def load_scorer(system: System, **reading: Any) -> RecurrentScoring:
    """The recurrent model that a system reranks with."""
    return RecurrentScoring.load(system.of_network("model"), system["network"].get("representation"))


def feature_of(system: System, model: TranslationModel, device: str) -> "RecurrentFeature":
    """The recurrent model that a system is searched with; it computes on the CPU. Raises ``UserError`` where it reads
    what a search has not.
    """
    loaded = load_scorer(system)
    if loaded.representation is not None and loaded.representation.settings.side != "source":
        raise UserError(
            f"{loaded.folder}: the model reads references, which a search has none of; rescore with it instead"
        )
    return RecurrentFeature(loaded.scorer, loaded.vocabulary, model, loaded.representation)


class RecurrentTextScorer(TextScorer):
    """A recurrent model on the translations of a text; inputs: what is known of the source, by link set."""

    def __init__(self, scorer: RecurrentScorer, inputs: AuxiliaryInputs | None):
        self.scorer, self.inputs = scorer, inputs
        self.class_of_word = scorer.class_of_word

    def distinct(self, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See ``TextScorer``."""
        return distinct_inputs(self.inputs, links)

    def score(
        self, targets: Ragged, sentences: np.ndarray, links: np.ndarray | None = None, shared: bool = True
    ) -> tuple[np.ndarray, int]:
        """See ``TextScorer``."""
        closed, _ = with_ends(targets, np.ones(len(targets), dtype=bool))
        groups = np.append(np.flatnonzero(np.diff(sentences, prepend=-1)), len(targets))
        return score_sequences(self.scorer, closed, self.inputs, links, groups, shared)

    def walk(self, tries: Tries, used: np.ndarray, sentences: np.ndarray, most: np.ndarray) -> RecurrentWalk:
        """See ``TextScorer``."""
        return RecurrentWalk(self.scorer, tries, self.scorer.input_layer(tries, self.inputs, used), most)


def with_ends(targets: Ragged, complete: np.ndarray) -> tuple[Ragged, np.ndarray]:
    """Words with the end symbol after those that are complete (bool ``[n]``), and where they are then (int64)."""
    offsets = offsets_of(targets.lengths + complete)
    of_word = np.arange(len(targets.values)) + np.repeat(offsets[:-1] - targets.offsets[:-1], targets.lengths)
    values = np.full(offsets[-1], EOS, dtype=np.int32)
    values[of_word] = targets.values
    return Ragged(values, offsets), of_word


@dataclass(eq=False)
class RecurrentFeature(StatefulFeature):
    """The stateful feature ``Recurrent0`` of the search: ln p of the translation, its end included.

    recombination: last words that must agree for hypotheses to be recombined, beside those that the n-gram models need;
    exact: the search has the state of one way into a hypothesis for all, so its scores are estimates for the others.
    """

    scorer: RecurrentScorer
    vocabulary: "Vocabulary"
    model: TranslationModel
    representation: "Representation | None" = None
    recombination: int = 1

    name = FEATURE
    fallback_lm = "LM0"
    exact = True

    def __post_init__(self) -> None:
        self.history = self.recombination
        self.known = model_ids(self.model.target_vocabulary.words, self.vocabulary)
        self.lock, self.counts = threading.Lock(), {"hypotheses": 0, "evaluations": 0, "seconds": 0.0}

    def begin(self, weighted: WeightedSentences) -> "RecurrentSearch":
        """See ``StatefulFeature``."""
        return RecurrentSearch(self, weighted)

    def rescore(self, words: Ragged, derivations: Derivations) -> np.ndarray:
        """See ``StatefulFeature``: each translation with the states of its own words."""
        reader = RecurrentSearch(self, derivations.weighted)
        known = Ragged(reader.known[words.values], words.offsets)
        sequences, of_word = with_ends(known, np.ones(len(words), dtype=bool))
        options, starts = derivations.options.values, derivations.starts.values
        inputs, numbers = reader.inputs(np.repeat(derivations.sentences, sequences.lengths), of_word, options, starts)
        groups = np.flatnonzero(np.diff(derivations.sentences, prepend=-1))
        scores, _ = score_sequences(self.scorer, sequences, inputs, numbers, np.append(groups, len(words)))
        return scores

    def accurate(self) -> "RecurrentFeature":
        """See ``StatefulFeature``: refused with ``UserError``, since scores depend on all words before."""
        raise UserError("lattices cannot hold a recurrent model's scores of whole histories; list translations")

    def statistics(self) -> dict[str, Any]:
        """What was computed, for a report: ways into hypotheses, hidden layers computed, seconds of all threads."""
        return {**self.counts, "seconds": round(self.counts["seconds"], 3)}


class RecurrentSearch(StatefulFeature):
    """The recurrent states of the hypotheses of a batch that were scored.

    kept: the states: h before the last word (float32 ``[n, H]``), the words before that, newest first, and the last
    word (int32); row 0 is that of the start. row_of: int64, the state of each hypothesis; last: the states after all
    words of the last call, until those of the best ways are chosen; known: int32, target ids of the search, copied
    words among them, in the model's ids.
    """

    def __init__(self, feature: RecurrentFeature, weighted: WeightedSentences):
        self.feature, self.weighted = feature, weighted
        self.known = np.append(feature.known, model_ids(weighted.prepared.unknown_words, feature.vocabulary))
        before = np.full((1, feature.scorer.output.direct_order - 1), BOS, dtype=np.int32)
        hidden = np.zeros((1, feature.scorer.hidden_size), dtype=np.float32)
        self.kept = [hidden, before, np.full(1, BOS, dtype=np.int32)]
        self.used, self.row_of = 1, np.zeros(1, dtype=np.int64)
        self.last: list[np.ndarray] = []

    def __call__(self, batch: NewHypotheses) -> np.ndarray:
        """float64 ``[N]``: ln p of the words added, after the states of the hypotheses that they extend."""
        began, extended = time.perf_counter(), required(batch.tails)
        order = np.argsort(extended, kind="stable")
        tails, first = np.unique(extended[order], return_index=True)
        self.row_of = with_room(self.row_of, int(tails.max()) + 1)  # those of empty hypotheses have the first state

        words = batch.words.take(order)
        words, of_word = with_ends(Ragged(self.known[words.values], words.offsets), batch.complete[order])
        sentences = np.repeat(batch.sentences[order], words.lengths)
        inputs, numbers = self.inputs(sentences, of_word, required(batch.options)[order], required(batch.starts)[order])
        of_input, used = distinct_inputs(inputs, np.zeros(len(words.values), np.int64) if numbers is None else numbers)

        scorer = self.feature.scorer
        levels, groups = np.zeros(len(tails), dtype=np.int32), np.append(first, len(order))
        tries = build_tries(levels, groups, words, of_input, scorer.class_of_word)
        walk = RecurrentWalk(scorer, tries, scorer.input_layer(tries, inputs, used))
        walk.score_only_level(*(part[self.row_of[tails]] for part in self.kept))
        self._remember(walk, order, extended)
        filled = tries.sequence_entry >= 0
        scores = np.zeros(len(order))
        scores[order[filled]] = walk.rows.totals[walk.rows.entry_row[tries.sequence_entry[filled]]]
        with self.feature.lock:
            counts = self.feature.counts
            counts["hypotheses"] += len(order)
            counts["evaluations"] += walk.evaluations
            counts["seconds"] += time.perf_counter() - began
        return scores

    def _remember(self, walk: RecurrentWalk, order: np.ndarray, tails: np.ndarray) -> None:
        tries, entries = walk.tries, walk.tries.sequence_entry
        filled = entries >= 0  # a phrase without words leaves the state as it is
        row = walk.rows.pair_row[tries.query_pair[tries.entry_query[entries[filled]]]]
        after = walk.rows.hidden[row], walk.rows.history[row], tries.entry_word[entries[filled]]
        self.last = [part[self.row_of[tails]] for part in self.kept]
        for part, new in zip(self.last, after, strict=True):
            part[order[filled]] = new

    def settle(self, heads: np.ndarray, chosen: np.ndarray) -> None:
        """See ``StatefulFeature``."""
        first, self.used = self.used, self.used + len(heads)
        self.row_of = with_room(self.row_of, int(heads.max()) + 1)
        self.row_of[heads] = np.arange(first, self.used)
        self.kept = [with_room(part, self.used) for part in self.kept]
        for part, new in zip(self.kept, self.last, strict=True):
            part[first : self.used] = new[chosen]

    def inputs(
        self, sentences: np.ndarray, of_word: np.ndarray, options: np.ndarray, starts: np.ndarray
    ) -> tuple[AuxiliaryInputs | None, np.ndarray | None]:
        """Inputs, and which of them each of n predictions has (int32 ``[n]``; both None for a model without).

        sentences: int64 ``[n]``; of_word: int64, the predictions that are words; options, starts: the options that
        these words come from, in a row. Ends of sentences are linked to nothing.
        """
        if self.feature.representation is None:
            return None, None
        positions = source_positions(self.weighted, self.feature.model, options, starts)
        lengths = np.zeros(len(sentences), dtype=np.int64)
        lengths[of_word] = positions.lengths
        distinct, number = np.unique(sentences, return_inverse=True)
        sets, numbers = intern_links(number, Ragged(positions.values, offsets_of(lengths)))
        tokens = [self.weighted.prepared.tokens[sentence] for sentence in distinct.tolist()]
        return self.feature.representation.inputs(tokens, sets), numbers
