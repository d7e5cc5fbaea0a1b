"""The representations stage: a representation of each kind from parallel text, and what there is to say about it."""

import logging
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import write_json
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import Text, parallel_lines
from neural_smt.representations import projection
from neural_smt.representations.links import parse_window
from neural_smt.representations.lsa import LatentSemantics, analyse
from neural_smt.representations.representation import Representation, representation_settings, save_representation
from neural_smt.shortlist import repeated_words
from neural_smt.vocabulary import Vocabulary

Built = tuple[Representation, dict[str, Any]]
"""A representation and its statistics."""


def build_sentence_lsa(settings: Settings, sentences: Text, seed: int) -> Built:
    """Rows of R for the sentences of one text."""
    vocabulary, ids, semantics = _analysed(settings, sentences, seed)
    weights = (settings.length / _row_length(ids, semantics) * semantics.folding).astype(np.float32)
    return Representation(settings, vocabulary, weights), _spectrum(semantics)


def build_word_lsa(settings: Settings, sentences: Text, seed: int) -> Built:
    """Rows of T for the words of a window, equally long but for words that are in no sentence or in all."""
    vocabulary, _, semantics = _analysed(settings, sentences, seed)
    lengths = np.linalg.norm(semantics.words, axis=1, keepdims=True)
    words = np.divide(semantics.words, lengths, out=np.zeros_like(semantics.words), where=lengths > 1e-12)
    words *= settings.length / np.sqrt(parse_window(settings.window).slots)
    return Representation(settings, vocabulary, _with_row_of_no_word(words)), _spectrum(semantics)


def build_word_rnn(settings: Settings, model: Path) -> Built:
    """Rows of U, the embedding of a recurrent model of the source, for the words of a window."""
    import torch  # takes a second to load, needed here only

    from neural_smt.networks.folder import Trained
    from neural_smt.networks.recurrent.network import RecurrentNetwork

    trained = Trained.load(model, RecurrentNetwork, torch.device("cpu"))
    words = trained.network.state_dict()["embedding"].double().numpy()
    length = root_mean_square(words, trained.target.counts)
    words = words * (settings.length / np.sqrt(parse_window(settings.window).slots) / length)
    table = _with_row_of_no_word(words)
    return Representation(settings, trained.target, table), {"length_in_the_model": length}


def build_projected_lsa(settings: Settings, source: Text, target: Text, seed: int) -> Built:
    """The transform of the source sentence into the row of R of its reference."""
    _, ids, semantics = _analysed(settings, target, seed)
    pieces = ids.pieces(projection.SENTENCES)
    references = np.concatenate([semantics.sentences(piece).astype(np.float32) for piece in pieces])
    references /= _row_length(ids, semantics)
    vocabulary = repeated_words(source)
    words, hashes = vocabulary.encode(source), projection.word_hashes(vocabulary)
    matrix = projection.feature_matrix(words, hashes, settings.bits)
    held_out = np.zeros(len(source), dtype=bool)
    count = max(1, round(settings.held_out * len(source))) if settings.held_out else 0
    held_out[np.random.default_rng(seed).permutation(len(source))[:count]] = True
    rate, epochs = settings.rate, settings.epochs
    transform, fit = projection.choose_projection(matrix, references, held_out, rate, epochs, seed)
    vectors = transform.project(matrix)
    features, sharing = projection.count_collisions(words, hashes, settings.bits)
    # what a transform reaches that knows nothing of the source
    constant = references.mean(axis=0, where=~held_out[:, None])[None]
    found = projection.cosines(vectors, references)
    of_constant = projection.cosines(constant.repeat(held_out.sum(), axis=0), references[held_out])
    statistics = _spectrum(semantics) | {
        "cosine": {
            "training": float(found[~held_out].mean()),
            "held_out": float(found[held_out].mean()) if count else None,
            "constant": float(of_constant.mean()) if count else None,
        },
        "rate": fit.rate,
        "epoch": fit.epoch,
        "held_out_errors": fit.errors,
        "features": features,
        "features_sharing_a_number": sharing,
        "trained_features": len(transform.features),
    }
    weights = transform.weights * np.float32(settings.length / root_mean_square(vectors))
    return Representation(settings, vocabulary, weights, transform.features), statistics


def root_mean_square(vectors: np.ndarray, counts: np.ndarray | None = None) -> float:
    """The root mean square length of vectors ``[n, d]``, each counting as often as ``counts`` says; 1 for zeros."""
    squares = np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)
    weights = counts if counts is not None and counts.any() else None
    return float(np.sqrt(np.average(squares, weights=weights))) or 1.0


def _analysed(settings: Settings, sentences: Text, seed: int) -> tuple[Vocabulary, Ragged, LatentSemantics]:
    vocabulary = repeated_words(sentences)
    ids = vocabulary.encode(sentences)
    return vocabulary, ids, analyse(ids, len(vocabulary), settings.dimensions, seed)


def _row_length(ids: Ragged, semantics: LatentSemantics) -> float:
    """The root mean square length of the rows of R, whose columns are of length 1."""
    return float(np.sqrt(len(semantics.singular) / len(ids)))


def _with_row_of_no_word(words: np.ndarray) -> np.ndarray:
    return np.concatenate((np.zeros((1, words.shape[1])), words)).astype(np.float32)


def _spectrum(semantics: LatentSemantics) -> dict[str, Any]:
    return {
        "singular_values": [float(semantics.singular[0]), float(semantics.singular[-1])],
        "energy_share": float((semantics.singular**2).sum() / semantics.energy),
    }


log = logging.getLogger(__name__)


def build_representation(
    *,
    settings: dict[str, Any],
    source: Path,
    target: Path,
    output: Path,
    statistics: Path,
    recurrent: Path | None = None,
    seed: int,
) -> None:
    """Build a representation of source sentences for a joint model (Auli et al. 2013, sections 5.1 to 5.4).

    settings: see ``representation_settings``. source, target: the tokenised parallel training text; recurrent: the
    folder of a recurrent model trained on the source text, for the kind ``word_rnn``. Writes the folder that
    ``load_representation`` reads and what there is to say about it as JSON. The same seed gives the same folder.
    """
    chosen = representation_settings(settings)
    if (chosen.kind == "word_rnn") != (recurrent is not None):
        raise UserError(
            f"a representation of kind {chosen.kind} "
            + ("needs a recurrent model of the source" if recurrent is None else "reads no recurrent model")
            + "; give one for word_rnn only"
        )
    sources, targets = parallel_lines(source, target)
    log.info("building %s from %d sentence pairs", chosen.kind, len(sources))
    if recurrent is not None:
        built, found = build_word_rnn(chosen, recurrent)
    elif chosen.kind == "sentence_lsa":
        built, found = build_sentence_lsa(chosen, targets if chosen.side == "target" else sources, seed)
    elif chosen.kind == "word_lsa":
        built, found = build_word_lsa(chosen, sources, seed)
    elif chosen.kind == "learned":
        # only which words there are: their vectors are parameters of the joint network
        built, found = Representation(chosen, repeated_words(sources), None), {}
    else:
        built, found = build_projected_lsa(chosen, sources, targets, seed)
    save_representation(output, built)
    sizes = {"slots": built.slots, "dimensions": built.dimensions, "words": len(built.vocabulary)}
    write_json(statistics, {"kind": chosen.kind, "side": chosen.side, "sentences": len(sources)} | sizes | found)
    log.info("%s: %s", chosen.kind, found)
