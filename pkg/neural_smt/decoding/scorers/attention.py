"""Attention networks as scorers: log p(target | source) of given translations, and of the next words of prefixes.

Translations in a list begin alike. What the network computes after a prefix serves all that continue it: in lists of
100 of a phrase-based system, two prefixes of five are distinct.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from neural_smt.decoding.scorers.interface import StepScorer, StepWalk, TargetNetwork, TargetText
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import System
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork, LimitedOutput, pack_sentences
from neural_smt.networks.attention.scorer import Groups
from neural_smt.networks.beams import top_values
from neural_smt.networks.device import downloaded, precision_context, select_device, uploaded
from neural_smt.networks.folder import Trained
from neural_smt.networks.recurrent.scorer import Walk
from neural_smt.networks.recurrent.tries import Tries
from neural_smt.networks.softmax import TILE, choose_logits, log_normalisers
from neural_smt.vocabulary import BOS, EOS, RESERVED, UNK
from neural_smt.vocabulary_selection.candidates import CandidateSets, read_sets

FEATURE = "Attention0"
"""log p(target | source) in n-best lists."""


@dataclass
class AttentionScoring(TargetNetwork):
    """An attention network that scores n-best lists and lattices.

    sets: the target words of each sentence of a text, to which all words of its translations are added; None: all
    target words. Words that the network does not know count as the unknown word.
    """

    model: Trained[AttentionNetwork]
    sets: CandidateSets | None = None
    precision: str = "fp32"
    feature: str = FEATURE

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """See ``TargetNetwork``; words spelt like a reserved entry are unknown."""
        ids = self.model.target.ids(words)
        ids[ids < len(RESERVED)] = UNK
        return ids

    def on(self, text: TargetText) -> "AttentionTextScorer":
        """See ``TargetNetwork``."""
        if text.sentences is None:
            raise UserError("an attention network reads the source sentences; give the text that is translated")
        source = self.model.source.encode_words([" ".join(tokens) for tokens in text.sentences])
        sets = None if self.sets is None else with_words(self.sets.take(text.numbers), text.words, text.owner)
        return AttentionTextScorer(self.model.network, source, sets, self.precision)


def load_scorer(
    system: System,
    *,
    lines: list[str] | None = None,
    text: Path | None = None,
    candidates: Path | None = None,
    device: str = "cpu",
) -> AttentionScoring:
    """The attention network that a system reranks with; see ``load_network``."""
    loaded = Trained.load(system.of_network("model"), AttentionNetwork, select_device(device))
    if candidates is not None and (lines is None or text is None):
        raise UserError(f"{candidates}: target vocabularies of sentences; give the text that they belong to")
    sets = None if candidates is None else read_sets(candidates, loaded.target, lines or [], Path(text or ""))
    return AttentionScoring(loaded, sets, system["network"].get("precision", "fp32"))


def with_words(sets: CandidateSets, words: np.ndarray, owner: np.ndarray) -> CandidateSets:
    """The sets, each with these words (int32 ``[n]``) of its sentence besides (int64 ``[n]``: owner)."""
    sentences = np.concatenate([np.repeat(np.arange(len(sets)), sets.own.lengths), owner])
    ids = np.concatenate([sets.own.values, words]).astype(np.int64)
    kept = ~np.isin(ids, sets.common)
    places = np.unique(sentences[kept] * sets.size + ids[kept])
    offsets = np.searchsorted(places, np.arange(len(sets) + 1) * sets.size)
    return replace(sets, own=Ragged((places % sets.size).astype(np.int32), offsets))


@dataclass(frozen=True)
class OutputRows:
    """Rows of the output layer, gathered once for all steps: of ``c`` words that all sentences have, or of those that
    each of ``S`` sentences has besides.

    ids: int64 ``[c]``, or ``[S, n]``, filled up with UNK; weight: ``[c, R]``, or ``[S, R, n]``; bias: like ids, -inf
    where filled up; barred: what may not be written, the columns (int64), or bool ``[S, n]``.
    """

    ids: Tensor
    weight: Tensor
    bias: Tensor
    barred: Tensor


@dataclass(frozen=True)
class OutputWords:
    """The words that hypotheses of ``S`` sentences may go on with.

    Each sentence multiplies with its own rows alone. With 500 or 2300 words a sentence and batches of 8 to 80, on a
    CPU, translating was 1.1 to 2.7 times as fast as with a mask over the words of all sentences together, the more so
    the larger the batch. What all have in common is not gathered for each: up to 1.3 times as fast again.
    """

    common: OutputRows
    own: OutputRows

    @classmethod
    def of(
        cls, output: LimitedOutput, sentences: np.ndarray, sets: CandidateSets | None, unknown: bool
    ) -> "OutputWords":
        """Those of the sentences (int64 ``[S]``) in ``sets``, UNK and EOS among them, or all of the output layer.

        The start symbol is never written; unknown: whether the unknown word is. Raises ``UserError`` where a set lacks
        UNK or EOS.
        """
        common, own = None, Ragged.from_lists([[]] * len(sentences))
        if sets is not None:
            common, own = np.asarray(sets.common), sets.own.take(sentences)
            for word in (UNK, EOS):
                if word not in sets.common and not all(word in ids for ids in own):
                    fault = f"the target vocabulary of a sentence lacks {RESERVED[word]}"
                    raise UserError(f"{fault}; run the vocabulary_selection stage again")
        return cls(_common(output, common, unknown), _own(output, own, unknown))

    def take(self, rows: Tensor) -> "OutputWords":
        """Of the sentences ``rows`` (int64)."""
        return OutputWords(self.common, OutputRows(*(part[rows] for part in vars(self.own).values())))

    def best(self, inner: Tensor, groups: Groups, count: int) -> tuple[Tensor, Tensor]:
        """Log-probabilities and ids, ``[n, <= count]``, of the best next words after z ``[n, R]``, best first."""
        own = groups.times(inner, self.own.weight).to(inner.dtype) + self.own.bias[groups.owner]
        shared = len(self.common.ids)
        width = shared + own.shape[1]
        # A few rows at a time, so that the processor's cache holds their logits.
        rows = len(inner) if inner.is_cuda else max(TILE // width, 16)
        values, words = [], []
        for part, besides, owner in zip(inner.split(rows), own.split(rows), groups.owner.split(rows), strict=True):
            logits = torch.addmm(self.common.bias, part, self.common.weight.t()).to(inner.dtype)
            logits = torch.cat((logits, besides), 1)
            normalisers = logits.logsumexp(1, keepdim=True)
            # What may not be written has probability 0, without making the others more probable.
            logits[:, self.common.barred] = -torch.inf
            logits[:, shared:].masked_fill_(self.own.barred[owner], -torch.inf)
            best, columns = top_values(logits, min(count, width))
            values.append(best - normalisers)
            words.append(self._ids(columns, owner))
        return torch.cat(values), torch.cat(words)

    def log_normalisers(self, inner: Tensor, groups: Groups) -> Tensor:
        """log sum_v exp(logit of v) over the words of the sentence of each row of z ``[n, R]``: ``[n]``."""
        parts, shared = [], len(self.common.ids)
        if shared:
            rows = len(inner) if inner.is_cuda else max(TILE // shared, 16)
            buffer = inner.new_empty(rows, shared)
            parts.append(log_normalisers(inner, self.common.weight, self.common.bias, buffer))
        if self.own.ids.shape[1]:
            logits = groups.times(inner, self.own.weight).to(inner.dtype) + self.own.bias[groups.owner]
            parts.append(logits.logsumexp(1))
        return parts[0] if len(parts) == 1 else torch.logaddexp(*parts)

    def _ids(self, columns: Tensor, owner: Tensor) -> Tensor:
        """The ids of columns ``[n, k]`` of the words in common, followed by those of the sentences of the rows."""
        shared, besides = len(self.common.ids), self.own.ids.shape[1]
        if besides == 0:
            return self.common.ids[columns]
        found = self.own.ids[owner[:, None], (columns - shared).clamp_(min=0)]
        return found if shared == 0 else self.common.ids[columns.clamp(max=shared - 1)].where(columns < shared, found)


def _barred(ids: Tensor, unknown: bool) -> Tensor:
    return ids == BOS if unknown else (ids == BOS) | (ids == UNK)


def _common(output: LimitedOutput, ids: np.ndarray | None, unknown: bool) -> OutputRows:
    words = torch.arange(len(output.bias)) if ids is None else torch.from_numpy(ids.astype(np.int64))
    words = words.to(output.weight.device)
    weight, bias = output.rows(None if ids is None else words)
    return OutputRows(words, weight, bias, _barred(words, unknown).nonzero()[:, 0])


def _own(output: LimitedOutput, sets: Ragged, unknown: bool) -> OutputRows:
    ids = np.full((len(sets), int(sets.lengths.max())), UNK, dtype=np.int64)
    filled = np.arange(ids.shape[1]) < sets.lengths[:, None]
    ids[filled] = sets.values
    words, padding = (torch.from_numpy(part).to(output.weight.device) for part in (ids, ~filled))
    weight, bias = output.rows(words.flatten())
    weight, bias = weight.view(*words.shape, weight.shape[1]), bias.view(words.shape)
    return OutputRows(words, weight.transpose(1, 2), bias.masked_fill(padding, -torch.inf), _barred(words, unknown))


class SentenceBatch:
    """``S`` source sentences (at least one) that are read once for all prefixes and steps.

    initial: s_0, ``[S, H]``; memory, output: of the sentences of the last call of ``groups``, and maybe others; kept:
    whether of all, always.
    """

    def __init__(self, network: AttentionNetwork, source: Ragged, output: OutputWords, kept: bool = False):
        self.device = network.output.weight.device
        packed, layout, order = pack_sentences(source, self.device)
        (rows,) = self.upload(np.argsort(order))
        initial, memory = network.encode(packed, layout)
        self.initial, self.memory, self.output = initial[rows], memory.take(rows), output
        self._present = np.arange(len(source))  # the sentence of each row of the memory and of the output
        self.kept = kept

    def groups(self, owner: np.ndarray) -> Groups:
        """Which row of the memory and of the output each prefix needs, after leaving out those that none needs; on the
        CPU.

        owner: int64 ``[n]``, rising, the sentence of each; a sentence that is missing must not come again,
        unless the batch was made with ``kept``.
        """
        needed = np.unique(owner)
        if not self.kept and 2 * len(needed) <= len(self._present):  # not at every step: leaving out copies the rest
            (rows,) = self.upload(np.searchsorted(self._present, needed))
            self.memory, self.output, self._present = self.memory.take(rows), self.output.take(rows), needed
        return Groups.of(np.searchsorted(self._present, owner), len(self._present))

    def upload(self, *arrays: np.ndarray) -> tuple[Tensor, ...]:
        """int64, where the network is."""
        return uploaded(tuple(torch.from_numpy(array.astype(np.int64)) for array in arrays), self.device)


@dataclass(frozen=True)
class AttentionStates:
    """Prefixes of translations: s_{t-1} ``[n, H]`` and the last word y_{t-1} of each (int64 ``[n]``; None: none has one
    yet); owner: int64 ``[n]``, rising, the sentence of the batch; mixed: whether words are -1 where a prefix has none;
    groups: of the owners, where they are known.
    """

    batch: SentenceBatch
    owner: np.ndarray
    hidden: Tensor
    words: Tensor | None
    mixed: bool = False
    groups: Groups | None = None

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, rows: np.ndarray) -> "AttentionStates":
        """See ``States``."""
        (numbers,) = self.batch.upload(rows)
        words = None if self.words is None else self.words[numbers]
        return AttentionStates(self.batch, self.owner[rows], self.hidden[numbers], words, self.mixed)


@dataclass(frozen=True)
class AttentionPredictions:
    """z ``[n, R]`` of the next words, what the network keeps to advance by, and alpha ``[n, L]`` of prefixes."""

    network: AttentionNetwork
    states: AttentionStates
    groups: Groups
    inner: Tensor
    kept: Tensor
    alphas: Tensor

    def scores(self, rows: np.ndarray, words: np.ndarray) -> np.ndarray:
        """See ``Predictions``: over the target words of each sentence."""
        batch, output = self.states.batch, self.network.output
        numbers, chosen = batch.upload(rows, words)
        normalisers = batch.output.log_normalisers(self.inner, self.groups)[numbers]
        found = choose_logits(self.inner, output.weight, output.bias, numbers, chosen) - normalisers
        return found.cpu().numpy()

    def best(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See ``RankedPredictions``."""
        found = self.states.batch.output.best(self.inner, self.groups, count)
        values, words, alphas = downloaded(*found, self.alphas)
        return values.astype(np.float64), words, alphas

    def extend(self, rows: np.ndarray, words: np.ndarray) -> AttentionStates:
        """See ``Predictions``."""
        batch, owner = self.states.batch, self.states.owner[rows]
        places = torch.from_numpy(rows), torch.from_numpy(words.astype(np.int64))
        # of a batch that is kept some of the states are taken before they are asked
        groups = None if batch.kept else batch.groups(owner)
        (numbers, chosen), groups = uploaded((places, groups), batch.device)
        hidden = self.network.advance(self.states.hidden[numbers], chosen, self.kept[numbers])
        return AttentionStates(batch, owner, hidden, chosen, groups=groups)


