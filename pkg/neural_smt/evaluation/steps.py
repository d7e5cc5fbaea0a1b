"""Steps of the evaluation stage: sacreBLEU on text as a reader sees it, BLEU on tokens as papers report it, tests."""

import logging
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU
from sacremoses import MosesDetokenizer

from neural_smt.bleu import REFERENCE_LENGTH, bleu, brevity_penalty, corpus_statistics
from neural_smt.errors import UserError
from neural_smt.evaluation.significance import TESTS, corpus_scores, sentence_statistics
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_lines, read_parallel, write_json, write_lines

log = logging.getLogger(__name__)


_AMOUNT = re.compile(rf"(\d [{MosesDetokenizer.IsSc}])(?=[^\W\d_]|\()")
"""A number with a currency sign after it, to which Moses' detokeniser joins what follows: ``3,50 €im Jahr``."""


def detokenise_lines(lines: list[str], language: str) -> list[str]:
    """Undo Moses' tokenisation and escaping (``&apos;`` and the like); ``language`` is ``en``, ``fr`` and so on.

    Moses' rules, but for amounts as German and French write them: a currency sign behind its number keeps its blank.
    """
    detokenizer = MosesDetokenizer(lang=language)
    return [_AMOUNT.sub(r"\1 ", detokenizer.detokenize(line.split())) for line in lines]


def score_translation(
    hypothesis_tokens: list[str], hypothesis_text: list[str], reference_tokens: list[str], reference_text: list[str]
) -> dict[str, Any]:
    """Scores of a translation against its reference, both as tokens and as text; all of equal length.

    ``sacrebleu`` (0 to 100, with its ``signature``) compares detokenised text; ``tokenised_bleu`` (0 to 100) and the
    figures after it compare tokens by the definition of Moses' ``multi-bleu.perl``: cased, not smoothed.
    """
    metric = BLEU()
    score = metric.corpus_score(hypothesis_text, [reference_text])
    statistics = corpus_statistics(
        (line.split() for line in hypothesis_tokens), [line.split() for line in reference_tokens]
    )
    total = statistics.sum(axis=0, dtype=int).tolist()
    hypothesis_words, reference_words = total[1], total[REFERENCE_LENGTH]
    return {
        "sacrebleu": score.score,
        "signature": str(metric.get_signature()),
        "tokenised_bleu": 100.0 * bleu(statistics),
        "brevity_penalty": brevity_penalty(statistics),
        "length_ratio": hypothesis_words / max(reference_words, 1),
        "sentences": len(hypothesis_tokens),
        "hypothesis_words": hypothesis_words,
        "reference_words": reference_words,
    }


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
    results, runs = {}, _Runs(systems, reference, settings, seed)
    scores = runs.scores
    for name in systems:
        p_value = None if name == baseline else runs.p_value(baseline, name)
        results[name] = {
            "bleu": scores[name].tolist(),
            "bleu_mean": float(scores[name].mean()),
            "bleu_std": float(scores[name].std(ddof=1)) if len(scores[name]) > 1 else 0.0,
            "runs": len(scores[name]),
            "delta": float(scores[name].mean() - scores[baseline].mean()),
            "p_value": p_value,
            "test": runs.settings.test,
            "trials": runs.settings.trials,
            "signature": str(runs.metric.get_signature()),
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
    steps, runs = [], _Runs(systems, reference, settings, seed)
    for before, after in pairwise(systems):
        means = [float(runs.scores[name].mean()) for name in (before, after)]
        p_value = runs.p_value(before, after)
        steps.append({"before": before, "after": after, "delta": means[1] - means[0], "p_value": p_value})
        log.info("%s after %s: BLEU %+.2f, p %.4f", after, before, means[1] - means[0], p_value)
    write_json(output, steps)


class _Runs:
    """BLEU statistics and scores (0 to 100) of all runs of systems, and the test that compares them."""

    def __init__(self, systems: dict[str, list[str]], reference: Path, settings: dict[str, Any], seed: int):
        self.settings, self.seed, self.metric = section_settings("evaluation", settings), seed, BLEU()
        self.statistics = {
            name: _run_statistics(self.metric, name, paths, reference) for name, paths in systems.items()
        }
        self.scores = {name: corpus_scores(rows.sum(axis=1)) for name, rows in self.statistics.items()}

    def p_value(self, first: str, second: str) -> float:
        """Every comparison draws the same trials, so a p-value does not depend on which others there are."""
        pooled = (self.statistics[name].mean(axis=0) for name in (first, second))
        return TESTS[self.settings.test](*pooled, self.settings.trials, np.random.default_rng(self.seed))


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
