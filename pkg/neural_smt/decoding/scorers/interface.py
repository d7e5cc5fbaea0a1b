"""The interface of everything that scores target words given the words before them.

A *network* (``TargetNetwork``) is trained and loaded; for the sentences of a text it becomes a *scorer*
(``TextScorer``), which knows what the network reads of them. A scorer scores whole translations (``score``: n-best
lists) and walks through prefix trees (``walk``: lattices). Networks that go on step by step, as a CSLM or an attention
network does, implement ``StepScorer``: states of prefixes, log-probabilities of the next words, states after these;
scoring lists and lattices follows from that. Recurrent models have kernels of their own for both.

In the search of phrases a network is a ``StatefulFeature`` (``batches.py``) instead: there states belong to hypotheses
of many sentences, which are recombined. N-gram models need no more than the last words, which the stacks hold; the
states of a recurrent model its feature keeps itself, by the number of the hypothesis (``RecurrentSearch``).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from neural_smt.decoding.features import column_name
from neural_smt.decoding.scorers import loader
from neural_smt.experiment.system_folder import System
from neural_smt.io.ragged import Ragged
from neural_smt.networks.distinct import Level, SortedSequences
from neural_smt.networks.recurrent.configuration import LinkSets
from neural_smt.networks.recurrent.scorer import Walk, new_rows
from neural_smt.networks.recurrent.tries import Tries
from neural_smt.vocabulary import EOS

WORDS = 1 << 14
"""Target words that go through a network together, end symbols included."""

SENTENCES = 64
"""Source sentences of the same batch: each may have its own rows of the output layer."""


@dataclass(frozen=True)
class TargetText:
    """Target words to be scored, and the source sentences that they translate.

    sentences: tokens of S source sentences, None where they are not known; numbers: int64 ``[S]``, their numbers in the
    text that they are from; words: int32 ``[W]``, target words in the network's ids; owner: int64 ``[W]``, the sentence
    of each (0 to S - 1); links: what words are aligned to, in the order of the sentences; None where nothing is known
    of it.
    """

    sentences: Sequence[list[str]] | None
    numbers: np.ndarray
    words: np.ndarray
    owner: np.ndarray
    links: LinkSets | None = None


class TargetNetwork(ABC):
    """A trained network that scores target words. feature: the name of its score, which ``load_network`` gives it;
    aligned: whether it reads the source words that a target word is aligned to.
    """

    feature: str
    aligned: bool = False

    @abstractmethod
    def ids(self, words: Sequence[str]) -> np.ndarray:
        """int32: words in the ids of the network."""

    @abstractmethod
    def on(self, text: TargetText) -> "TextScorer":
        """The scorer for a text; ``UserError`` where the network reads what the text does not have."""

    def describe(self) -> str:
        """What was computed besides, for the log; nothing by default."""
        return ""


def load_network(system: System, **reading: Any) -> TargetNetwork:
    """The network that a system reranks with, whatever its kind.

    reading: ``device``, and what the network may read: ``lines`` and ``text``, the tokenised sentences and where they
    are from; ``candidates``, their target vocabularies for an attention network. Raises ``UserError`` where what the
    network needs is missing or does not fit.
    """
    network: TargetNetwork = loader(system, "load_scorer")(system, **reading)
    network.feature = column_name(system.of_network("kind"), system["network"].get("number", 0))
    return network


class TextScorer(ABC):
    """A network that scores target words of the translations of some sentences.

    history: the last words that predictions depend on; None: all words before. class_of_word: int32 ``[V]``, words that
    a tree asks for together, by id.
    """

    history: int | None = None
    class_of_word: np.ndarray

    @abstractmethod
    def score(
        self, targets: Ragged, sentences: np.ndarray, links: np.ndarray | None = None, shared: bool = True
    ) -> tuple[np.ndarray, int]:
        """ln p of n translations, ends included (float64 ``[n]``), and the network states that were computed.

        targets: int32 ``Ragged`` of n, without end symbols; sentences: int64 ``[n]``, rising, the sentence of each;
        links: int32, the link set of every word and, after the last one of each translation, of its end; shared:
        whether what translations begin with in common is computed once.
        """

    @abstractmethod
    def walk(self, tries: Tries, used: np.ndarray, sentences: np.ndarray, most: np.ndarray) -> Walk:
        """Goes through prefix trees. used: see ``distinct``; sentences: int64 ``[G]``, of each root; most: int32
        ``[G]``, states that it may come to have.
        """

    def distinct(self, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the network reads besides words: for each link set (int ``[n]``) the number of its input (int32
        ``[n]``), equal where it is the same; and for each number one of the link sets. 0 for a network without.
        """
        return np.zeros(len(links), dtype=np.int32), np.zeros(1, dtype=np.int64)


