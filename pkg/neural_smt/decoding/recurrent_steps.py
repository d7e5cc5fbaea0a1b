"""Steps of the decoding stage around the recurrent joint model: lattices, their oracles, and rescoring them."""

import logging
import math
import time
from pathlib import Path

import numpy as np

from neural_smt.decoding.lattices.flat import best_paths
from neural_smt.decoding.loading import load_decoder
from neural_smt.decoding.oracles import HEADER
from neural_smt.decoding.recurrent.joint import JointModel, Rescored
from neural_smt.decoding.recurrent.linked import RECURRENT, LinkedLattices
from neural_smt.decoding.recurrent.lists import rescore_lists
from neural_smt.decoding.recurrent.oracles import oracle_rows
from neural_smt.decoding.recurrent.push_forward import push_forward
from neural_smt.decoding.recurrent.settings import RescoringSettings
from neural_smt.decoding.weights import Weights
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_csv, write_json, write_lines
from neural_smt.settings import read_settings
from neural_smt.system_folder import System

log = logging.getLogger(__name__)


def decode_lattices(
    *,
    system: Path,
    weights: Path,
    text: Path,
    density: float,
    output: Path,
    statistics: Path,
    threads: int = 1,
) -> None:
    """Decode a tokenised text into lattices that are linked to the source.

    system, weights: as for ``decode``, without a network in the search; density: arcs per target word that lattices are
    pruned to, 0 for all. Writes a folder (``LinkedLattices``) and statistics: sentences, seconds of search and of
    laying out lattices, mean model score, arcs.
    """
    if density < 0:
        raise UserError(f"the density {density} is negative; use 0 for all arcs")
    decoder = load_decoder(System.load(system), weights, threads)
    sentences = [line.split() for line in read_lines(text)]
    began = time.perf_counter()
    lattices = decoder.lattices(sentences, density or math.inf)
    searched = time.perf_counter()
    linked = LinkedLattices.of(lattices, decoder)
    seconds = time.perf_counter() - began
    linked.save(output)
    scores = [0.0 if x is None else float(x.prefix_scores[x.arc_offsets[-2]]) for x in lattices]
    content = {
        "sentences": len(sentences),
        "seconds": round(seconds, 3),
        "seconds_of_search": round(searched - began, 3),
        "seconds_per_sentence": seconds / max(1, len(sentences)),
        "mean_score": float(np.mean(scores)) if scores else 0.0,
        "arcs": len(linked.flat.tails),
        "arcs_per_sentence": len(linked.flat.tails) / max(1, len(sentences)),
        "threads": threads,
    }
    write_json(statistics, content)
    log.info("%d lattices of %d arcs in %.1f s", len(sentences), content["arcs"], seconds)


def rescore_lattices(
    *,
    lattices: Path,
    weights: Path,
    settings: dict,
    output: Path,
    statistics: Path,
    model: Path | None = None,
    sentences: Path | None = None,
    representation: Path | None = None,
    threads: int = 1,
) -> None:
    """Translate by the best paths of lattices, or of their n-best lists, with the recurrent joint model.

    lattices: a folder of ``decode_lattices``; model: folder of the recurrent model (without one the weights alone
    choose, in the lattices); weights: of the lattices' features and, with a model, of ``Recurrent0``; settings: see
    ``RescoringSettings``; sentences: the text that the representation reads (source sentences, or references for an
    oracle), where the model has inputs. Writes the translations, and statistics: sentences, seconds, mean model score,
    mean ln p of the translations by the recurrent model, hidden layers computed, arcs.
    """
    chosen = read_settings(RescoringSettings, settings, "rescoring")
    linked = LinkedLattices.load(lattices, mapped=False)
    if model is None:
        vector, joint = Weights.load(weights).vector(linked.features), None
    else:
        vector, joint = recurrent_vector(weights, linked), JointModel.load(model, linked, sentences, representation)
    began = time.perf_counter()
    if joint is None:
        best = best_paths(linked.flat, vector)
        found = Rescored(best.arcs, best.scores, np.zeros(len(linked)), 0)
    elif chosen.candidates == "lattice":
        found = push_forward(linked, joint, vector[:-1], vector[-1], chosen.beam, threads)
    else:
        found = rescore_lists(linked, joint, vector[:-1], vector[-1], chosen.nbest, chosen.share_prefixes, threads)
    seconds = time.perf_counter() - began
    words = linked.flat.words
    write_lines(output, (" ".join(linked.spell(words.take(arcs).values)) for arcs in found.arcs))
    content = {
        "sentences": len(linked),
        "seconds": round(seconds, 3),
        "seconds_per_sentence": seconds / max(1, len(linked)),
        "mean_score": float(found.scores.mean()) if len(linked) else 0.0,
        "evaluations": int(found.evaluations),
        "arcs": len(linked.flat.tails),
        "threads": threads,
    }
    if joint and len(linked):
        content["mean_recurrent"] = float(found.recurrent.mean())
    write_json(statistics, content)
    log.info("rescored %d sentences in %.2f s, mean score %.3f", len(linked), seconds, content["mean_score"])


def recurrent_vector(weights: Path, lattices: LinkedLattices) -> np.ndarray:
    """float64 ``[F + 1]``: the weights of the lattices' scores, then that of the recurrent model.

    Raises ``UserError`` where one is missing."""
    loaded = Weights.load(weights)
    if RECURRENT not in loaded.values:
        raise UserError(f"{weights}: holds no weight of {RECURRENT}; tune with the recurrent model first")
    return loaded.vector(lattices.with_recurrent)


def measure_oracles(
    *, lattices: Path, reference: Path, sizes: list[int], table: Path, lists: Path | None = None
) -> None:
    """Write a table (CSV) of the oracle BLEU of lattices and of n-best lists of some sizes.

    lattices: a folder of ``decode_lattices``; lists: another one, less pruned, that the lists are drawn from;
    reference: tokenised text. Rows as in the table of the verb ``oracle``.
    """
    references = [line.split() for line in read_lines(reference)]
    linked = [LinkedLattices.load(folder, mapped=False) for folder in (lattices, lists or lattices)]
    for folder, read in zip((lattices, lists), linked, strict=True):
        if len(references) != len(read):
            raise UserError(f"{reference} has {len(references)} lines, but {folder} is of {len(read)} sentences")
    rows = oracle_rows(linked[0], references, sizes, linked[1])
    write_csv(table, HEADER, [row.cells() for row in rows])
    for row in rows:
        log.info("%s, %s oracle: BLEU %.2f", row.candidates, row.oracle, row.bleu)
