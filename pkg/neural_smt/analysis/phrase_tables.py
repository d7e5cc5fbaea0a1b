"""Tables 2 and 3 of Cho et al. (2014): what translation model and network prefer, and what the network writes."""

from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.files import release
from neural_smt.io.ragged import PIECE, Ragged, blocks
from neural_smt.io.tables import formatted, write_frame
from neural_smt.phrases.table import DIRECT, PhraseTable, load_column
from neural_smt.report.pages import to_html, write_page
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import UNK, Vocabularies

if TYPE_CHECKING:
    from neural_smt.networks.encoder_decoder import EncoderDecoder
    from neural_smt.networks.folder import Trained

HEADINGS = {"frequent": "Long, frequent source phrases", "rare": "Long, rare source phrases"}
"""Groups of source phrases, and what stands above each."""

PREFERRED = ["group", "source", "extracted", "model", "rank", "target", "log_probability"]
"""Columns of Table 2. extracted: how often the source phrase was; log_probability: natural, of the model that prefers
the target phrase.
"""

SAMPLED = ["group", "source", "rank", "target", "samples", "log_probability"]
"""Columns of Table 3. samples: how many of all samples were this target phrase."""

TRANSLATION_MODEL, NETWORK = "translation model", "network"

TARGETS, BEST_SAMPLES = 3, 5
"""Target phrases that Tables 2 and 3 show; a source phrase needs as many as Table 2 does."""

SHARED_WORDS = 3
"""Phrases of a group have no such number of words in a row in common: one long phrase is not shown in pieces."""


def show_phrases(
    *,
    phrase_table: Path,
    column: Path,
    model: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    preferences: Path,
    samples: Path,
    page: Path,
    settings: dict[str, Any],
    seed: int,
    device: str = "cpu",
    about: str = "",
) -> None:
    """Show which target phrases translation model and network prefer, and samples (Tables 2 and 3).

    column: the network's scores of the table. Writes both tables as CSV (``preferences``, ``samples``) and as one page
    (HTML). settings: the section ``analysis``; which source phrases are drawn: see ``draw_groups``.
    """
    chosen = section_settings("analysis", settings)
    table, vocabularies = PhraseTable.load_checked(phrase_table, source_vocabulary, target_vocabulary)
    scores = load_column(column, table)
    trained = load_network(model, device)
    ids = shortlist_ids(vocabularies[0], trained.source)
    groups = draw_groups(table, ids, chosen, seed)
    favourites = preferred(table, scores, groups, vocabularies)
    drawn = sampled(trained, ids, table, groups, chosen.samples, seed)
    for path, rows in ((preferences, favourites), (samples, drawn)):
        write_frame(path, formatted(rows, {"log_probability": ".4f"}))
    write_phrases(page, favourites, drawn, chosen.samples, about)


def load_network(model: Path, device: str = "cpu") -> "Trained[EncoderDecoder]":
    """An encoder-decoder that reads source phrases."""
    # PyTorch takes a second to load, and pictures need none of it.
    from neural_smt.networks.device import select_device
    from neural_smt.networks.encoder_decoder import load_forward_model

    return load_forward_model(model, select_device(device))


def phrase_counts(table: PhraseTable, numbers: np.ndarray) -> np.ndarray:
    """int32 ``[n]``: how often these source phrases were extracted."""
    counts = np.empty(len(numbers), dtype=np.int32)
    for start in range(0, len(numbers), PIECE):
        counts[start : start + PIECE] = table.counts[table.entry_offsets[numbers[start : start + PIECE]], 1]
        release(table.counts)
    return counts


def long_phrases(table: PhraseTable, ids: np.ndarray, words: int, targets: int = 1) -> np.ndarray:
    """int64, rising: the numbers of source phrases of at least so many words, all of which have a shortlist id other
    than ``UNK`` in ``ids``, and with so many target phrases. Besides them, no more than a piece of the table is held.
    """
    found = [np.zeros(0, dtype=np.int64)]
    for first, end in blocks(table.source.offsets, PIECE):
        phrases = table.source.part(first, end)
        usable = (phrases.lengths >= words) & (phrases.count(ids == UNK) == 0)
        found.append(np.flatnonzero(usable & (np.diff(table.entry_offsets[first : end + 1]) >= targets)) + first)
        release(table.source.values)
    return np.concatenate(found)


def draw_groups(table: PhraseTable, ids: np.ndarray, settings: Settings, seed: int) -> dict[str, np.ndarray]:
    """The numbers of the source phrases of each group, in falling order of frequency.

    Long means at least ``min_words`` words (the paper: more than three). Drawn from are long phrases whose words the
    network knows and that have at least three target phrases: as frequent ones the ``frequent`` most often extracted
    that were extracted more than ``rare`` times, as rare ones those extracted at most ``rare`` times.
    """
    usable = long_phrases(table, ids, settings.min_words, TARGETS)
    counts = phrase_counts(table, usable)
    often, seldom = usable[counts > settings.rare], usable[counts <= settings.rare]
    often = often[np.argsort(-counts[counts > settings.rare], kind="stable")][: settings.frequent]
    groups = {}
    for number, (name, pool) in enumerate(zip(HEADINGS, (often, seldom), strict=True)):
        drawn = _distinct(table.source, np.random.default_rng([seed, number]).permutation(pool), settings.phrases)
        groups[name] = drawn[np.argsort(-phrase_counts(table, drawn), kind="stable")]
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


