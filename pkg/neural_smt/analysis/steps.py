"""Steps of the stage ``analysis``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neural_smt.analysis.embedding import map_page, project, read_points, summaries, write_points
from neural_smt.analysis.phrase_tables import (
    Preferred,
    Sampled,
    direct_scores,
    draw_groups,
    known_phrases,
    phrase_counts,
    phrases_page,
    preferred,
    sampled,
)
from neural_smt.analysis.plots import draw_embedding, draw_scatter
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import write_csv, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.table import PhraseTable, load_column
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import RESERVED, Vocabulary

if TYPE_CHECKING:
    from neural_smt.networks.encoder_decoder import EncoderDecoder
    from neural_smt.networks.folder import Trained


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
    table, scores, vocabularies = _scored_table(phrase_table, column, source_vocabulary, target_vocabulary)
    trained = _load_network(model, device)
    ids = shortlist_ids(vocabularies[0], trained.source)
    groups = draw_groups(table, ids, chosen, seed)
    favourites = preferred(table, scores, groups, vocabularies)
    drawn = sampled(trained, ids, table, groups, chosen.samples, seed)
    write_csv(preferences, Preferred._fields, [(*row[:-1], f"{row[-1]:.4f}") for row in favourites])
    write_csv(samples, Sampled._fields, [(*row[:-1], f"{row[-1]:.4f}") for row in drawn])
    write_lines(page, phrases_page(favourites, drawn, chosen.samples, about))


def plot_pair_scores(
    *,
    phrase_table: Path,
    column: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    plot: Path,
    settings: dict[str, Any],
    seed: int,
) -> None:
    """Draw the network's scores of phrase pairs against those of the translation model (Figure 3)."""
    chosen = section_settings("analysis", settings)
    table, scores, _ = _scored_table(phrase_table, column, source_vocabulary, target_vocabulary)
    entries = np.random.default_rng(seed).choice(len(table), min(chosen.pairs, len(table)), replace=False)
    entries.sort()
    network, extracted = np.asarray(scores[entries], dtype=np.float64), np.asarray(table.counts[entries, 1])
    draw_scatter(plot, network, direct_scores(table, entries), extracted)


def embed_words(*, model: Path, output: Path, settings: dict[str, Any], seed: int) -> None:
    """Project the embeddings of the most frequent source words to the plane (Figure 4); CSV: text, count, x, y."""
    chosen = section_settings("analysis", settings)
    trained = _load_network(model)
    words = slice(len(RESERVED), len(RESERVED) + chosen.words)
    vectors = trained.network.source_embedding.weight.detach().numpy()[words]
    places = project(vectors, chosen.perplexity, seed)
    write_points(output, trained.source.words[words], trained.source.counts[words], places)


def embed_phrases(
    *, phrase_table: Path, model: Path, source_vocabulary: Path, output: Path, settings: dict[str, Any], seed: int
) -> None:
    """Project the representations c of long source phrases to the plane (Figure 5); CSV: text, count, x, y.

    Phrases of at least ``min_words`` words, all of them known to the network, drawn at random.
    """
    chosen = section_settings("analysis", settings)
    trained, vocabulary = _load_network(model), Vocabulary.load(source_vocabulary)
    table, ids = PhraseTable.load(phrase_table), shortlist_ids(vocabulary, trained.source)
    pool = np.flatnonzero((table.source.lengths >= chosen.min_words) & known_phrases(table, ids))
    drawn = np.random.default_rng(seed).choice(pool, min(chosen.long_phrases, len(pool)), replace=False)
    drawn.sort()
    phrases = table.source.take(drawn)
    vectors = summaries(trained.network, Ragged(ids[phrases.values], phrases.offsets))
    places = project(vectors, chosen.perplexity, seed)
    write_points(output, [vocabulary.text(phrase) for phrase in phrases], phrase_counts(table)[drawn], places)


def plot_embedding(*, points: Path, plot: Path, title: str, settings: dict[str, Any]) -> None:
    """Draw projected words or phrases with their densest regions enlarged (Figures 4 and 5)."""
    chosen = section_settings("analysis", settings)
    draw_embedding(plot, read_points(points), title, chosen.zooms)


def show_map(*, words: Path, phrases: Path, output: Path, title: str = "", about: str = "") -> None:
    """Write a page (HTML, self-contained) to search, zoom and read the projected words and phrases; about: Markdown."""
    write_lines(output, map_page({"words": read_points(words), "phrases": read_points(phrases)}, title, about))


def _scored_table(
    phrase_table: Path, column: Path, source_vocabulary: Path, target_vocabulary: Path
) -> tuple[PhraseTable, np.ndarray, tuple[Vocabulary, Vocabulary]]:
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    table = PhraseTable.load(phrase_table)
    table.check_vocabularies(*vocabularies)
    return table, load_column(column, table), vocabularies


def _load_network(model: Path, device: str = "cpu") -> Trained[EncoderDecoder]:
    # PyTorch takes a second to load, and pictures need none of it.
    from neural_smt.networks.device import select_device
    from neural_smt.networks.encoder_decoder import load_forward_model

    return load_forward_model(model, select_device(device))
