"""What the tables of joint models are made of, read from the files of other stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_object
from neural_smt.report.scores import Cell, Scores, mean, read_scores


@dataclass(frozen=True)
class JointResults:
    """What the tables are made of; names of systems are those of ``auli2013``, those that there are.

    cells: system -> set -> scores, the development set first; perplexities: system -> set -> perplexity of its network;
    ngram: set -> perplexity of the n-gram model beside the target-only network; seconds: system -> set -> a sentence's,
    of choosing among candidates, for ``baseline`` of the search; log_probabilities: system -> set -> mean ln p of the
    chosen translations under the recurrent model; oracles: set -> candidates -> oracle BLEU; p_values: system -> set ->
    of the paired bootstrap test against target-only.
    """

    cells: Mapping[str, Mapping[str, Cell]]
    perplexities: Mapping[str, Mapping[str, float]]
    ngram: Mapping[str, float]
    seconds: Mapping[str, Mapping[str, float]]
    log_probabilities: Mapping[str, Mapping[str, float]]
    oracles: Mapping[str, Mapping[str, float]]
    p_values: Mapping[str, Mapping[str, float | None]]

    @property
    def sets(self) -> list[str]:
        """The development set, then the test sets."""
        return list(next(iter(self.cells.values())))

    def perplexity(self, system: str, name: str) -> float | None:
        """Of the system's network; of the n-gram model for the baseline."""
        return self.ngram.get(name) if system == "baseline" else self.perplexities.get(system, {}).get(name)

    def test_mean(self, system: str) -> float | None:
        """Mean BLEU of the runs over all test sets; None where there is no such system."""
        if system not in self.cells:
            return None
        tests = self.sets[1:] or self.sets
        return mean([mean(self.cells[system][name].sacrebleu) for name in tests])


def read_results(
    *,
    scores: Scores,
    significance: Mapping[str, str],
    perplexities: Mapping[str, str],
    choices: Mapping[str, Mapping[str, Sequence[str]]],
    searches: Mapping[str, Sequence[str]],
    oracles: Mapping[str, str],
    target_only: str,
) -> JointResults:
    """Read the files of an experiment.

    scores: as in ``read_scores``; significance: set -> what ``compare`` wrote with target-only as its baseline;
    perplexities: system -> what ``measure_recurrent`` wrote of its network; choices: system -> set -> what
    ``rescore_lattices`` wrote, one file per run; searches: set -> what ``decode_lattices`` wrote; oracles: set -> the
    table of ``measure_oracles``; target_only: the system whose network the n-gram model stands beside.
    """
    measured = {system: read_object(Path(path)) for system, path in perplexities.items()}
    tested = {name: read_object(Path(path)) for name, path in significance.items()}
    chosen = {
        system: {name: [read_object(Path(path)) for path in paths] for name, paths in sets.items()}
        for system, sets in choices.items()
    }
    found = {name: [read_object(Path(path)) for path in paths] for name, paths in searches.items()}
    seconds = {system: _means(sets, "seconds_per_sentence") for system, sets in chosen.items()}
    return JointResults(
        cells=read_scores(scores),
        perplexities={system: _column(content, "network") for system, content in measured.items()},
        ngram=_column(measured[target_only], "ngram") if target_only in measured else {},
        seconds={"baseline": _means(found, "seconds_per_sentence"), **seconds},
        log_probabilities={system: _means(sets, "mean_recurrent") for system, sets in chosen.items()},
        oracles={name: _read_oracles(Path(path)) for name, path in oracles.items()},
        p_values={
            system: {name: content[system]["p_value"] for name, content in tested.items()}
            for system in scores
            if all(system in content for content in tested.values())
        },
    )


def _means(sets: Mapping[str, Sequence[Mapping[str, Any]]], key: str) -> dict[str, float]:
    """Mean over runs of a number of every set that has it."""
    return {name: fmean(run[key] for run in runs) for name, runs in sets.items() if all(key in run for run in runs)}


def _column(content: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, float]:
    """A figure of every set; texts are called by their set and a language."""
    return {Path(name).stem: float(figures[key]) for name, figures in content.items()}


def _read_oracles(path: Path) -> dict[str, float]:
    """Candidates -> BLEU of the corpus-level oracle (of the model's own choice for the 1-best)."""
    rows = read_csv(path)
    if not rows or not {"candidates", "oracle", "bleu"} <= rows[0].keys():
        raise UserError(f"{path}: not a table of oracles; run measure_oracles again")
    return {row["candidates"]: float(row["bleu"]) for row in rows if row["oracle"] != "sentence"}
