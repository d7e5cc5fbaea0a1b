"""Steps of the evaluation stage: sacreBLEU on text as a reader sees it, BLEU on tokens as papers report it, tests.

Is a system better than the baseline? Paired tests on corpus BLEU over several tuning runs: Clark et al. (2011) ask for
several optimiser runs of every system and pool their outputs. The runs' outputs of one sentence are near copies of each
other, so they are no independent evidence: here a sentence with all its runs is drawn, or swapped between the systems,
as one. Repeating a run therefore leaves every p-value as it is; how much the runs differ is reported beside it, as a
standard deviation.
"""

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from neural_smt.bleu import REFERENCE_LENGTH, bleu, brevity_penalty, smoothed_bleu
from neural_smt.errors import UserError
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import read_parallel, write_json, write_lines

log = logging.getLogger(__name__)

COLUMNS = [2, 6, 3, 7, 4, 8, 5, 9, 1]
"""Where our statistics stand among sacreBLEU's: the lengths of hypothesis and reference, four matches, four totals."""

CHUNK = 2**22
"""How many (trial, sentence) cells are drawn at once, to bound memory."""


def detokenise_lines(lines: list[str], language: str) -> list[str]:
    """Undo Moses' tokenisation and escaping (``&apos;`` and the like); ``language`` is ``en``, ``fr`` and so on.

    Moses' rules, but for amounts as German and French write them: a currency sign behind its number keeps its blank.
    """
    from sacremoses import MosesDetokenizer  # half a second to load, which tests of significance need not wait for

    # a number with a currency sign after it, to which Moses' detokeniser joins what follows: 3,50 €im Jahr
    amount = re.compile(rf"(\d [{MosesDetokenizer.IsSc}])(?=[^\W\d_]|\()")
    detokenizer = MosesDetokenizer(lang=language)
    return [amount.sub(r"\1 ", detokenizer.detokenize(line.split())) for line in lines]


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
    text is written to ``translation`` where that is given. ``sacrebleu`` (0 to 100, with its ``signature``) compares
    detokenised text; ``tokenised_bleu`` (0 to 100) and the figures after it compare tokens by the definition of Moses'
    ``multi-bleu.perl``: cased, not smoothed.
    """
    lines, tokens = read_parallel(hypothesis, reference_tokens)
    _, text = read_parallel(hypothesis, reference_text)
    if not lines:
        raise UserError(f"{hypothesis}: holds no sentence to score; translate the set again")
    translated, metric = detokenise_lines(lines, language), BLEU()
    statistics = sentence_statistics(BLEU(tokenize="none", force=True), lines, tokens)
    total = statistics.sum(axis=0, dtype=int).tolist()
    scores = {
        "sacrebleu": metric.corpus_score(translated, [text]).score,
        "signature": str(metric.get_signature()),
        "tokenised_bleu": 100.0 * bleu(statistics),
        "brevity_penalty": brevity_penalty(statistics),
        "length_ratio": total[1] / max(total[REFERENCE_LENGTH], 1),
        "sentences": len(lines),
        "hypothesis_words": total[1],
        "reference_words": total[REFERENCE_LENGTH],
    }
    log.info("sacreBLEU %.2f, tokenised BLEU %.2f", scores["sacrebleu"], scores["tokenised_bleu"])
    if translation is not None:
        write_lines(translation, translated)
    write_json(output, scores)


def sentence_statistics(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """What sacreBLEU counts in each sentence, in the layout of ``bleu``, float64 ``[sentences, 9]``."""
    counts = np.array(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64)
    return counts.reshape(-1, len(COLUMNS) + 1)[:, COLUMNS]


def corpus_scores(statistics: np.ndarray) -> np.ndarray:
    """sacreBLEU's BLEU (0 to 100) of summed statistics ``[..., 9]``."""
    return 100.0 * smoothed_bleu(statistics)


