"""N-best lists in the text format of Moses: ``id ||| words ||| Name0= values ... ||| total [||| i-j ...]``."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path

import numpy as np

from neural_smt.decoding.features import FeatureSet
from neural_smt.decoding.translations import Translation
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines
from neural_smt.io.streams import stream_lines
from neural_smt.shards import Shard

BLOCK = 256
"""Sentences whose lists are scored together."""

SENTENCE = re.compile(r"[0-9]{1,9}")
"""The number of a list's sentence."""

LINK = re.compile(r"(\d+)-(\d+)")
"""A link of a word alignment: positions of a source and a target word."""


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
    """Write listed translations, atomically; six significant digits."""
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
