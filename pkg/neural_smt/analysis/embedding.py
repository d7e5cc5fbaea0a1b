"""Points in the plane for words and phrases (t-SNE, Cho et al. 2014, section 4.4)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from neural_smt.analysis.phrase_tables import load_network, long_phrases, phrase_counts
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.io.ragged import Ragged
from neural_smt.io.tables import formatted, write_frame
from neural_smt.phrases.table import PhraseTable
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import RESERVED, Vocabulary

if TYPE_CHECKING:
    from neural_smt.networks.encoder_decoder import EncoderDecoder


def embed_words(*, model: Path, output: Path, settings: dict[str, Any], seed: int) -> None:
    """Project the embeddings of the most frequent source words to the plane (Figure 4); CSV: text, count, x, y."""
    chosen = section_settings("analysis", settings)
    trained = load_network(model)
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
    trained, vocabulary = load_network(model), Vocabulary.load(source_vocabulary)
    table, ids = PhraseTable.load(phrase_table), shortlist_ids(vocabulary, trained.source)
    pool = long_phrases(table, ids, chosen.min_words)
    drawn = np.random.default_rng(seed).choice(pool, min(chosen.long_phrases, len(pool)), replace=False)
    drawn.sort()
    phrases = table.source.take(drawn)
    vectors = summaries(trained.network, Ragged(ids[phrases.values], phrases.offsets))
    places = project(vectors, chosen.perplexity, seed)
    write_points(output, [vocabulary.text(phrase) for phrase in phrases], phrase_counts(table, drawn), places)


def summaries(network: "EncoderDecoder", phrases: Ragged, batch: int = 1024) -> np.ndarray:
    """c of every source phrase (int32 shortlist ids): float32 ``[n, H]``."""
    # PyTorch takes a second to load, and pictures of points need none of it.
    import torch

    from neural_smt.networks.packing import pack

    output = np.empty((len(phrases), network.config.hidden), dtype=np.float32)
    with torch.no_grad():
        for start in range(0, len(phrases), batch):
            rows = np.arange(start, min(start + batch, len(phrases)))
            packed, order = pack(phrases.take(rows), network.output.weight.device)
            output[rows[order]] = network.encode(packed).float().cpu().numpy()
    return output


def project(vectors: np.ndarray, perplexity: float, seed: int) -> np.ndarray:
    """Barnes-Hut t-SNE (van der Maaten 2013) of ``[n, d]`` to the plane: float64 ``[n, 2]``.

    Perplexity is lowered to a third of n - 1 where it would be higher.
    """
    from sklearn.manifold import TSNE  # a second to import, needed here only

    if len(vectors) < 5:
        raise UserError(f"t-SNE was given {len(vectors)} points; lower the limits under analysis, or take more text")
    chosen = min(perplexity, (len(vectors) - 1) / 3)
    # vectors that are quite equal would give distances of 0 to each other only
    model = TSNE(perplexity=chosen, init="pca", learning_rate="auto", method="barnes_hut", random_state=seed, n_jobs=1)
    return model.fit_transform(np.ascontiguousarray(vectors, dtype=np.float32)).astype(np.float64)


def write_points(path: Path, texts: Sequence[str], counts: np.ndarray, places: np.ndarray) -> None:
    """Write points as CSV, most frequent first: text, running count, where it lies."""
    points = pd.DataFrame({"text": texts, "count": counts, "x": places[:, 0], "y": places[:, 1]})
    order = np.argsort(-counts, kind="stable")
    write_frame(path, formatted(points.iloc[order], {"x": ".4f", "y": ".4f"}))
