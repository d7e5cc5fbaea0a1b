"""Translations as words, feature values and alignments, read off the lattices of a batch at once; and n-best lists in
the text format of Moses: ``id ||| words ||| Name0= values ... ||| total [||| i-j ...]``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.decoding.batches import Derivations
from neural_smt.decoding.features import FeatureSet
from neural_smt.decoding.lattices.flat import best_derivations
from neural_smt.decoding.lattices.lattice import Lattice
from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import UNKNOWN_ROW
from neural_smt.errors import UserError
from neural_smt.io.best import best_of_each
from neural_smt.io.files import read_lines, write_lines
from neural_smt.io.ragged import Ragged, offsets_of
from neural_smt.io.streams import stream_lines
from neural_smt.jit import kernel
from neural_smt.shards import Shard

FINALISTS = 10
"""Where a feature is only estimated in the search, so many translations of a sentence are rescored exactly before the
best is chosen. The errors of estimates are small, but the translation that scores best is often one that they overrate.
"""

BLOCK = 256
"""Sentences whose lists are scored together."""

SENTENCE = re.compile(r"[0-9]{1,9}")
"""The number of a list's sentence."""

LINK = re.compile(r"(\d+)-(\d+)")
"""A link of a word alignment: positions of a source and a target word."""


@dataclass(frozen=True)
class Trace:
    """How a translation was made of K phrases, in target order.

    alignment: (source, target) word positions; segmentation: (source start, source stop, target start, target stop) of
    each phrase, half open; features: float32 ``[K, F]``, what each phrase adds to the feature values (estimates
    of a feature that was only estimated in the search).
    """

    alignment: list[tuple[int, int]]
    segmentation: list[tuple[int, int, int, int]]
    features: np.ndarray


UNTRACED = Trace([], [], np.zeros((0, 0), dtype=np.float32))
"""Of a translation whose trace was not requested."""


@dataclass(frozen=True)
class NBestEntry:
    """One entry of an n-best list.

    features: float32 ``[F]``; score: their weighted sum; trace: how it was made, where that was requested.
    """

    tokens: list[str]
    features: np.ndarray
    score: float
    trace: Trace = UNTRACED


@dataclass(frozen=True)
class NBestList(Sequence[NBestEntry]):
    """An n-best list of n entries, best first, in arrays; entries are created when they are accessed.

    features: float32 ``[n, F]``; scores: float64 ``[n]``; words: int32 ``Ragged`` of n translations, target ids;
    spelling: the word of each target id; traces: how each was made, where that was requested.
    """

    features: np.ndarray
    scores: np.ndarray
    words: Ragged
    spelling: list[str]
    traces: Sequence[Trace] = ()

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, begin: int, end: int) -> "NBestList":
        """The entries from ``begin`` up to ``end``."""
        here = slice(begin, end)
        words = self.words.part(begin, end)
        return NBestList(self.features[here], self.scores[here], words, self.spelling, self.traces[here])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        tokens = [self.spelling[word] for word in self.words[i].tolist()]
        return NBestEntry(tokens, self.features[i], float(self.scores[i]), self.traces[i] if self.traces else UNTRACED)


@dataclass(frozen=True)
class Translation(NBestEntry):
    """The best translation of a sentence; features: in the order of the decoder's feature set; nbest: as many entries
    as requested, or all there are.
    """

    nbest: Sequence[NBestEntry] = ()


def no_phrases(scores: int, alignment: Sequence[tuple[int, int]] = ()) -> Trace:
    """The trace of a translation of so many scores that is made of no phrases."""
    return Trace(list(alignment), [], np.zeros((0, scores), dtype=np.float32))


def empty_list(scores: int) -> NBestList:
    """The list of an empty sentence, of one entry, by a system of so many scores."""
    return NBestList(np.zeros((1, scores), np.float32), np.zeros(1), Ragged.from_lists([[]]), [], [no_phrases(scores)])


def empty_translation(scores: int, nbest: int) -> Translation:
    """The translation of an empty sentence by a system of so many scores."""
    entries = empty_list(scores)
    best = entries[0]
    return Translation([], best.features, best.score, best.trace, entries if nbest else ())