@dataclass(eq=False)
class AttentionTextScorer(StepScorer):
    """An attention network on source sentences (int32 ids).

    sets: the target words of each sentence, UNK and EOS among them; None: all target words; unknown: whether the
    unknown word may be predicted; read: sentences that all states are of (int64 ``[S]``), and their batch.
    """

    network: AttentionNetwork
    source: Ragged
    sets: CandidateSets | None = None
    precision: str = "fp32"
    unknown: bool = True
    read: tuple[np.ndarray, SentenceBatch] | None = None

    def __post_init__(self) -> None:
        self.lengths = self.source.lengths
        self.class_of_word = np.zeros(self.network.config.target_words, dtype=np.int32)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Without gradients, in the precision of the settings."""
        with torch.no_grad(), precision_context(self.network.output.weight.device, self.precision):
            yield

    def batch(self, sentences: np.ndarray, kept: bool = False) -> SentenceBatch:
        """Read some sentences."""
        output = OutputWords.of(self.network.output, sentences, self.sets, self.unknown)
        return SentenceBatch(self.network, self.source.take(sentences), output, kept)

    def score(
        self, targets: Ragged, sentences: np.ndarray, links: np.ndarray | None = None, shared: bool = True
    ) -> tuple[np.ndarray, int]:
        """See ``TextScorer``."""
        return super().score(self.network.config.ordered(targets), sentences, links, shared)

    def start(self, sentences: np.ndarray) -> AttentionStates:
        """See ``StepScorer``: each sentence once, unless they were read before."""
        if self.read is None:
            batch = self.batch(sentences)
            return AttentionStates(batch, np.arange(len(sentences)), batch.initial, None)
        known, batch = self.read
        owner = np.searchsorted(known, sentences)
        return AttentionStates(batch, owner, batch.initial[batch.upload(owner)[0]], None)

    def predict(self, states: AttentionStates) -> AttentionPredictions:
        """See ``StepScorer``."""
        groups = states.groups or uploaded(states.batch.groups(states.owner), states.batch.device)
        memory, words = states.batch.memory, states.words
        before = words if words is None else words.clamp(min=0)
        found: tuple[Tensor, ...] = self.network.look(states.hidden, before, memory, groups)
        if states.mixed and words is not None:
            begun = self.network.look(states.hidden, None, memory, groups)
            found = tuple(torch.where(words[:, None] < 0, *both) for both in zip(begun, found, strict=True))
        return AttentionPredictions(self.network, states, groups, *found)

    def join(self, parts: Sequence[AttentionStates]) -> AttentionStates:
        """See ``StepScorer``; of one batch."""
        batch = parts[0].batch
        words = [batch.upload(np.full(len(part), -1))[0] if part.words is None else part.words for part in parts]
        owner = np.concatenate([part.owner for part in parts])
        mixed = any(part.mixed or part.words is None for part in parts)
        return AttentionStates(batch, owner, torch.cat([part.hidden for part in parts]), torch.cat(words), mixed)

    def walk(self, tries: Tries, used: np.ndarray, sentences: np.ndarray, most: np.ndarray) -> Walk:
        """See ``TextScorer``: every sentence is read once for all levels."""
        known = np.unique(sentences)
        with self.computing():
            read = (known, self.batch(known, kept=True)) if len(known) else None
        return StepWalk(replace(self, read=read), tries, sentences, most)
