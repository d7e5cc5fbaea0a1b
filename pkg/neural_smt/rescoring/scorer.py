"""log p(target | source) of many phrase pairs: every distinct source, and every distinct prefix of each source's
targets, goes through the network once.

The costly part is the normaliser of the softmax over the whole shortlist. It depends on the source and the target
prefix alone, so there is one for each such prefix, whatever words follow it.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from neural_smt.io.ragged import Ragged
from neural_smt.networks.device import precision_context, uploaded
from neural_smt.networks.distinct import Level, SortedSequences
from neural_smt.networks.encoder_decoder import EncoderDecoder, StepDecoder
from neural_smt.networks.normalisers import Normalisers
from neural_smt.rescoring.column_steps import WorkDone

NO_ROWS = np.zeros(0, dtype=np.int64)


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


def _nodes(levels: list[Level]) -> int:
    return sum(len(level.symbols) for level in levels)


def _sequences(levels: list[Level]) -> int:
    return sum(len(level.rows) for level in levels)


class PairScorer:
    """Scores pairs of shortlist ids with ``network``; precision as in ``precision_context``.

    What encoder, decoder and readout add for a word is a table with a row per word, made once, in the type to which
    matrix products are rounded.
    """

    def __init__(self, network: EncoderDecoder, precision: str = "fp32"):
        self.network, self.precision, self.device = network, precision, network.output.weight.device
        with torch.no_grad(), precision_context(self.device, precision):
            source = network.source_embedding.weight + network.source_embedding.bias
            self.encoder_inputs = network.encoder.inputs(source)
            self.decoder = StepDecoder(network)
            dtype = self.decoder.readouts.dtype
            self.normalisers = Normalisers(network.output.weight.to(dtype), network.output.bias)

    def score(
        self, source: Ragged, target: Ragged, batch: int, progress: Callable[[int], object] = lambda pairs: None
    ) -> tuple[np.ndarray, WorkDone]:
        """Natural log p(target | source), end symbol included: float32 ``[pairs]``.

        source, target: shortlist ids of each pair; batch: distinct source phrases that go through the network together;
        progress: is told the number of pairs whenever some have been scored.
        """
        # Phrases that differ only in words outside the shortlist are one phrase here.
        sources = SortedSequences.of(source)
        pairs = SortedSequences.of(target, sources.row_of)
        scores = np.empty(len(pairs), dtype=np.float32)
        starts = np.append(np.arange(0, len(sources), batch), len(sources))
        bounds = np.searchsorted(pairs.matrix[:, 0], starts)

        def score_chunk(number: int) -> tuple[int, int, int]:
            """Fill in the scores of one chunk; returns its pairs, its prefixes, and the states computed."""
            first, last = starts[number : number + 2].tolist()
            start, end = bounds[number : number + 2].tolist()
            tries = sources.levels(first, last), pairs.levels(start, end)
            scores[start:end] = self.score_tries(*tries)
            states = _nodes(tries[0]) + _nodes(tries[1]) - len(tries[1][0].symbols) - (end - start)
            return end - start, _nodes(tries[1]) - (end - start), states

        workers = 1 if self.device.type == "cuda" else torch.get_num_threads()
        prefixes = states = 0
        with one_thread_each(workers) as pool:
            for scored, distinct, computed in pool.map(score_chunk, range(len(starts) - 1)):
                prefixes += distinct
                states += computed
                progress(scored)
        words = len(target.values) + len(target)
        steps = len(source.values) + len(source) + len(target.values)
        return scores[pairs.row_of], WorkDone(len(target), words, len(sources), prefixes, steps, states)

    def score_tries(self, sources: list[Level], pairs: list[Level]) -> np.ndarray:
        """Scores, float32, of the pairs of one chunk in the order of their rows; they begin with all sources."""
        count = _sequences(sources)
        steps = [_Step.of(level, level.parents) for level in sources], list(_decoder_steps(pairs[1:], count))
        # in one copy, and nothing is waited for before the scores
        read, predicted = uploaded(tuple(map(tuple, steps)), self.device)
        # Gradient mode and autocast belong to a thread.
        with torch.no_grad(), precision_context(self.device, self.precision):
            return self._decode(self._encode(read, count), predicted, _sequences(pairs)).cpu().numpy()

    def _encode(self, steps: tuple["_Step", ...], count: int) -> Tensor:
        """c of so many sources in row order, ``[sources, H]``; prefixes that sources share are read once."""
        network = self.network
        states = network.output.weight.new_empty(count, network.config.hidden)
        state = states.new_zeros(1, network.config.hidden)
        for symbols, parents, rows, ends, _ in steps:
            inputs = self.encoder_inputs.index_select(0, symbols)
            state = network.encoder.step(inputs, state.index_select(0, parents))
            states[rows] = state.index_select(0, ends)
        return network.summarise(states)

    def _decode(self, summaries: Tensor, steps: tuple["_Step", ...], count: int) -> Tensor:
        """Scores of so many pairs in row order."""
        output = self.network.output
        context, prefixes = self.decoder.begin(summaries)
        total = prefixes.state.new_zeros(len(prefixes.state))
        scores = total.new_empty(count)
        for symbols, parents, rows, ends, going in steps:
            inner = self.decoder.before_softmax(context, prefixes)
            total -= self.normalisers(inner)
            products = inner.index_select(0, parents) * output.weight.index_select(0, symbols)
            total = total[parents] + (products.sum(1) + output.bias[symbols])
            scores[rows] = total[ends]
            total = total[going]
            prefixes = self.decoder.extend(context, prefixes, parents[going], symbols[going])
        return scores


class _Step(NamedTuple):
    """What is read or predicted after the prefixes of a level, int64: ``symbols``, and after which of the prefixes,
    ``parents``; ``rows`` of the sequences that end with one of these, ``ends``; ``going``, which go on.
    """

    symbols: Tensor
    parents: Tensor
    rows: Tensor
    ends: Tensor
    going: Tensor

    @classmethod
    def of(cls, level: Level, parents: np.ndarray, going: np.ndarray = NO_ROWS) -> "_Step":
        arrays = level.symbols, parents, level.rows, level.ends, going
        return cls(*(torch.from_numpy(array.astype(np.int64)) for array in arrays))


def _decoder_steps(levels: list[Level], sources: int) -> Iterator[_Step]:
    """Those of the levels of a trie after the first one, which holds so many sources."""
    number = np.arange(sources)
    for level in levels:
        # The end symbol ends a sequence, so its node has no successors and needs no state.
        goes_on = np.ones(len(level.symbols), dtype=bool)
        goes_on[level.ends] = False
        yield _Step.of(level, number[level.parents], np.flatnonzero(goes_on))
        number = np.cumsum(goes_on) - 1
