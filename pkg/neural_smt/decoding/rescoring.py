"""N-best lists with one more feature, and in another order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from neural_smt.decoding.hooks import NgramHook
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import Vocabulary

SENTENCES = 4096
"""Listed translations scored at a time."""


def score_sentences(hook: NgramHook, sentences: Sequence[Sequence[str]], vocabulary: Vocabulary) -> np.ndarray:
    """float64 ``[n]``: what a hook gives whole translations, the end of the sentence included.

    A word that is not in ``vocabulary`` is scored as copied words are in the search.
    """
    index, beyond = vocabulary.index, len(vocabulary)
    scores = np.empty(len(sentences))
    for start in range(0, len(sentences), SENTENCES):
        part = sentences[start : start + SENTENCES]
        words = Ragged.from_lists([[index.get(word, beyond) for word in sentence] for sentence in part])
        scores[start : start + len(part)] = hook.rescore(words)
    return scores


def add_feature(
    entries: Sequence[ListedTranslation], hook: NgramHook, vocabulary: Vocabulary
) -> list[ListedTranslation]:
    """The entries with the hook's feature (in place of an older one); totals stay as they are.

    As in the search, the empty translation of an empty sentence has a score of 0.
    """
    distinct = {tuple(entry.tokens): None for entry in entries}
    distinct.pop((), None)
    scores = dict(zip(distinct, score_sentences(hook, list(distinct), vocabulary).tolist(), strict=True)) | {(): 0.0}
    return [replace(e, features=e.features | {hook.name: [scores[tuple(e.tokens)]]}) for e in entries]


def reorder(entries: Sequence[ListedTranslation], weights: Mapping[str, Sequence[float]]) -> list[ListedTranslation]:
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
