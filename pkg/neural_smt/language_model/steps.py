"""The steps of the stage ``language_model``."""

import logging
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_lines, write_json, write_lines
from neural_smt.io.streams import stream_texts
from neural_smt.io.temporaries import scratch_folder
from neural_smt.language_model.arpa import read_arpa, write_arpa
from neural_smt.language_model.estimation import estimate_within, parse_memory
from neural_smt.language_model.model import NgramModel, comparable_perplexity, measure_perplexity
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

READ_TOGETHER = 1 << 16
"""Lines that are read at a time."""


def build_language_model(
    *, texts: list[Path], vocabulary: Path, settings: dict[str, Any], output: Path, arpa: Path | None = None
) -> None:
    """Estimate an n-gram language model (interpolated modified Kneser-Ney) of tokenised text.

    texts: one sentence a line, taken together; words outside the vocabulary count as ``<unk>`` (lmplz: as words of
    their own, left out afterwards; it skips words spelt ``<unk>``, ``<s>`` or ``</s>``). settings: order, prune
    (thresholds as of lmplz), estimator (``internal``, or ``lmplz`` where it is installed), memory (of estimation, as of
    lmplz: larger texts are worked through on disk, beside the output, with the same outcome), quantise (8: the model
    keeps codes of 8 bits for scores, in a third of the memory; 0: the scores themselves, as the ARPA file always has).
    Writes the model's folder, and an ARPA file if asked for.
    """
    if not texts:
        raise UserError("language model: no texts are given; name at least one file")
    words, chosen = Vocabulary.load(vocabulary), section_settings("language_model", settings)
    order, prune = chosen.order, chosen.prune
    with scratch_folder(Path(output)) as scratch:
        if chosen.estimator == "lmplz":
            tables = estimate_with_lmplz(texts, words, order, prune, chosen.memory, scratch)
        else:
            memory = parse_memory(chosen.memory)
            parts = words.encode_pieces(stream_texts(texts), READ_TOGETHER)
            estimated = estimate_within(parts, order, prune, memory, scratch)
            tables = estimated.tables
            for n, discounts in enumerate(estimated.discounts, start=1):
                logger.info("order %d: D1=%.6g D2=%.6g D3+=%.6g", n, *discounts)
        model = NgramModel.from_tables(tables, words, quantise=chosen.quantise > 0)
        logger.info("n-grams of order 1 to %d: %s", model.order, " ".join(map(str, model.ngrams)))
        model.save(output)
        if arpa is not None:
            write_arpa(arpa, tables, words)


def measure_language_model(*, model: Path, vocabulary: Path, text: Path, output: Path) -> None:
    """Measure how well an n-gram model predicts a tokenised text, ends of sentences included (JSON).

    sentences, words, unknown (words that the model does not know); perplexity: with an unknown word at the probability
    of ``<unk>``; comparable_perplexity: with the model's uniform share spread over the whole vocabulary, so that models
    of one vocabulary, made from more and less text, can be compared.
    """
    words = Vocabulary.load(vocabulary)
    loaded = NgramModel.load(model, words)
    lines = read_lines(text)
    if not lines:
        raise UserError(f"{text}: holds no sentence to measure the language model on; give a text")
    sentences = words.encode(lines)
    measured = measure_perplexity(loaded, sentences)
    comparable = comparable_perplexity(loaded, sentences, len(words) - 1)
    logger.info("perplexity %.2f, comparable %.2f, of %d words", measured.value, comparable, measured.words)
    counts = {name: getattr(measured, name) for name in ("sentences", "words", "unknown")}
    perplexities = {"perplexity": measured.value, "comparable_perplexity": comparable}
    write_json(output, counts | {name: round(value, 4) for name, value in perplexities.items()})


def estimate_with_lmplz(
    texts: Sequence[Path], vocabulary: Vocabulary, order: int, prune: Sequence[int], memory: str, scratch: Path
) -> list[NgramTable]:
    """Run lmplz, which sorts on disk, on tokenised texts and read its n-grams over the words of ``vocabulary``.

    memory: what lmplz takes as ``-S``, such as ``2G`` or ``50%``; scratch: a folder with room for its temporary
    files. Raises ``UserError`` when lmplz is not on PATH or fails.
    """
    program = shutil.which("lmplz")
    if program is None:
        raise UserError("language_model.estimator: no lmplz is on PATH; install KenLM or set the estimator to internal")
    write_lines(scratch / "text", stream_texts(texts))
    command = [program, "-o", str(order), "-S", memory, "-T", f"{scratch}/", "--discount_fallback", "--skip_symbols"]
    command += ["--text", str(scratch / "text"), "--arpa", str(scratch / "arpa")]
    command += ["--prune", *map(str, prune)] if prune else []
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if run.returncode != 0:
        reason = " ".join(run.stderr.strip().splitlines()[-1:])
        raise UserError(f"lmplz failed with status {run.returncode}: {reason or 'no message'}")
    return read_arpa(scratch / "arpa", vocabulary)[0]