class States(Protocol):
    """States of prefixes of translations, a row for each."""

    def __len__(self) -> int: ...

    def take(self, rows: np.ndarray) -> Self:
        """Some of them (int64)."""


class Predictions(Protocol):
    """What is known of the next word after each of n prefixes."""

    def scores(self, rows: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Float ``[q]``: ln p of these words (int32 ``[q]``) after the prefixes ``rows`` (int64 ``[q]``)."""

    def extend(self, rows: np.ndarray, words: np.ndarray) -> States:
        """The states after these words."""


class RankedPredictions(Predictions, Protocol):
    """Those of a network that translates by beam search."""

    def best(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-probabilities (float64) and ids, ``[n, <= count]``, of the best next words, best first; alphas, ``[n,
        L]``, the weight that each word of the source sentence and its end had for the prediction.
        """


class StepScorer(TextScorer):
    """A scorer that goes on word by word. lengths: int64 ``[S]``, words of the source sentences: translations of
    equally long ones are scored together (all 0 where nothing of them is read).
    """

    lengths: np.ndarray
    words = WORDS

    @abstractmethod
    def start(self, sentences: np.ndarray) -> States:
        """The states of empty prefixes; sentences: int64 ``[n]``, rising."""

    @abstractmethod
    def predict(self, states: Any) -> Predictions:
        """What may come next."""

    @abstractmethod
    def join(self, parts: Sequence[Any]) -> States:
        """The states of all parts, one after the other."""

    def computing(self) -> AbstractContextManager[Any]:
        """What the network computes in."""
        return nullcontext()

    def score(
        self, targets: Ragged, sentences: np.ndarray, links: np.ndarray | None = None, shared: bool = True
    ) -> tuple[np.ndarray, int]:
        """See ``TextScorer``. Scores do not depend on the order; equal translations of a sentence that go together are
        scored once.
        """
        order = np.lexsort((sentences, self.lengths[sentences]))
        scores, computed = np.empty(len(order)), 0
        with self.computing():
            for start, stop in _batches(sentences[order], targets.lengths[order] + 1, self.words):
                rows = order[start:stop]
                chosen, places = np.unique(sentences[rows], return_inverse=True)
                sequences = SortedSequences.of(targets.take(rows), places)
                found, states = self._score_trie(chosen, sequences.levels(0, len(sequences)))
                scores[rows] = found[sequences.row_of]
                computed += states
        return scores, computed

    def _score_trie(self, sentences: np.ndarray, levels: list[Level]) -> tuple[np.ndarray, int]:
        """float64 ``[rows]``: ln p of the sequences of a trie, whose first level is these sentences."""
        scores = np.empty(sum(len(level.rows) for level in levels))
        states, computed = self.start(sentences), 0
        # ln p of the prefixes that were reached, and whether they continue
        totals, continues = np.zeros(len(sentences)), np.ones(len(sentences), dtype=bool)
        for level in levels[1:]:
            predictions = self.predict(states)
            computed += len(states)
            # prefixes that have ended are among the nodes of a level, but have no state
            parents = (np.cumsum(continues) - 1)[level.parents]
            totals = totals[level.parents] + predictions.scores(parents, level.symbols)
            scores[level.rows] = totals[level.ends]
            continues = level.symbols != EOS
            if continues.any():
                states = predictions.extend(parents[continues], level.symbols[continues])
        return scores, computed

    def walk(self, tries: Tries, used: np.ndarray, sentences: np.ndarray, most: np.ndarray) -> Walk:
        """See ``TextScorer``."""
        return StepWalk(self, tries, sentences, most)


def _batches(owner: np.ndarray, lengths: np.ndarray, words: int) -> Iterator[tuple[int, int]]:
    """Where batches start and stop: within ``words`` and ``SENTENCES``, but of one translation at least."""
    ends, sentence, start = np.cumsum(lengths), np.cumsum(np.diff(owner, prepend=-1) != 0), 0
    while start < len(owner):
        stop = np.searchsorted(ends, ends[start] - lengths[start] + words, side="right")
        stop = min(stop, np.searchsorted(sentence, sentence[start] + SENTENCES))
        stop = max(int(stop), start + 1)
        yield start, stop
        start = stop


class StepWalk(Walk):
    """Goes through prefix trees with a ``StepScorer``; states after a word are computed when they are needed."""

    def __init__(self, scorer: StepScorer, tries: Tries, sentences: np.ndarray, most: np.ndarray):
        super().__init__(tries, new_rows(tries, np.ones(len(sentences), np.int32), most, 0, 0))
        self.scorer, self.sentences = scorer, sentences
        self.predictions: list[Predictions] = []
        self.first_rows: list[int] = []
        self.owners = sentences[:0]

    def score_level(self, level: int, sources: np.ndarray, words: np.ndarray) -> None:
        """See ``Walk``."""
        roots = slice(*self.tries.level_roots[level : level + 2].tolist())
        self.owners = np.repeat(self.sentences[roots], self.rows.slots[roots])
        with self.scorer.computing():
            super().score_level(level, sources, words)

    def _after(self, sources: np.ndarray, words: np.ndarray) -> States:
        begins, number = sources == 0, np.searchsorted(self.first_rows, sources, side="right") - 1
        parts, places = [], []
        if begins.any():
            parts.append(self.scorer.start(self.owners[begins]))
            places.append(np.flatnonzero(begins))
        for batch in np.unique(number[~begins]).tolist():
            places.append(np.flatnonzero(~begins & (number == batch)))
            rows = sources[places[-1]] - self.first_rows[batch]
            parts.append(self.predictions[batch].extend(rows, words[places[-1]]))
        if len(parts) == 1:
            return parts[0]
        return self.scorer.join(parts).take(np.argsort(np.concatenate(places)))

    def _score_batch(self, batch: int, states: States) -> None:
        tries, rows = self.tries, self.rows
        pairs, _, entries, first = self.place(batch)
        if pairs[0] == pairs[1]:
            return
        pair = np.arange(*pairs)
        place, _ = _slots(rows.prefix_row[tries.pair_prefix[pair]], rows.slots[tries.pair_root[pair]])
        predictions = self.scorer.predict(states.take(place))
        self.predictions.append(predictions)
        self.first_rows.append(first)
        entry = np.arange(*entries)
        of_pair = tries.query_pair[tries.entry_query[entry]]
        slots = rows.slots[tries.pair_root[of_pair]]
        place, slot = _slots(rows.entry_row[entry], slots)
        parent = np.repeat(tries.prefix_entry[tries.pair_prefix[of_pair]], slots)
        before = np.where(parent >= 0, rows.totals[rows.entry_row[parent] + slot], 0.0)
        row = np.repeat(rows.pair_row[of_pair] - first, slots) + slot
        rows.totals[place] = before + predictions.scores(row, np.repeat(tries.entry_word[entry], slots))


def _slots(first: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of all slots of parts, each with so many from ``first`` on; and which slot each is."""
    slot = np.arange(slots.sum()) - np.repeat(np.cumsum(slots) - slots, slots)
    return np.repeat(first, slots) + slot, slot