def _swap(baseline: np.ndarray, system: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    """Approximate randomisation (Riezler and Maxwell 2005): sentences are swapped by chance."""
    swapped = generator.integers(0, 2, size=(size, len(system)), dtype=np.int8)
    shuffled = baseline.sum(axis=0) + swapped.astype(np.float64) @ (system - baseline)
    return corpus_scores(shuffled) - corpus_scores((system + baseline).sum(axis=0) - shuffled)


def _resample(baseline: np.ndarray, system: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    """Paired bootstrap (Koehn 2004): sentences are drawn with replacement."""
    sentences = len(system)
    drawn = generator.integers(0, sentences, size=(size, sentences))
    cells = (drawn + sentences * np.arange(size)[:, None]).ravel()
    times = np.bincount(cells, minlength=size * sentences).reshape(size, sentences).astype(np.float64)
    return corpus_scores(times @ system) - corpus_scores(times @ baseline)


TESTS = {"approximate_randomisation": _swap, "bootstrap": _resample}
"""How the tests draw differences in BLEU, by their names in the configuration."""


def p_value(test: str, baseline: np.ndarray, system: np.ndarray, trials: int, generator: np.random.Generator) -> float:
    """Two-sided p-value of the difference in BLEU by one of ``TESTS``, the bootstrap's counted as sacreBLEU counts it.

    baseline, system: statistics ``[sentences, 9]``, summed (or averaged) over runs.
    """
    observed = abs(corpus_scores(system.sum(axis=0)) - corpus_scores(baseline.sum(axis=0)))
    size = max(1, CHUNK // max(len(system), 1))
    sizes = (min(size, trials - start) for start in range(0, trials, size))
    gaps = np.concatenate([np.abs(TESTS[test](baseline, system, size, generator)) for size in sizes])
    expected = gaps.mean() if test == "bootstrap" else 0.0
    return (int((gaps - expected >= observed - 1e-9).sum()) + 1) / (trials + 1)


def compare(
    *,
    systems: dict[str, list[list[str]]],
    references: list[Path],
    controls: dict[str, str | None],
    settings: dict[str, Any],
    seed: int,
    output: Path,
) -> None:
    """Test the BLEU of systems against that of their controls, over all tuning runs.

    systems: system -> for each of its runs the detokenised translations of the texts, a file for each; references: raw
    text of each, taken together; controls: system -> the one that it is tested against, none for
    one that is not; settings: ``test`` (``approximate_randomisation`` or ``bootstrap``) and ``trials``. Writes, per
    system, the BLEU of each run, mean and (sample) standard deviation over runs, its control, the difference of the
    means and its p-value (null without a control).
    """
    results, runs = {}, _Runs(systems, references, settings, seed)
    for name, scores in runs.scores.items():
        control, mean = controls.get(name), float(scores.mean())
        if control is not None and control not in systems:
            raise UserError(f"the control {control!r} of {name!r} is no system; use one of {', '.join(systems)}")
        results[name] = {
            "bleu": scores.tolist(),
            "bleu_mean": mean,
            "bleu_std": float(scores.std(ddof=1)) if len(scores) > 1 else 0.0,
            "runs": len(scores),
            "control": control,
            "delta": mean - float(runs.scores[control].mean()) if control else 0.0,
            "p_value": runs.p_value(control, name) if control else None,
            "test": runs.settings.test,
            "trials": runs.settings.trials,
            "signature": str(runs.metric.get_signature()),
        }
        log.info("%s: BLEU %.2f, p %s", name, mean, results[name]["p_value"])
    write_json(output, results)


class _Runs:
    """BLEU statistics (float64 ``[runs, sentences, 9]``) and scores (0 to 100) of all runs of systems, and the test
    that compares them.
    """

    def __init__(
        self, systems: dict[str, list[list[str]]], references: list[Path], settings: dict[str, Any], seed: int
    ):
        self.settings, self.seed, self.metric = section_settings("evaluation", settings), seed, BLEU()
        self.statistics = {}
        for name, own in systems.items():
            if not own:
                raise UserError(f"system {name!r} has no translations to compare; set tuning.runs to at least 1")
            counts = [[*map(self._count, map(Path, paths), references)] for paths in own]
            self.statistics[name] = np.stack([*map(np.concatenate, counts)])
        self.scores = {name: corpus_scores(rows.sum(axis=1)) for name, rows in self.statistics.items()}

    def _count(self, path: Path, reference: Path) -> np.ndarray:
        lines, references = read_parallel(path, reference)
        if not lines:
            raise UserError(f"{path}: holds no sentence to compare; translate the set again")
        return sentence_statistics(self.metric, lines, references)

    def p_value(self, first: str, second: str) -> float:
        """Every comparison draws the same trials, so a p-value does not depend on which others there are."""
        one, other = (self.statistics[name].mean(axis=0) for name in (first, second))
        return p_value(self.settings.test, one, other, self.settings.trials, np.random.default_rng(self.seed))
