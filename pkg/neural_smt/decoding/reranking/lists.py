"""N-best lists with the score of a network, and in another order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice

import numpy as np

from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.decoding.scorers.interface import TargetNetwork, TargetText
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import LinkSets


def first_of_each(entries: Sequence[ListedTranslation], count: int) -> list[ListedTranslation]:
    """The first ``count`` translations of each sentence, all for 0; they must come sentence by sentence."""
    lists = groupby(entries, key=lambda entry: entry.sentence)
    return [entry for _, listed in lists for entry in islice(listed, count or None)]


def add_scores(
    entries: Sequence[ListedTranslation], network: TargetNetwork, lines: Sequence[str] | None
) -> list[ListedTranslation]:
    """The entries with the network's feature (in place of an older one); totals stay as they are.

    lines: the tokenised sentences that they translate, of which those between the first and the last of the lists are
    read; None where the network reads none. As in the search, the empty translation of an empty sentence has a score of
    0.
    """
    first = min((entry.sentence for entry in entries), default=0)
    last = max((entry.sentence for entry in entries), default=-1)
    count = last + 1 - first
    sentences = None if lines is None else [line.split() for line in lines[first : last + 1]]
    scored = [bool(e.tokens) or bool(sentences and sentences[e.sentence - first]) for e in entries]
    listed = [entry for entry, wanted in zip(entries, scored, strict=True) if wanted]
    targets = Ragged.from_lists([network.ids(entry.tokens) for entry in listed], dtype=np.int32)
    owner = np.array([entry.sentence - first for entry in listed], dtype=np.int64)
    links, numbers = _links(listed, owner, count, network.aligned)
    of_word = np.repeat(owner, targets.lengths)
    text = TargetText(sentences, np.arange(first, last + 1), targets.values, of_word, links)
    found = iter(network.on(text).score(targets, owner, numbers)[0].tolist() if listed else ())
    return [
        replace(entry, features=entry.features | {network.feature: [next(found) if wanted else 0.0]})
        for entry, wanted in zip(entries, scored, strict=True)
    ]


def _links(
    entries: Sequence[ListedTranslation], owner: np.ndarray, sentences: int, aligned: bool
) -> tuple[LinkSets, np.ndarray]:
    """What every word, and after the last one the end, of translations is aligned to, and the number of its set.

    aligned: whether the network reads that; if not, nothing but the sentence of a word is told.
    """
    lengths = np.array([len(entry.tokens) for entry in entries], dtype=np.int64)
    if not aligned:
        none = Ragged(np.zeros(0, np.int32), np.zeros(sentences + 1, np.int64))
        return LinkSets(np.arange(sentences, dtype=np.int32), none), np.repeat(owner, lengths + 1).astype(np.int32)
    from neural_smt.representations.links import aligned_positions, intern_links

    missing = next((entry.sentence for entry in entries if entry.tokens and entry.alignment is None), None)
    if missing is not None:
        raise UserError(
            f"the network reads word alignments, but the n-best list of sentence {missing} has none; list the "
            "translations with their alignments"
        )
    pairs = [np.array(entry.alignment or [], dtype=np.int32).reshape(-1, 2) for entry in entries]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in pairs])]).astype(np.int64)
    positions = aligned_positions(Ragged(np.concatenate([np.zeros((0, 2), np.int32), *pairs]), offsets), lengths)
    counts = np.zeros(int((lengths + 1).sum()), dtype=np.int64)
    counts[np.arange(lengths.sum()) + np.repeat(np.arange(len(entries)), lengths)] = positions.lengths
    words = Ragged(positions.values, np.concatenate([[0], np.cumsum(counts)]))
    return intern_links(np.repeat(owner, lengths + 1), words)


def rerank(entries: Sequence[ListedTranslation], weights: Mapping[str, Sequence[float]]) -> list[ListedTranslation]:
    """The entries of each sentence by their weighted features, best first, with these sums as totals.

    Entries must come sentence by sentence; equals keep their order. Features that are not listed (those that cannot be
    tuned, which are the same for all entries of a sentence) do not count. ``UserError`` where a listed one has no
    weight.
    """
    result = []
    for _, group in groupby(entries, key=lambda entry: entry.sentence):
        scored = [replace(entry, score=_weighted(entry, weights)) for entry in group]
        result += sorted(scored, key=lambda entry: -entry.score)
    return result


def _weighted(entry: ListedTranslation, weights: Mapping[str, Sequence[float]]) -> float:
    total = 0.0
    for name, values in entry.features.items():
        if len(weights.get(name, ())) != len(values):
            raise UserError(
                f"the n-best list has {len(values)} scores of {name}, but there are {len(weights.get(name, ()))} "
                "weights for it; give the weights that were tuned for these lists"
            )
        total += float(np.dot(values, weights[name]))
    return total


def best_of_each(entries: Sequence[ListedTranslation]) -> list[list[str]]:
    """The tokens of the first entry of every sentence from 0 on; nothing for a sentence without entries."""
    tokens: list[list[str]] = [[] for _ in range(entries[-1].sentence + 1 if entries else 0)]
    for entry in reversed(entries):
        tokens[entry.sentence] = entry.tokens
    return tokens
