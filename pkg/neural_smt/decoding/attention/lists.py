"""N-best lists with the score of an attention network."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, islice

import numpy as np

from neural_smt.decoding.attention.scoring import score_candidates, with_words
from neural_smt.decoding.attention.translator import FEATURE
from neural_smt.decoding.nbest import ListedTranslation
from neural_smt.networks.attention.folder import TrainedAttention
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.vocabulary_selection.sources import encode_words


def first_of_each(entries: Sequence[ListedTranslation], count: int) -> list[ListedTranslation]:
    """The first ``count`` translations of each sentence, all for 0; they must come sentence by sentence."""
    lists = groupby(entries, key=lambda entry: entry.sentence)
    return [entry for _, listed in lists for entry in islice(listed, count or None)]


def add_scores(
    entries: Sequence[ListedTranslation],
    model: TrainedAttention,
    lines: list[str],
    sets: CandidateSets | None = None,
    precision: str = "fp32",
) -> list[ListedTranslation]:
    """The entries with log p(target | source) (in place of an older one); totals stay as they are.

    lines: the tokenised sentences that they translate; sets: the target words of each, to which all words of its
    translations are added; None: all target words. The empty translation of an empty sentence has a score of 0.
    """
    # nothing but the sentences of these lists is looked at
    first = min((entry.sentence for entry in entries), default=0)
    last = max((entry.sentence for entry in entries), default=-1)
    source = encode_words(model.source, lines[first : last + 1])
    if sets is not None:
        sets = sets.take(np.arange(first, last + 1))
    asked = np.array([bool(e.tokens) or len(source[e.sentence - first]) > 0 for e in entries], dtype=bool)
    listed = [entries[row] for row in np.flatnonzero(asked)]
    targets = encode_words(model.target, [" ".join(entry.tokens) for entry in listed])
    owner = np.array([entry.sentence - first for entry in listed], dtype=np.int64)
    sets = None if sets is None else with_words(sets, targets, owner)
    scores = np.zeros(len(entries))
    scores[asked] = score_candidates(model.network, source, targets, owner, sets, precision=precision)
    pairs = zip(entries, scores.tolist(), strict=True)
    return [replace(entry, features=entry.features | {FEATURE: [score]}) for entry, score in pairs]
