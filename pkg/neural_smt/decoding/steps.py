"""The decoding stage."""

import logging
import time
from pathlib import Path

import numpy as np

from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.nbest import write_nbest
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.weights import Weights
from neural_smt.files import read_lines, write_json, write_lines
from neural_smt.settings import read_settings

log = logging.getLogger(__name__)


def decode(
    *,
    text: Path,
    phrase_table: Path,
    language_model: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    columns: dict[str, str],
    features: list[str],
    weights: Path,
    settings: dict,
    output: Path,
    statistics: Path,
    nbest: Path | None = None,
    nbest_size: int = 0,
    alignment: Path | None = None,
    threads: int = 1,
) -> None:
    """Translate a tokenised text, one sentence a line.

    features: feature groups of the system; columns: group -> score column; settings: see ``SearchSettings``. Writes the
    translations, with ``nbest`` a list of ``nbest_size`` distinct ones per sentence, with ``alignment`` their word
    alignments (Pharaoh), and statistics: sentences, seconds of search, sentences per second, mean model score, unknown
    words.
    """
    model = TranslationModel.load(
        phrase_table=phrase_table,
        language_models=[language_model],
        columns={group: Path(path) for group, path in columns.items()},
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        features=features,
    )
    decoder = Decoder(model, read_settings(SearchSettings, settings, "decoding"), Weights.load(weights), threads)
    sentences = [line.split() for line in read_lines(text)]
    began = time.perf_counter()
    translations = decoder.decode(sentences, nbest_size if nbest else 0)
    seconds = time.perf_counter() - began
    write_lines(output, (" ".join(translation.tokens) for translation in translations))
    if nbest:
        write_nbest(nbest, translations, decoder.feature_set)
    if alignment:
        write_lines(alignment, (" ".join(f"{i}-{j}" for i, j in t.alignment) for t in translations))
    unknown = sum(token not in model.source_vocabulary for tokens in sentences for token in tokens)
    content = {
        "sentences": len(sentences),
        "seconds": round(seconds, 3),
        "sentences_per_second": round(len(sentences) / max(seconds, 1e-9), 2),
        "mean_score": float(np.mean([t.score for t in translations])) if translations else 0.0,
        "unknown_words": unknown,
        "threads": threads,
    }
    write_json(statistics, content)
    log.info("translated %d sentences in %.1f s, mean model score %.4f", len(sentences), seconds, content["mean_score"])
