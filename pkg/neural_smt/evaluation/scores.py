"""BLEU of a translation: sacreBLEU on text as a reader sees it, and BLEU on tokens as the papers report it."""

import re
from typing import Any

from sacrebleu.metrics import BLEU
from sacremoses import MosesDetokenizer

from neural_smt.bleu import REFERENCE_LENGTH, bleu, brevity_penalty, corpus_statistics

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
