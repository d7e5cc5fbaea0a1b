"""What the search kernels share: options, coverage, future cost, language model scores, and a heap.

Scores are float64, natural log, weighted. Source ranges are half open: ``start`` is the first word, ``stop`` the one
after the last.
"""

from typing import NamedTuple

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.jit import kernel, leaf, mix
from neural_smt.language_model.primitives import Automaton, score_word
from neural_smt.vocabulary import EOS

LOG_10 = np.log(10.0)

WINDOW = 63
"""Words beyond the first gap that a coverage can tell apart: no jump and no source phrase may be longer."""

MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2


TAIL = np.dtype([("state", np.int32), ("log10_prob", np.float64)], align=True)
"""A target word where its phrase stands alone. state: of a language model after it; log10_prob: of the words after it.
Once a model is in this state, whatever was before the phrase, they tell how it goes on.
"""


class Options(NamedTuple):
    """Translation options by source phrase, best first; O options in all.

    offsets: int64 [P + 1]: the options of phrase p; source_length: int32 [O]; score: float64 [O], weighted stateless
    scores; estimate: float64 [O], with the language models' score of the target on its own; backward, forward:
    float64 [O, 3], weighted reordering scores by orientation with respect to the previous and the next phrase;
    forward_class: int32 [O], equal where the three forward scores are; target_number: int32 [O], equal for equal
    targets; word_offsets: int64 [O + 1] and words: int32, the target words; tails: ``TAIL`` [words, models], of each.
    """

    offsets: np.ndarray
    source_length: np.ndarray
    score: np.ndarray
    estimate: np.ndarray
    backward: np.ndarray
    forward: np.ndarray
    forward_class: np.ndarray
    target_number: np.ndarray
    word_offsets: np.ndarray
    words: np.ndarray
    tails: np.ndarray

    @property
    def targets(self) -> Ragged:
        """int32 ``Ragged`` of O phrases: the target words (not for kernels)."""
        return Ragged(self.words, self.word_offsets)


class Sentences(NamedTuple):
    """A batch of B sentences.

    lengths, first: int64 [B], words and first row of ``spans``; spans: int32 [tokens, longest], source phrase of the
    span from a token with (column + 1) words, or -1; future: float64, and future_first: int64 [B + 1]: see
    ``future_costs``.
    """

    lengths: np.ndarray
    first: np.ndarray
    spans: np.ndarray
    future: np.ndarray
    future_first: np.ndarray


HYPOTHESIS = np.dtype(
    [("score", np.float64), ("start", np.int32), ("stop", np.int32), ("option", np.int32), ("pending", np.uint8)],
    align=True,
)
"""A hypothesis; those of a coverage stand together, best first when they are settled, which a lazy feature may change
later. start, stop: the last source range; option: the last option (-1: none yet); pending: whether the stateful feature
has yet to score the arcs into it (``stack_primitives``).
"""

COVERAGE = np.dtype(
    [("gap", np.int32), ("first", np.int32), ("last", np.int32), ("window", np.uint64), ("rest", np.float64)],
    align=True,
)
"""A set of translated words; those of a stack stand together. gap: the first word not translated; window: bit i is set
when word gap + i is translated; rest: future cost of what is not translated; first, last: the range of its hypotheses.
"""

WAY = np.dtype(
    [("score", np.float64), ("extra", np.float64)] + [(name, np.int32) for name in ("head", "tail", "option", "start")],
    align=True,
)
"""A way into a hypothesis. head, tail: what is reached and the hypothesis that is extended; score: model score of the
best derivation up to ``head``, without future cost; extra: the unweighted score of the stateful feature, or of its
fallback language model.
"""


class Search(NamedTuple):
    """Search settings and the weights of stateful scores.

    distortion: weight of a word's distance; language: float64 [models]; limit: longest jump; beam:
    log of the beam threshold; stack_size; margin: how many times the stack size is kept before the
    stateful feature has scored; keep_arcs: whether recombined hypotheses are kept; context: last words that must agree
    for hypotheses to be recombined, where the feature reads words (beside what the language models need); fallback_lm:
    the language model whose score the feature has until it has scored (-1: none); lazy: whether it scores hypotheses no
    sooner than they are extended; reordering: whether scores depend on where the last source range begins.
    """

    distortion: float
    language: np.ndarray
    limit: int
    beam: float
    stack_size: int
    margin: float
    keep_arcs: bool
    context: int
    fallback_lm: int
    lazy: bool
    reordering: bool