@kernel
def _sum_rows(rows: np.ndarray, numbers: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """float32 [D, F]: sums of the rows (float32 [n, F]) with these numbers, from ``offsets[d]`` (int64 [D + 1]) on."""
    sums, total = np.empty((len(offsets) - 1, rows.shape[1]), dtype=np.float32), np.empty(rows.shape[1])
    for d in range(len(sums)):
        total[:] = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            for f in range(len(total)):
                total[f] += rows[numbers[i], f]
        for f in range(len(total)):
            sums[d, f] = total[f]
    return sums


Rescore = Callable[[Ragged, Derivations], np.ndarray]
"""Where the network feature of a search only estimated: its exact values for n translations, of their words (int32
``Ragged``) and derivations, float ``[n]``.
"""


def list_best(
    lattice: Lattice, nbest: int, distinct: bool, rescore: Rescore | None = None
) -> tuple[NBestList, np.ndarray, Ragged]:
    """The ``nbest`` best translations of every sentence of a lattice, distinct ones or not, one list after the other.

    rescore: lists are in the order of the scores with what it gives. Returns the entries, without traces, int64 ``[S +
    1]``, where the list of each sentence begins, and int ``Ragged``, the arcs of each entry. With ``rescore`` a list is
    as long as what was rescored.
    """
    weighted = lattice.weighted
    paths, scores, first = best_derivations(lattice, max(nbest, FINALISTS if rescore else 1), distinct)
    chosen = lattice.options[paths.values]
    used = np.zeros(len(lattice.tails), dtype=bool)  # derivations share most of their arcs
    used[paths.values] = True
    features = _sum_rows(lattice.features(np.flatnonzero(used)), (np.cumsum(used) - 1)[paths.values], paths.offsets)
    words = weighted.options.targets.take(chosen).joined(paths.offsets)
    if rescore:
        sentences, column = np.repeat(lattice.sentences, np.diff(first)), weighted.feature_column
        options, starts = (Ragged(part, paths.offsets) for part in (chosen, lattice.starts[paths.values]))
        exact = rescore(words, Derivations(weighted, sentences, options, starts))
        scores += weighted.vector[column] * (exact - features[:, column])
        features[:, column] = exact
        order = best_of_each(scores, first)[0]
        features, scores, words, paths = features[order], scores[order], words.take(order), paths.take(order)
    return NBestList(features, scores, words, weighted.prepared.spelling), first, paths


def cut(entries: NBestList, first: np.ndarray, most: int) -> list[NBestList]:
    """The lists that begin at ``first``, of at most so many entries each."""
    return [entries.part(begin, min(end, begin + most)) for begin, end in pairwise(first.tolist())]


def translate(
    lattice: Lattice,
    model: TranslationModel,
    nbest: int,
    distinct: bool,
    rescore: Rescore | None = None,
    traced: int = 0,
) -> list[Translation]:
    """The best translation of every sentence of a lattice, with lists of ``nbest`` entries: see ``list_best``; traced:
    how many of them have their ``Trace``.
    """
    entries, first, paths = list_best(lattice, nbest, distinct, rescore)
    if traced:
        chosen = np.flatnonzero(np.arange(len(entries)) < np.repeat(first[:-1] + traced, np.diff(first)))
        traces = [UNTRACED] * len(entries)
        for number, made in zip(chosen.tolist(), trace(lattice, paths.take(chosen), model), strict=True):
            traces[number] = made
        entries = replace(entries, traces=traces)
    bests = [entries[begin] for begin in first[:-1].tolist()]
    lists = cut(entries, first, nbest) if nbest else [()] * len(bests)
    return [
        Translation(best.tokens, best.features, best.score, best.trace, listed)
        for best, listed in zip(bests, lists, strict=True)
    ]


def trace(lattice: Lattice, paths: Ragged, model: TranslationModel) -> list[Trace]:
    """How derivations were made; paths: int ``Ragged`` of their arcs, one or more each."""
    weighted = lattice.weighted
    chosen, starts = lattice.options[paths.values], lattice.starts[paths.values]
    stops = starts + weighted.options.source_length[chosen]
    sizes = weighted.options.word_offsets[chosen + 1] - weighted.options.word_offsets[chosen]
    offsets = offsets_of(sizes)
    begins = offsets[:-1] - np.repeat(offsets[paths.offsets[:-1]], paths.lengths)
    ends = begins + sizes
    segments = list(zip(starts.tolist(), stops.tolist(), begins.tolist(), ends.tolist(), strict=True))

    links = phrase_links(weighted.prepared.rows[weighted.rows[chosen]], model)
    first = np.repeat(np.column_stack([starts, begins]), links.lengths, axis=0)
    pairs = list(zip(*(first + links.values).T.tolist(), strict=True))
    pair_offsets = links.offsets[paths.offsets].tolist()
    features = Ragged(lattice.features(paths.values), paths.offsets)
    return [
        Trace(pairs[pair_offsets[i] : pair_offsets[i + 1]], segments[begin:end], features[i])
        for i, (begin, end) in enumerate(pairwise(paths.offsets.tolist()))
    ]


def phrase_links(rows: np.ndarray, model: TranslationModel) -> Ragged:
    """int32 ``Ragged`` of (source, target) word positions within n phrase pairs; rows: int ``[n]``, of the table.

    A copied word is linked to the one that it copies.
    """
    found = rows != UNKNOWN_ROW
    links, lengths = model.phrase_table.links(rows[found]), np.ones(len(rows), dtype=np.int64)
    lengths[found] = links.lengths
    pairs = np.zeros((lengths.sum(), 2), dtype=np.int32)
    pairs[np.repeat(found, lengths)] = links.values.reshape(-1, 2)
    return Ragged(pairs, offsets_of(lengths))


@dataclass(frozen=True)
class ListedTranslation:
    """One line of an n-best list. features: name -> values, as printed; score: the total; alignment: (source, target)
    positions, None where the list has none.
    """

    sentence: int
    tokens: list[str]
    features: dict[str, list[float]]
    score: float
    alignment: list[tuple[int, int]] | None = None


def write_nbest(
    path: Path, translations: Iterable[Translation], feature_set: FeatureSet, aligned: bool = False
) -> None:
    """Write the n-best lists of translations, numbered from 0, atomically; six significant digits.

    As in Moses, features that cannot be tuned are left out, though they count in the total.
    """
    shown = {feature.name: feature_set.slices[feature.name] for feature in feature_set if feature.tunable}
    write_lines(path, nbest_lines(translations, shown, aligned=aligned))


def nbest_lines(
    translations: Iterable[Translation], shown: Mapping[str, slice], first: int = 0, aligned: bool = False
) -> Iterator[str]:
    """The lines of n-best lists, of sentences numbered from ``first``.

    shown: printed name -> its scores; aligned: whether word alignments follow the totals, of translations with traces.
    """
    for number, translation in enumerate(translations, start=first):
        for entry in translation.nbest:
            values = entry.features.tolist()
            features = {name: values[part] for name, part in shown.items()}
            alignment = entry.trace.alignment if aligned else None
            yield entry_line(ListedTranslation(number, entry.tokens, features, entry.score, alignment))


def write_entries(path: Path, entries: Iterable[ListedTranslation]) -> None:
    """Write listed translations as they were read, atomically; six significant digits."""
    write_lines(path, map(entry_line, entries))


def entry_line(entry: ListedTranslation) -> str:
    """A line of an n-best list; six significant digits."""
    features = (f"{name}= {' '.join(f'{v + 0.0:.6g}' for v in values)}" for name, values in entry.features.items())
    links = "" if entry.alignment is None else f" ||| {' '.join(f'{i}-{j}' for i, j in entry.alignment)}"
    return f"{entry.sentence} ||| {' '.join(entry.tokens)} ||| {' '.join(features)} ||| {entry.score:.6g}{links}"


def read_nbest(path: Path) -> list[ListedTranslation]:
    """Read an n-best list (plain or ``.gz``); after the total, an alignment is read. ``UserError`` names a bad line."""
    return [_parse(line, path, number) for number, line in enumerate(read_lines(path), start=1)]


def read_blocks(path: Path, shard: Shard | None = None, most: int | None = None) -> Iterator[list[ListedTranslation]]:
    """Yield what ``read_nbest`` returns in blocks of ``BLOCK`` sentences (their numbers), one in memory at a time.

    shard: its share of the blocks alone; blocks are the same whatever the number of shards. most: entries of a list,
    the first ones; None for all. What comes after them is not looked at.
    """
    chosen = None
    if shard is not None and shard.count > 1:
        chosen = shard.range(sum(1 for _ in groupby(sentence_of(line) // BLOCK for line in stream_lines(path))))
    lists = groupby(enumerate(stream_lines(path), start=1), key=lambda item: sentence_of(item[1]))
    for number, (_, block) in enumerate(groupby(lists, key=lambda item: item[0] // BLOCK)):
        if chosen is None or number in chosen:
            kept = chain.from_iterable(islice(listed, most) for _, listed in block)
            yield [_parse(line, path, position) for position, line in kept]


def sentence_of(line: str) -> int:
    """The number of a line's sentence; -1 for what is no line of a list."""
    number, bar, _ = line.partition(" ||| ")
    return int(number) if bar and SENTENCE.fullmatch(number) else -1


def _parse(line: str, path: Path, number: int) -> ListedTranslation:
    try:
        sentence, words, listed, score, *further = line.split(" ||| ")
        pairs = [LINK.fullmatch(link) for link in further[0].split()] if further else []
        alignment = [(int(link[1]), int(link[2])) for link in pairs if link]
        if not SENTENCE.fullmatch(sentence):
            raise ValueError
        features: dict[str, list[float]] = {}
        for item in listed.split():
            if item.endswith("="):
                values = features.setdefault(item[:-1], [])
            else:
                values.append(float(item))
        aligned = bool(further) and len(alignment) == len(pairs)
        return ListedTranslation(int(sentence), words.split(), features, float(score), alignment if aligned else None)
    except (ValueError, UnboundLocalError):
        raise UserError(
            f"{path}, line {number}: expected 'id ||| words ||| Name0= values ||| total'; write the list again"
        ) from None


def feature_matrix(entries: list[ListedTranslation], feature_set: FeatureSet) -> np.ndarray:
    """float32 ``[n, F]``: the values of the features in the order of ``feature_set``; 0 for those not printed."""
    result = np.zeros((len(entries), feature_set.size), dtype=np.float32)
    for row, entry in enumerate(entries):
        for name, values in entry.features.items():
            if name not in feature_set:
                raise UserError(f"the n-best list has a feature {name} that the system does not have; decode again")
            part = feature_set.slices[name]
            if len(values) != part.stop - part.start:
                raise UserError(
                    f"the n-best list has {len(values)} values of the feature {name} for sentence {entry.sentence}, "
                    f"but the system has {part.stop - part.start}; decode again"
                )
            result[row, part] = values
    return result
