"""Which source phrases are shown: long frequent and long rare ones, drawn at random (Cho et al. 2014, section 4.3)."""

import numpy as np

from neural_smt.analysis.settings import AnalysisSettings
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import UNK

FREQUENT, RARE = "frequent", "rare"

TARGETS = 3
"""Table 2 shows so many target phrases, so a source phrase needs as many."""

SHARED_WORDS = 3
"""Phrases of a group have no such number of words in a row in common: one long phrase is not shown in pieces."""


def phrase_counts(table: PhraseTable) -> np.ndarray:
    """int32 ``[S]``: how often each source phrase was extracted."""
    return np.asarray(table.counts[:, 1])[np.asarray(table.entry_offsets[:-1])]


def known_phrases(table: PhraseTable, ids: np.ndarray) -> np.ndarray:
    """bool ``[S]``: source phrases whose words all have a shortlist id other than ``UNK`` in ``ids``."""
    return table.source.count(ids == UNK) == 0


def draw_groups(table: PhraseTable, ids: np.ndarray, settings: AnalysisSettings, seed: int) -> dict[str, np.ndarray]:
    """The numbers of the source phrases of each group, in falling order of frequency.

    Long means at least ``min_words`` words (the paper: more than three). Drawn from are long phrases whose words the
    network knows and that have at least three target phrases: as frequent ones the ``frequent`` most often extracted
    that were extracted more than ``rare`` times, as rare ones those extracted at most ``rare`` times.
    """
    counts, lengths = phrase_counts(table), table.source.lengths
    usable = (lengths >= settings.min_words) & (np.diff(table.entry_offsets) >= TARGETS) & known_phrases(table, ids)
    often = np.flatnonzero(usable & (counts > settings.rare))
    often = often[np.argsort(-counts[often], kind="stable")][: settings.frequent]
    seldom = np.flatnonzero(usable & (counts <= settings.rare))
    groups = {}
    for number, (name, pool) in enumerate({FREQUENT: often, RARE: seldom}.items()):
        drawn = _distinct(table.source, np.random.default_rng([seed, number]).permutation(pool), settings.phrases)
        groups[name] = drawn[np.argsort(-counts[drawn], kind="stable")]
    return groups


def _distinct(phrases: Ragged, order: np.ndarray, count: int) -> np.ndarray:
    """The first ``count`` of ``order`` of which no two share ``SHARED_WORDS`` words in a row."""
    seen: set[tuple[int, ...]] = set()
    chosen: list[int] = []
    for number in order.tolist():
        if len(chosen) == count:
            break
        words = phrases[number].tolist()
        pieces = {tuple(words[i : i + SHARED_WORDS]) for i in range(max(len(words) - SHARED_WORDS, 0) + 1)}
        if not pieces & seen:
            seen |= pieces
            chosen.append(number)
    return np.array(chosen, dtype=np.int64)
