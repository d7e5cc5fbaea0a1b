"""Tables 2 and 3 of Cho et al. (2014): what translation model and network prefer, and what the network writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.table import PhraseTable
from neural_smt.report.pages import render, to_html
from neural_smt.vocabulary import UNK, Vocabulary

if TYPE_CHECKING:
    from neural_smt.networks.folder import Trained


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


def draw_groups(table: PhraseTable, ids: np.ndarray, settings: Settings, seed: int) -> dict[str, np.ndarray]:
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


TRANSLATION_MODEL, NETWORK = "translation model", "network"
DIRECT = 2
"""The column of p(e|f), direct translation probability, among the scores of a phrase table."""


def direct_scores(table: PhraseTable, entries: np.ndarray | slice = slice(None)) -> np.ndarray:
    """float64 ``[n]``: natural log p(e|f) of entries of the table."""
    return np.log(np.maximum(np.asarray(table.scores[entries, DIRECT], dtype=np.float64), 1e-300))


BEST_SAMPLES = 5


class Preferred(NamedTuple):
    """A row of Table 2; log_probability is natural, of the model that prefers the target phrase."""

    group: str
    source: str
    extracted: int
    model: str
    rank: int
    target: str
    log_probability: float


class Sampled(NamedTuple):
    """A row of Table 3; samples: how many of all samples were this target phrase."""

    group: str
    source: str
    rank: int
    target: str
    samples: int
    log_probability: float


def preferred(
    table: PhraseTable,
    column: np.ndarray,
    groups: Mapping[str, np.ndarray],
    vocabularies: tuple[Vocabulary, Vocabulary],
) -> list[Preferred]:
    """The three target phrases of the table that translation model and network score highest, for each source phrase.

    column: the network's natural log p(e|f) of every entry. Equal scores keep the order of the table.
    """
    counts, rows = phrase_counts(table), []
    direct = direct_scores(table)
    for group, numbers in groups.items():
        for number in numbers.tolist():
            start, end = table.entry_offsets[number : number + 2].tolist()
            source = vocabularies[0].text(table.source[number])
            for model, scores in ((TRANSLATION_MODEL, direct), (NETWORK, column)):
                best = start + np.argsort(-scores[start:end], kind="stable")[:TARGETS]
                for rank, entry in enumerate(best.tolist(), start=1):
                    target, score = vocabularies[1].text(table.target[entry]), float(scores[entry])
                    rows.append(Preferred(group, source, int(counts[number]), model, rank, target, score))
    return rows


def sampled(
    model: Trained, ids: np.ndarray, table: PhraseTable, groups: Mapping[str, np.ndarray], samples: int, seed: int
) -> list[Sampled]:
    """The five best-scored distinct target phrases among ``samples`` drawn from the network for each source phrase.

    ids: int32, the shortlist id of every id of the source vocabulary. Samples without an end symbol are left out.
    """
    # loads PyTorch, which takes a second
    from neural_smt.networks.proposals import sample

    numbers = np.concatenate(list(groups.values()))
    names = [group for group, members in groups.items() for _ in members]
    phrases = table.source.take(numbers)
    drawn = sample(model.network, Ragged(ids[phrases.values], phrases.offsets), samples, seed=seed)
    found = [Counter() for _ in names]
    scores: list[dict[str, float]] = [{} for _ in names]
    for row in np.flatnonzero(drawn.complete).tolist():
        text, source = model.target.text(drawn.phrases[row]), int(drawn.source[row])
        found[source][text] += 1
        scores[source][text] = float(drawn.scores[row])
    rows = []
    for number, group in enumerate(names):
        # one shortlist may hold fewer words than the vocabulary, so the source is spelt with its own words
        source = model.source.text(ids[phrases[number]])
        best = sorted(scores[number], key=lambda text, own=scores[number]: (-own[text], text))[:BEST_SAMPLES]
        for rank, text in enumerate(best, start=1):
            rows.append(Sampled(group, source, rank, text, found[number][text], scores[number][text]))
    return rows


HEADINGS = {"frequent": "Long, frequent source phrases", "rare": "Long, rare source phrases"}


def phrases_page(favourites: Sequence[Preferred], samples: Sequence[Sampled], drawn: int, about: str = "") -> list[str]:
    """Tables 2 and 3 side by side as a page: a row for each source phrase; ``drawn`` samples were taken of each.

    about: Markdown. Characters that the tokeniser wrote as entities are shown as themselves.
    """
    preferences, written = (
        pd.DataFrame(rows, columns=kind._fields) for rows, kind in ((favourites, Preferred), (samples, Sampled))
    )
    groups = []
    for group, own in preferences.groupby("group", sort=False):
        phrases = []
        for source, rows in own.groupby("source", sort=False):
            lists = [_items(rows[rows["model"] == model]) for model in (TRANSLATION_MODEL, NETWORK)]
            best = written[(written["group"] == group) & (written["source"] == source)]
            shaded = {words for words, _ in lists[0]}
            shown = {"source": unescape(source), "extracted": rows["extracted"].iloc[0], "shaded": shaded}
            phrases.append(shown | {"lists": [*lists, _items(best)]})
        groups.append({"heading": HEADINGS.get(group, group), "phrases": phrases})
    title = "Preferred and sampled phrases"
    return render("phrases.html", title=title, about=to_html(about), groups=groups, drawn=drawn)


def _items(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Target phrases, and what is noted of each."""
    notes = [f"{value:.2f}" for value in rows["log_probability"]]
    if "samples" in rows:
        notes = [f"×{count}, {note}" for count, note in zip(rows["samples"], notes, strict=True)]
    return list(zip(map(unescape, rows["target"]), notes, strict=True))
