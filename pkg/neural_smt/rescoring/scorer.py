"""log p(target | source) of many phrase pairs: every distinct source, and every distinct prefix of each source's
targets, goes through the network once.

The costly part is the normaliser of the softmax over the whole shortlist. It depends on the source and the target
prefix alone, so there is one for each such prefix, whatever words follow it.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from neural_smt.networks.device import precision_context
from neural_smt.networks.encoder_decoder import EncoderDecoder
from neural_smt.networks.softmax import log_normalisers
from neural_smt.ragged import Ragged
from neural_smt.rescoring.trie import Level, SortedSequences

NORMALISER_ROWS = {"cpu": 128, "cuda": 8192}
"""Rows of logits computed at a time: on a CPU few enough to stay in its cache."""


class WorkDone(NamedTuple):
    """What was computed. pairs: all; words: target words of all pairs, end symbols included, the normalisers that a
    scorer without sharing would need; sources: distinct; prefixes: distinct target prefixes of each source.
    """

    pairs: int
    words: int
    sources: int
    prefixes: int


@contextmanager
def one_thread_each(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that each compute with one thread of PyTorch's own.

    Chunks of pairs do not wait for each other, as the threads inside every small operation would have to.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


def _rows(matrix: Tensor, rows: Tensor) -> Tensor:
    """``matrix[rows]``, several times as fast."""
    return matrix.index_select(0, rows)


class PairScorer:
    """Scores pairs of shortlist ids with ``network``; precision as in ``precision_context``.

    What encoder, decoder and readout add for a word is a table with a row per word, made once, in the type to which
    matrix products are rounded.
    """

    def __init__(self, network: EncoderDecoder, precision: str = "fp32"):
        self.network = network
        self.precision = precision
        self.device = network.output.weight.device
        with torch.no_grad(), precision_context(self.device, precision):
            source = network.source_embedding.weight + network.source_embedding.bias
            target = network.target_embedding.weight + network.target_embedding.bias
            self.encoder_inputs = network.encoder.inputs(source)
            self.decoder_inputs = network.decoder.inputs(target)
            self.word_readouts = network.word_readout(target)

    def score(self, source: Ragged, source_of: np.ndarray, target: Ragged, batch: int) -> tuple[np.ndarray, WorkDone]:
        """Natural log p(target | source), end symbol included: float32 ``[pairs]``.

        source: phrases of shortlist ids; source_of: int ``[pairs]``, the source phrase of each pair; target: one
        phrase for each pair; batch: distinct source phrases that go through the network together.
        """
        # Phrases that differ only in words outside the shortlist are one phrase here.
        sources = SortedSequences.of(source)
        pairs = SortedSequences.of(target, sources.row_of[source_of])
        scores = np.empty(len(pairs), dtype=np.float32)
        starts = np.append(np.arange(0, len(sources), batch), len(sources))
        bounds = np.searchsorted(pairs.matrix[:, 0], starts)

        def score_chunk(number: int) -> tuple[int, int]:
            """Fill in the scores of one chunk; returns its pairs and prefixes."""
            first, last = starts[number : number + 2].tolist()
            start, end = bounds[number : number + 2].tolist()
            if start == end:
                return 0, 0
            # Gradient mode and autocast belong to a thread.
            with torch.no_grad(), precision_context(self.device, self.precision):
                summaries = self._encode(sources.levels(first, last), last - first)
                scores[start:end], computed = self._decode(summaries, pairs.levels(start, end), end - start, first)
            return end - start, computed

        workers = 1 if self.device.type == "cuda" else torch.get_num_threads()
        prefixes = 0
        interactive = sys.stderr.isatty()
        with (
            one_thread_each(workers) as pool,
            tqdm(total=len(pairs), unit="pair", unit_scale=True, disable=not interactive) as bar,
        ):
            for scored, computed in pool.map(score_chunk, range(len(starts) - 1)):
                prefixes += computed
                bar.update(scored)
        done = WorkDone(len(target), len(target.values) + len(target), len(sources), prefixes)
        return scores[pairs.row_of], done

    def _encode(self, levels: list[Level], count: int) -> Tensor:
        """c of ``count`` sources in row order, ``[count, H]``; prefixes that sources share are read once."""
        network = self.network
        states = network.output.weight.new_empty(count, network.config.hidden)
        state = states.new_zeros(1, network.config.hidden)
        for level in levels:
            inputs = _rows(self.encoder_inputs, self._tensor(level.symbols))
            state = network.encoder.step(inputs, _rows(state, self._tensor(level.parents)))
            states[self._tensor(level.rows)] = _rows(state, self._tensor(level.ends))
        return network.summarise(states)

    def _decode(self, summaries: Tensor, levels: list[Level], count: int, first: int) -> tuple[np.ndarray, int]:
        """Scores of ``count`` pairs in row order, and the number of prefixes computed.

        The first level of the pairs' trie is their source, numbered from ``first``.
        """
        network, output = self.network, self.network.output
        context = network.decoder_context(summaries).take(self._tensor(levels[0].symbols - first))
        state, owner = context.initial, torch.arange(len(context.initial), device=self.device)
        if network.config.conventions.first_step == "paper":
            nothing = network.decoder.inputs(state.new_zeros(1, network.config.embedding))
            state = network.decoder.step(nothing + context.inputs, state, context.gated)
        words = self.word_readouts.new_zeros(1, self.word_readouts.shape[1])
        total = state.new_zeros(len(state))
        scores = state.new_empty(count)
        buffer = state.new_empty(NORMALISER_ROWS[self.device.type], network.config.target_words)
        prefixes = 0
        number = np.arange(len(state))
        for level in levels[1:]:
            inner = network.before_softmax(state, words, _rows(context.readout, owner))
            total -= log_normalisers(inner, output.weight, output.bias, words.dtype, buffer)
            prefixes += len(inner)
            parents, symbols = self._tensor(number[level.parents]), self._tensor(level.symbols)
            logits = (_rows(inner, parents) * _rows(output.weight, symbols)).sum(1) + output.bias[symbols]
            total = total[parents] + logits
            scores[self._tensor(level.rows)] = total[self._tensor(level.ends)]
            # The end symbol ends a sequence, so its node has no successors and needs no state.
            goes_on = np.ones(len(symbols), dtype=bool)
            goes_on[level.ends] = False
            number = np.cumsum(goes_on) - 1
            going = self._tensor(np.flatnonzero(goes_on))
            parents, symbols, total = parents[going], symbols[going], total[going]
            owner = owner[parents]
            inputs = _rows(self.decoder_inputs, symbols).add_(_rows(context.inputs, owner))
            gated = None if context.gated is None else _rows(context.gated, owner)
            state = network.decoder.step(inputs, _rows(state, parents), gated)
            words = _rows(self.word_readouts, symbols)
        return scores.cpu().numpy(), prefixes

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array.astype(np.int64)).to(self.device)
