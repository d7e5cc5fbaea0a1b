"""Steps of the evaluation stage, from files to files."""

import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU

from neural_smt.errors import UserError
from neural_smt.evaluation.scores import detokenise_lines, score_translation
from neural_smt.evaluation.significance import TESTS, corpus_scores, sentence_statistics
from neural_smt.io.files import read_lines, read_parallel, write_json, write_lines

log = logging.getLogger(__name__)


def detokenise(*, text: Path, language: str, output: Path) -> None:
    """Turn tokenised text back into the text a reader sees."""
    write_lines(output, detokenise_lines(read_lines(text), language))


def evaluate(
    *,
    hypothesis: Path,
    reference_tokens: Path,
    reference_text: Path,
    language: str,
    output: Path,
    translation: Path | None = None,
) -> None:
    """Score a tokenised translation: sacreBLEU on detokenised text, BLEU on tokens.

    ``reference_text`` is the reference as it was published, ``reference_tokens`` the same tokenised. The detokenised
    text is written to ``translation`` where that is given.
    """
    lines, tokens = read_parallel(hypothesis, reference_tokens)
    _, text = read_parallel(hypothesis, reference_text)
    if not lines:
        raise UserError(f"{hypothesis}: holds no sentence to score; translate the set again")
    translated = detokenise_lines(lines, language)
    scores = score_translation(lines, translated, tokens, text)
    log.info("sacreBLEU %.2f, tokenised BLEU %.2f", scores["sacrebleu"], scores["tokenised_bleu"])
    if translation is not None:
        write_lines(translation, translated)
    write_json(output, scores)


def compare(
    *,
    systems: dict[str, list[str]],
    reference: Path,
    baseline: str,
    settings: dict[str, Any],
    seed: int,
    output: Path,
) -> None:
    """Test every system's BLEU against the baseline's, over all tuning runs.

    ``systems`` maps each system to the detokenised translations of its runs, ``reference`` is raw text.
    ``settings``: ``test`` (``approximate_randomisation`` or ``bootstrap``) and ``trials``. Writes, per system, the
    BLEU of each run, mean and (sample) standard deviation over runs, the difference of the mean to the baseline's
    and its p-value (null for the baseline itself).
    """
    if baseline not in systems:
        raise UserError(f"setting evaluation.baseline: {baseline!r} is no system; use one of {', '.join(systems)}")
    if settings["test"] not in TESTS:
        raise UserError(f"setting evaluation.test: {settings['test']!r} is unknown; use one of {', '.join(TESTS)}")
    test, trials = TESTS[settings["test"]], int(settings["trials"])
    metric = BLEU()
    runs = {name: _run_statistics(metric, name, paths, reference) for name, paths in systems.items()}
    pooled = {name: statistics.mean(axis=0) for name, statistics in runs.items()}
    scores = {name: corpus_scores(statistics.sum(axis=1)) for name, statistics in runs.items()}
    results = {}
    for name in systems:
        # Every comparison draws the same trials, so a system's p-value does not depend on which others there are.
        generator = np.random.default_rng(seed)
        p_value = None if name == baseline else test(pooled[baseline], pooled[name], trials, generator)
        results[name] = {
            "bleu": scores[name].tolist(),
            "bleu_mean": float(scores[name].mean()),
            "bleu_std": float(scores[name].std(ddof=1)) if len(scores[name]) > 1 else 0.0,
            "runs": len(scores[name]),
            "delta": float(scores[name].mean() - scores[baseline].mean()),
            "p_value": p_value,
            "test": settings["test"],
            "trials": trials,
            "signature": str(metric.get_signature()),
        }
        log.info("%s: BLEU %.2f, p %s", name, results[name]["bleu_mean"], p_value)
    write_json(output, results)


def compare_neighbours(
    *, systems: dict[str, list[str]], reference: Path, settings: dict[str, Any], seed: int, output: Path
) -> None:
    """Test each system's BLEU against that of the system before it, over all tuning runs.

    Arguments as in ``compare``. Writes a list with, for every system but the first: ``before``, ``after``, the
    difference of their mean BLEU over runs, and its p-value.
    """
    if settings["test"] not in TESTS:
        raise UserError(f"setting evaluation.test: {settings['test']!r} is unknown; use one of {', '.join(TESTS)}")
    metric = BLEU()
    runs = {name: _run_statistics(metric, name, paths, reference) for name, paths in systems.items()}
    steps = []
    for before, after in pairwise(systems):
        means = [float(corpus_scores(runs[name].sum(axis=1)).mean()) for name in (before, after)]
        p_value = TESTS[settings["test"]](
            *(runs[name].mean(axis=0) for name in (before, after)), int(settings["trials"]), np.random.default_rng(seed)
        )
        steps.append({"before": before, "after": after, "delta": means[1] - means[0], "p_value": p_value})
        log.info("%s after %s: BLEU %+.2f, p %.4f", after, before, means[1] - means[0], p_value)
    write_json(output, steps)


def _run_statistics(metric: BLEU, name: str, paths: list[str], reference: Path) -> np.ndarray:
    """BLEU statistics of all runs of one system, float64 ``[runs, sentences, 10]``."""
    if not paths:
        raise UserError(f"system {name!r} has no translations to compare; set tuning.runs to at least 1")
    statistics = []
    for path in paths:
        lines, references = read_parallel(Path(path), reference)
        if not lines:
            raise UserError(f"{path}: holds no sentence to compare; translate the set again")
        statistics.append(sentence_statistics(metric, lines, references))
    return np.stack(statistics)