class Task(NamedTuple):
    """All that stays the same while a batch is searched, and the memo of language model scores."""

    sentences: Sentences
    options: Options
    models: tuple[Automaton, ...]
    search: Search
    memo: np.ndarray


class Stacks(NamedTuple):
    """The stacks settled so far, of H hypotheses.

    hypotheses: ``HYPOTHESIS`` [H]; states: int32 [H, models]; history: int32 [H, words], the last target words, as many
    as the stateful feature reads; coverages: ``COVERAGE``; ranges: int64 [B, longest + 1, 2], the coverages of each
    stack of each sentence; counts: int64 [3], how many arcs, hypotheses and coverages there are; arcs: ``WAY``, ways
    into hypotheses, those into a stack of a sentence together, after those into its smaller stacks; arc_ranges: int64
    [B, longest + 1, 2], the arcs into each stack of each sentence. There may be room for more.
    """

    hypotheses: np.ndarray
    states: np.ndarray
    history: np.ndarray
    coverages: np.ndarray
    ranges: np.ndarray
    counts: np.ndarray
    arcs: np.ndarray
    arc_ranges: np.ndarray


MEMO = np.dtype([("key", np.uint64), ("score", np.float32), ("next_state", np.int32)])
"""One remembered language model score of (model, state, target phrase): natural log, weightless."""

MEMO_SLOTS = 1 << 13
"""Few enough to stay in a processor's second cache. The key of a slot that holds nothing is 0."""


@leaf
def orientation(previous_start: int, previous_stop: int, start: int, stop: int) -> int:
    """Monotone, swap or discontinuous; a first phrase (previous range 0, 0) is monotone when it starts the sentence."""
    if start == previous_stop:
        return MONOTONE
    return SWAP if stop == previous_start else DISCONTINUOUS


@leaf
def fits(gap: int, window: np.uint64, start: int, stop: int, limit: int) -> bool:
    """Whether a range may be translated next: it is free, and the first gap can still be reached after it."""
    if start > gap and stop - gap > limit:
        return False
    mask = ((np.uint64(1) << np.uint64(stop - start)) - np.uint64(1)) << np.uint64(start - gap)
    return window & mask == 0


@leaf
def cover(gap: int, window: np.uint64, start: int, stop: int) -> tuple[int, np.uint64]:
    """The first gap and window once the range is translated too."""
    mask = ((np.uint64(1) << np.uint64(stop - start)) - np.uint64(1)) << np.uint64(start - gap)
    window |= mask
    while window & np.uint64(1):
        window >>= np.uint64(1)
        gap += 1
    return gap, window


@kernel
def future_costs(sentences: Sentences, options: Options) -> None:
    """Write the best score of every range of words in isolation into ``future``: that of the best sequence of options
    that covers it. The range [i, j) of sentence b stands at ``future_first[b] + i * (lengths[b] + 1) + j``.
    """
    first, spans = sentences.future_first, sentences.spans
    for sentence in range(len(sentences.lengths)):
        size = sentences.lengths[sentence]
        table = sentences.future[first[sentence] : first[sentence + 1]].reshape((size + 1, size + 1))
        for start in range(size, -1, -1):
            table[start, start] = 0.0
            for stop in range(start + 1, min(start + spans.shape[1], size) + 1):
                phrase = spans[sentences.first[sentence] + start, stop - start - 1]
                if phrase >= 0:
                    best = options.estimate[options.offsets[phrase]]
                    for end in range(stop, size + 1):
                        table[start, end] = max(table[start, end], best + table[stop, end])


@leaf
def rest_cost(sentences: Sentences, sentence: int, gap: int, window: np.uint64) -> float:
    """Future cost of all words not translated: the sum over the gaps."""
    size = sentences.lengths[sentence]
    base = sentences.future_first[sentence]
    total = 0.0
    start = gap
    while start < size:
        stop = start
        if window == 0:
            stop = size
        else:
            while not window & np.uint64(1):
                window >>= np.uint64(1)
                stop += 1
        total += sentences.future[base + start * (size + 1) + stop]
        start = stop
        while window & np.uint64(1):
            window >>= np.uint64(1)
            start += 1
    return total


