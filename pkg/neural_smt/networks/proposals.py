"""Target phrases that a network proposes for source phrases, and the decoder steps that propose them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import Context, EncoderDecoder
from neural_smt.networks.packing import pack
from neural_smt.networks.softmax import TILE


@dataclass(frozen=True)
class Proposals:
    """``N`` target phrases proposed for some source phrases, those of one source phrase together.

    source: int64 ``[N]``, ascending, the source phrase of each; phrases: int32 ``Ragged`` of N phrases of shortlist
    ids; scores: float64 ``[N]``, natural log p(target | source) of the words written, end symbol included; complete:
    bool ``[N]``, whether the phrase ended itself (an end symbol was written before the limit of its length).
    """

    source: np.ndarray
    phrases: Ragged
    scores: np.ndarray
    complete: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    @classmethod
    def concatenate(cls, parts: list["Proposals"]) -> "Proposals":
        """All parts (at least one), in the order of their source phrases, and as they stand within each."""
        source = np.concatenate([part.source for part in parts])
        order = np.argsort(source, kind="stable")
        return cls(
            source[order],
            Ragged.concatenate([part.phrases for part in parts]).take(order),
            np.concatenate([part.scores for part in parts])[order],
            np.concatenate([part.complete for part in parts])[order],
        )


@dataclass(frozen=True)
class Prefixes:
    """``n`` target prefixes: state h', ``[n, H]``; readout of the last word, ``[n, 2M]`` (or ``[1, 2M]``, 0, when
    there is none); owner: int64 ``[n]``, ascending, the source phrase of each.
    """

    state: Tensor
    words: Tensor
    owner: Tensor


class StepDecoder:
    """The decoder, one word at a time, over the prefixes of ``S`` source phrases.

    What decoder and readout add for a word is a table with a row per word, made once.
    """

    def __init__(self, network: EncoderDecoder):
        self.network = network
        self.device = network.output.weight.device
        target = network.target_embedding.weight + network.target_embedding.bias
        self._inputs = network.decoder.inputs(target)
        self._readouts = network.word_readout(target)

    def start(self, source: Ragged) -> tuple[Context, Prefixes]:
        """The contexts of ``S`` source phrases (shortlist ids) and their empty prefixes."""
        network = self.network
        packed, order = pack(source, self.device)
        rows = np.empty(len(order), dtype=np.int64)
        rows[order] = np.arange(len(order))
        context = network.decoder_context(network.encode(packed)[self._tensor(rows)])
        state = context.initial
        if network.config.conventions.first_step == "paper":
            nothing = network.decoder.inputs(state.new_zeros(1, network.config.embedding))
            state = network.decoder.step(nothing + context.inputs, state, context.gated)
        nothing = self._readouts.new_zeros(1, self._readouts.shape[1])
        return context, Prefixes(state, nothing, torch.arange(len(source), device=self.device))

    def logits(self, context: Context, prefixes: Prefixes) -> Iterator[tuple[int, Tensor]]:
        """Logits of the next word, a few prefixes at a time: the first of them, and ``[rows, V]``.

        Few enough that what is done with them finds them in the processor's cache.
        """
        network, output = self.network, self.network.output
        inner = network.before_softmax(prefixes.state, prefixes.words, context.readout[prefixes.owner])
        rows = len(inner) if inner.is_cuda else max(TILE // len(output.weight), 16)
        for start in range(0, len(inner), max(rows, 1)):
            yield start, torch.addmm(output.bias, inner[start : start + rows], output.weight.t())

    def extend(self, context: Context, prefixes: Prefixes, parents: np.ndarray, words: np.ndarray) -> Prefixes:
        """The prefixes ``parents`` (int64 ``[m]``, ascending), each with one more of ``words`` (int64 ``[m]``)."""
        chosen, ids = self._tensor(parents), self._tensor(words)
        owner = prefixes.owner[chosen]
        gated = None if context.gated is None else context.gated[owner]
        inputs = self._inputs[ids] + context.inputs[owner]
        state = self.network.decoder.step(inputs, prefixes.state[chosen], gated)
        return Prefixes(state, self._readouts[ids], owner)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(self.device)
