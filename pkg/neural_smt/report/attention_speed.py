"""How fast attention networks train and translate, with few target words and with many."""

from __future__ import annotations

from neural_smt.report.attention_results import AttentionResults
from neural_smt.report.markdown import table_lines
from neural_smt.report.mi2016 import JEAN, LIMITED, REPLACED, TRAINING_SLOWDOWN
from neural_smt.report.numbers import number_text


def slowdown(results: AttentionResults, network: str) -> float | None:
    """How many times as long an update takes as that of the paper's network; None if there is none to compare with."""
    system = _own_system(results)
    own = results.trainings.get(results.systems[system].network or "") if system else None
    other = results.trainings[network]
    return own.updates_per_second / max(other.updates_per_second, 1e-9) if own else None


def paper_slowdown(results: AttentionResults, network: str) -> float | None:
    """The paper's, of the network that is trained with as many words for a batch as Jean et al. (2015) have."""
    jean = [results.systems[name].network for name in JEAN if name in results.systems]
    return TRAINING_SLOWDOWN if network in jean else None


def sentence_slowdown(results: AttentionResults, system: str, name: str) -> float | None:
    """How many times as long a sentence of a set takes as with the paper's system; None without that one."""
    own = results.translation(_own_system(results) or "", name)
    other = results.translation(system, name)
    return own.sentences_per_second / max(other.sentences_per_second, 1e-9) if own and other else None


def _own_system(results: AttentionResults) -> str | None:
    """The paper's system, or the same with unknown words replaced."""
    return next((name for name in (LIMITED, REPLACED) if name in results.systems), None)


def speed_lines(results: AttentionResults) -> list[str]:
    """Tables of training and of decoding, as Markdown."""
    return _training(results) + _decoding(results)


def _training(results: AttentionResults) -> list[str]:
    if not results.trainings:
        return []
    header = ["Network", "Parameters", "Updates", "Updates/s", "Words/s"]
    header += ["Paper: time of an update", "here", "Held-out perplexity"]
    rows = [
        [
            name,
            f"{training.parameters:,}",
            f"{training.updates:,}",
            f"{training.updates_per_second:.2f}",
            f"{training.words_per_second:,.0f}",
            number_text(paper_slowdown(results, name), 1),
            number_text(slowdown(results, name), 2),
            number_text(training.perplexity, 2),
        ]
        for name, training in results.trainings.items()
    ]
    note = (
        f"Time of an update: 1 is that of the network that {_own_system(results) or LIMITED} translates with. The "
        "paper has 30,000 words for each batch in place of 6,153 there. Seconds include validation. Held-out "
        "perplexities compare only among networks that predict from the same words."
    )
    return ["## Speed of training", "", *table_lines(header, rows), "", note, ""]


def _decoding(results: AttentionResults) -> list[str]:
    name = results.sets[-1]
    found = {system: results.translation(system, name) for system in results.systems}
    rows = [
        [
            results.systems[system].label,
            results.systems[system].vocabulary or "",
            f"{took.mean_vocabulary:,.0f}",
            f"{took.sentences_per_second:.2f}",
            number_text(sentence_slowdown(results, system, name), 2),
            f"{took.seconds:.1f}",
            f"{took.grown:,.0f}",
            f"{took.unfinished:,.0f}",
        ]
        for system, took in found.items()
        if took is not None
    ]
    if not rows:
        return []
    header = ["System", "Vocabulary", "words/sentence", "Sentences/s", "Time of a sentence"]
    header += ["Seconds", "Grown", "Unfinished"]
    note = (
        f"Of {name}, the search alone. Time of a sentence: 1 is that of {_own_system(results) or LIMITED}. Grown: "
        "sentences that were searched again with more words, as none of their translations had an end. Unfinished: "
        "those whose best translation still has none. The paper's sentences are predicted from 2,067 words on average, "
        "14.5 times fewer than 30,000; it gives no time of decoding."
    )
    return ["## Speed of decoding", "", *table_lines(header, rows, left=2), "", note, ""]