@leaf(forceinline=True)
def score_words(model: Automaton, m: int, state: int, options: Options, option: int) -> tuple[float, int]:
    """Log10 probability of an option's words after a state of language model ``m``, and the state after them."""
    total, following, last = 0.0, np.int64(state), np.uint64(options.word_offsets[option + 1])
    for position in range(np.uint64(options.word_offsets[option]), last):
        log10_prob, following = score_word(model, following, options.words[position])
        total += log10_prob
        tail = options.tails[position, m]
        if following == tail.state:
            return total + tail.log10_prob, np.int64(options.tails[last - np.uint64(1), m].state)
    return total, following


@leaf(forceinline=True)  # a call would pass each field of each array of the task
def score_phrase(
    task: Task, states: np.ndarray, option: int, final: bool, next_states: np.ndarray
) -> tuple[float, float]:
    """Weighted language model score of an option after ``states`` (int32 [models]), and that of ``fallback_lm`` alone,
    weightless; fills ``next_states``. final: the end of the sentence is scored too, after which states are 0.

    A score is looked up in the memo first, where a newer entry overwrites an older one in the same slot.
    """
    options, memo, search = task.options, task.memo, task.search
    total, fallback, closing = 0.0, 0.0, 0.0
    for m in range(len(task.models)):
        state = states[m]
        key = (np.uint64(state) << np.uint64(32)) | np.uint64(options.target_number[option] + 1)
        slot = mix(key + np.uint64(m)) & np.uint64(memo.shape[1] - 1)
        if memo[m, slot].key == key:
            next_states[m] = memo[m, slot].next_state
        else:
            log10_prob, following = score_words(task.models[m], m, state, options, option)
            memo[m, slot].key = key
            memo[m, slot].score = log10_prob * LOG_10
            memo[m, slot].next_state = following
            next_states[m] = following
        score, end = np.float64(memo[m, slot].score), 0.0
        if final:
            end = score_word(task.models[m], next_states[m], EOS)[0] * LOG_10
            next_states[m] = 0
        total += search.language[m] * score
        closing += search.language[m] * end
        if m == search.fallback_lm:
            fallback = score + end
    return total + closing, fallback


@leaf
def write_history(history: np.ndarray, row: int, parent: int, options: Options, option: int) -> None:
    """The last target words after the option."""
    size = history.shape[1]
    added = options.word_offsets[option + 1] - options.word_offsets[option]
    for i in range(size):
        position = added - size + i
        if position < 0:
            history[row, i] = history[parent, size + position]
        else:
            history[row, i] = options.words[options.word_offsets[option] + position]


@leaf
def _before(key: float, item: int, other_key: float, other_item: int) -> bool:
    """The order of a heap in two flat arrays: largest key first; equal keys leave in the order of their items."""
    return (key > other_key) | ((key == other_key) & (item < other_item))


@leaf
def push(keys: np.ndarray, items: np.ndarray, size: int, key: float, item: int) -> int:
    """Insert an item into a heap of ``size`` entries (keys: float64, items: int32, with room); return the new size."""
    hole = np.uint32(size)
    while hole > 0:
        parent = np.uint32((hole - 1) >> 1)
        if not _before(key, item, keys[parent], items[parent]):
            break
        keys[hole], items[hole] = keys[parent], items[parent]
        hole = parent
    keys[hole], items[hole] = key, item
    return size + 1


@leaf
def replace_first(keys: np.ndarray, items: np.ndarray, size: int, key: float, item: int) -> None:
    """Put an item in place of the first of a heap of ``size`` entries."""
    hole = np.uint32(0)
    while 2 * hole + 1 < size:
        child, other = np.uint32(2 * hole + 1), np.uint32(2 * hole + 2)
        if other < size:  # added, as which of the two it is cannot be foreseen, and a wrong guess costs time
            child = np.uint32(child + _before(keys[other], items[other], keys[child], items[child]))
        if not _before(keys[child], items[child], key, item):
            break
        keys[hole], items[hole] = keys[child], items[child]
        hole = child
    keys[hole], items[hole] = key, item


@leaf
def pop(keys: np.ndarray, items: np.ndarray, size: int) -> tuple[int, int]:
    """Remove the first item of a heap that is not empty; return it and the new size."""
    first = np.int64(items[0])
    replace_first(keys, items, size - 1, keys[size - 1], items[size - 1])
    return first, size - 1