def direct_scores(table: PhraseTable, entries: np.ndarray | slice = slice(None)) -> np.ndarray:
    """float64 ``[n]``: natural log p(e|f) of entries of the table."""
    return np.log(np.maximum(np.asarray(table.scores[entries, DIRECT], dtype=np.float64), 1e-300))


def preferred(
    table: PhraseTable, column: np.ndarray, groups: Mapping[str, np.ndarray], vocabularies: Vocabularies
) -> pd.DataFrame:
    """The three target phrases of the table that translation model and network score highest, for each source phrase:
    a row of ``PREFERRED`` for each.

    column: the network's natural log p(e|f) of every entry. Equal scores keep the order of the table.
    """
    rows = []
    for group, numbers in groups.items():
        for number, count in zip(numbers.tolist(), phrase_counts(table, numbers).tolist(), strict=True):
            start, end = table.entry_offsets[number : number + 2].tolist()
            source = vocabularies[0].text(table.source[number])
            direct = direct_scores(table, slice(start, end))
            for model, scores in ((TRANSLATION_MODEL, direct), (NETWORK, column[start:end])):
                for rank, place in enumerate(np.argsort(-scores, kind="stable")[:TARGETS].tolist(), start=1):
                    target, score = vocabularies[1].text(table.target[start + place]), float(scores[place])
                    rows.append((group, source, count, model, rank, target, score))
    return pd.DataFrame(rows, columns=PREFERRED)


def sampled(
    model: "Trained[Any]",
    ids: np.ndarray,
    table: PhraseTable,
    groups: Mapping[str, np.ndarray],
    samples: int,
    seed: int,
) -> pd.DataFrame:
    """The five best-scored distinct target phrases among ``samples`` drawn from the network for each source phrase:
    a row of ``SAMPLED`` for each.

    ids: int32, the shortlist id of every id of the source vocabulary. Samples without an end symbol are left out.
    """
    # loads PyTorch, which takes a second
    from neural_smt.networks.proposals import sample

    numbers = np.concatenate(list(groups.values()))
    names = [group for group, members in groups.items() for _ in members]
    phrases = table.source.take(numbers)
    drawn = sample(model.network, Ragged(ids[phrases.values], phrases.offsets), samples, seed=seed)
    complete = np.flatnonzero(drawn.complete)
    texts = [model.target.text(drawn.phrases[row]) for row in complete.tolist()]
    columns = {"number": drawn.source[complete], "target": texts, "log_probability": drawn.scores[complete]}
    found = pd.DataFrame(columns).astype({"log_probability": float}).groupby(["number", "target"], as_index=False)
    rows = found.agg(samples=("target", "size"), log_probability=("log_probability", "last"))
    rows = rows.sort_values(["number", "log_probability", "target"], ascending=[True, False, True])
    rows = rows.groupby("number").head(BEST_SAMPLES)
    # one shortlist may hold fewer words than the vocabulary, so the source is spelt with its own words
    sources = [model.source.text(ids[phrases[number]]) for number in rows["number"]]
    groups_of_rows = [names[number] for number in rows["number"]]
    return rows.assign(group=groups_of_rows, source=sources, rank=rows.groupby("number").cumcount() + 1)[SAMPLED]


def write_phrases(path: Path, favourites: pd.DataFrame, written: pd.DataFrame, drawn: int, about: str = "") -> None:
    """Write Tables 2 and 3 side by side as a page: a row for each source phrase; ``drawn`` samples were taken of each.

    about: Markdown. Characters that the tokeniser wrote as entities are shown as themselves.
    """
    groups = []
    for group, own in favourites.groupby("group", sort=False):
        phrases = []
        for source, rows in own.groupby("source", sort=False):
            lists = [_items(rows[rows["model"] == model]) for model in (TRANSLATION_MODEL, NETWORK)]
            best = written[(written["group"] == group) & (written["source"] == source)]
            shaded = {words for words, _ in lists[0]}
            shown = {"source": unescape(str(source)), "extracted": rows["extracted"].iloc[0], "shaded": shaded}
            phrases.append(shown | {"lists": [*lists, _items(best)]})
        groups.append({"heading": HEADINGS[str(group)], "phrases": phrases})
    title = "Preferred and sampled phrases"
    write_page(path, "phrases.html", title=title, about=to_html(about), groups=groups, drawn=drawn)


def _items(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Target phrases, and what is noted of each."""
    notes = [f"{value:.2f}" for value in rows["log_probability"]]
    if "samples" in rows:
        notes = [f"×{count}, {note}" for count, note in zip(rows["samples"], notes, strict=True)]
    return list(zip(map(unescape, rows["target"]), notes, strict=True))
