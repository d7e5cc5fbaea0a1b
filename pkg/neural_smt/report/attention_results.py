"""What the tables of attention networks are made of, read from the files of other stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_object
from neural_smt.networks.weights import count_parameters
from neural_smt.report.attention_coverage import Held, read_coverage
from neural_smt.report.mi2016 import LIMITED, REPLACED
from neural_smt.report.networks_table import kept_perplexity, read_curve, value_in
from neural_smt.report.scores import Cell, Scores, mean, read_scores
from neural_smt.settings import read_settings


@dataclass(frozen=True)
class System:
    """label: its name in tables; network: that translates, None for a phrase-based system; vocabulary: name of the
    candidate sets at decoding, ``all`` for all words; replace_unknown: whether unknown words are replaced; frequent: N
    of V^T of its sets.
    """

    label: str
    network: str | None = None
    vocabulary: str | None = None
    replace_unknown: bool = False
    frequent: int | None = None


class Translation(NamedTuple):
    """What a network's translation of a set took, mean over runs: seconds of search; sentences_per_second; words,
    unknown_words: written by the network, before any replacement; unfinished: sentences without an end; grown: those
    whose vocabulary had to grow; mean_vocabulary: words that a sentence is predicted from.
    """

    seconds: float
    sentences_per_second: float
    words: float
    unknown_words: float
    unfinished: float
    grown: float
    mean_vocabulary: float


class Training(NamedTuple):
    """parameters; updates; seconds, validation included; words: predicted in training; perplexity: held-out, of the
    weights that were kept, None without held-out text.
    """

    parameters: int
    updates: int
    seconds: float
    words: int
    perplexity: float | None

    @property
    def updates_per_second(self) -> float:
        """Parameter updates a second."""
        return self.updates / max(self.seconds, 1e-9)

    @property
    def words_per_second(self) -> float:
        """Predicted words a second, end symbols included."""
        return self.words / max(self.seconds, 1e-9)


class Epoch(NamedTuple):
    """A network after an epoch: updates so far, held-out perplexity (None if it was not measured), BLEU on tokens."""

    epoch: int
    updates: int
    perplexity: float | None
    bleu: float


@dataclass(frozen=True)
class AttentionResults:
    """What the tables are made of; names of systems are those of ``mi2016``, or others.

    systems; cells: system -> set -> scores, the development set first; translations: system -> set -> what its search
    took; trainings, epochs: network -> its training, its epochs; coverage: of the reference by the sets.
    """

    systems: Mapping[str, System]
    cells: Mapping[str, Mapping[str, Cell]]
    translations: Mapping[str, Mapping[str, Translation]]
    trainings: Mapping[str, Training]
    epochs: Mapping[str, Sequence[Epoch]]
    coverage: Sequence[Held]

    @property
    def sets(self) -> list[str]:
        """The development set, then the test sets."""
        return list(next(iter(self.cells.values())))

    @property
    def dev(self) -> str:
        """The development set."""
        return self.sets[0]

    def test_mean(self, system: str) -> float:
        """Mean BLEU of the runs over all test sets."""
        return mean([mean(self.cells[system][name].sacrebleu) for name in self.sets[1:] or self.sets])

    def translation(self, system: str, name: str) -> Translation | None:
        """Of a set by a system, if a network translated it."""
        return self.translations.get(system, {}).get(name)

    def counterpart(self, system: str) -> str:
        """The paper's system that does with unknown words what a system does."""
        return REPLACED if self.systems[system].replace_unknown else LIMITED


def read_results(
    *,
    systems: Mapping[str, Mapping[str, Any]],
    scores: Scores,
    significance: Mapping[str, str],
    translations: Mapping[str, Mapping[str, Sequence[str]]],
    curves: Mapping[str, Mapping[str, str]],
    epochs: Mapping[str, str],
    coverage: Path,
) -> AttentionResults:
    """Read the files of an experiment.

    systems: system -> ``System``; scores, significance: as in ``read_scores``; translations: system -> set -> what
    ``translate_attention`` measured, a file per run; curves: network -> ``curve``, its learning curve, ``model``, its
    folder, and ``keep``, the weights that were kept (``last``, if it is left out, or ``best``); epochs: network -> what
    ``measure_epochs`` wrote; coverage: the CSV of ``measure_candidates``.
    """
    if not systems:
        raise UserError("no system translates with an attention network, and there is nothing to report on; add one")
    for name in systems:
        if name not in scores:
            raise UserError(f"system {name!r} has no scores to report on; those that have are {', '.join(scores)}")
    return AttentionResults(
        systems={name: read_settings(System, values, f"systems.{name}") for name, values in systems.items()},
        cells=read_scores({name: scores[name] for name in systems}, significance),
        translations={
            system: {name: _read_translation(paths) for name, paths in sets.items()}
            for system, sets in translations.items()
        },
        trainings={name: _read_training(**files) for name, files in curves.items()},
        epochs={name: _read_epochs(Path(path)) for name, path in epochs.items()},
        coverage=read_coverage(Path(coverage)),
    )


def _read_translation(paths: Sequence[str]) -> Translation:
    runs = [(path, read_object(Path(path))) for path in paths]
    return Translation(*(fmean(value_in(path, run, key) for path, run in runs) for key in Translation._fields))


def _read_training(*, curve: str, model: str, keep: str = "last") -> Training:
    records = read_curve(curve)
    last = records[-1]
    perplexity = kept_perplexity(records, keep)
    return Training(
        parameters=count_parameters(Path(model)),
        updates=int(last["updates"]),
        seconds=float(last["seconds"]),
        words=int(last["words"]),
        perplexity=float(perplexity) if perplexity else None,
    )


def _read_epochs(path: Path) -> list[Epoch]:
    rows = read_csv(path)
    if not rows or not set(Epoch._fields) <= rows[0].keys():
        raise UserError(f"{path}: no table of epochs and their BLEU; run measure_epochs again")
    found = [
        Epoch(
            int(row["epoch"]),
            int(row["updates"]),
            float(row["perplexity"]) if row["perplexity"] else None,
            float(row["bleu"]),
        )
        for row in rows
    ]
    return sorted(found)
