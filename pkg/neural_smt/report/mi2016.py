"""An experiment beside the tables of Mi et al. (2016): tables as Markdown, all numbers as CSV, and Figure 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from matplotlib.ticker import MaxNLocator

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_settings
from neural_smt.io.files import write_lines
from neural_smt.io.plots import BLUE, GREY, RED, clean, drawing
from neural_smt.io.tables import read_frame, texts
from neural_smt.networks.folder import count_parameters
from neural_smt.report.comparison import (
    Comparison,
    Number,
    compare_orders,
    means_of_runs,
    with_figures,
    write_numbers,
)
from neural_smt.report.networks import TRAINING_FIGURES, read_training
from neural_smt.report.pages import render
from neural_smt.report.papers import Paper, load_paper
from neural_smt.report.scores import Scores, read_scores
from neural_smt.vocabulary_selection.coverage_steps import COLUMNS as COVERAGE
from neural_smt.vocabulary_selection.coverage_steps import PAPER as PAPER_COVERAGE
from neural_smt.vocabulary_selection.coverage_steps import PAPER_TOPS, TRAINING

PAPER = load_paper("mi2016.yaml")

LIMITED, REPLACED = "limited", "limited_unk"
"""The paper's system, as it writes unknown words and with these replaced."""

UNION = "V^P + V^D + V^T"
"""The sets that a sentence is decoded with."""

WANTED = 0.9
"""Share of the reference that the paper's default sets cover on its development set, and more."""

TOOK = (
    *("seconds", "sentences_per_second", "words", "unknown_words", "unfinished", "grown"),
    "mean_vocabulary",
)
"""What a network's translation of a set took, mean over runs: seconds of search; words, unknown_words: written by the
network, before any replacement; unfinished: sentences without an end; grown: those whose vocabulary had to grow;
mean_vocabulary: words that a sentence is predicted from.
"""

EPOCHS = ("epoch", "updates", "perplexity", "bleu")
"""A network after an epoch: updates so far, held-out perplexity (if it was measured), BLEU on tokens."""


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


@dataclass(frozen=True)
class Results(Comparison):
    """What the tables are made of.

    systems: further columns are ``TOOK``, NaN where no network translated; made: how each system translates;
    trainings: a row for each network, its ``parameters`` and ``TRAINING_FIGURES``; epochs: network -> a row of
    ``EPOCHS`` for each; coverage: see ``read_coverage``.
    """

    paper: ClassVar[Paper] = PAPER
    made: Mapping[str, System]
    trainings: pd.DataFrame
    epochs: Mapping[str, pd.DataFrame]
    coverage: pd.DataFrame

    @property
    def dev(self) -> str:
        """The development set."""
        return self.sets[0]

    def counterpart(self, system: str) -> str:
        """The paper's system that does with unknown words what a system does."""
        return REPLACED if self.made[system].replace_unknown else LIMITED

    @property
    def own_system(self) -> str | None:
        """The paper's system, or the same with unknown words replaced."""
        return next((name for name in (LIMITED, REPLACED) if name in self.made), None)


def write_attention_tables(
    *, files: dict, csv_output: Path, markdown_output: Path, plot: Path, remarks: str = "", title: str = ""
) -> None:
    """Write an experiment beside Tables 1 to 4 of Mi et al. (2016) and what its text has, and draw its Figure 2.

    files: arguments of ``read_results``; remarks: Markdown.
    """
    results = read_results(**files)
    lines = page(results, title, remarks)
    write_numbers(csv_output, all_numbers(results))
    draw_epochs(plot, results.epochs, results.dev)
    write_lines(markdown_output, lines)


def read_results(
    systems: Mapping[str, Mapping[str, Any]],
    scores: Scores,
    significance: Mapping[str, str],
    translations: Mapping[str, Mapping[str, Sequence[str]]],
    curves: Mapping[str, Mapping[str, str]],
    epochs: Mapping[str, str],
    coverage: str,
) -> Results:
    """Read the files of an experiment.

    systems: system -> ``System``; scores, significance: as in ``read_scores``; translations: system -> set -> what
    ``translate_attention`` measured, a file per run; curves: network -> ``curve``, its learning curve, ``model``, its
    folder, and ``keep``, the weights that were kept (``last`` or ``best``); epochs: network -> what
    ``measure_epochs`` wrote; coverage: the CSV of ``measure_candidates``.
    """
    if not systems:
        raise UserError("no system translates with an attention network, and there is nothing to report on; add one")
    for name in systems:
        if name not in scores:
            raise UserError(f"system {name!r} has no scores to report on; those that have are {', '.join(scores)}")
    measured = read_scores({name: scores[name] for name in systems}, significance)
    trainings = [
        read_training(files["curve"], files.get("keep", "last"))
        | {"parameters": count_parameters(Path(files["model"]))}
        for files in curves.values()
    ]
    return Results(
        with_figures(measured, means_of_runs(translations, TOOK), TOOK),
        {name: read_settings(System, values, f"systems.{name}") for name, values in systems.items()},
        pd.DataFrame(trainings, list(curves), ["parameters", *TRAINING_FIGURES]),
        {name: _read_epochs(Path(path)) for name, path in epochs.items()},
        read_coverage(Path(coverage)),
    )


def _read_epochs(path: Path) -> pd.DataFrame:
    rows = read_frame(path, EPOCHS, "run measure_epochs again")
    return rows[list(EPOCHS)].apply(pd.to_numeric).sort_values("epoch", ignore_index=True)


def read_coverage(path: Path) -> pd.DataFrame:
    """What sets of some parts hold of a text's references, from the CSV of ``measure_candidates``.

    Columns: ``text``; ``parts``; ``top``, n of V^D (NaN without V^D); ``coverage`` and ``known``, fractions of running
    words in the sets, and that the network knows; ``sentence`` and ``batch``, mean sizes; ``label``, as a table names
    the sets.
    """
    rows = read_frame(path, COVERAGE, "run measure_candidates again")
    numbers = rows.drop(columns=["text", "parts"]).apply(pd.to_numeric)
    known = numbers["known"] / numbers["reference_words"].clip(lower=1)
    found = numbers.rename(columns={"sentence_size": "sentence", "batch_size": "batch"}).assign(known=known)
    return found.assign(text=rows["text"], parts=rows["parts"], label=[*map(_label, rows["parts"], rows["top"])])


def _label(parts: str, top: str) -> str:
    return f"{parts} ({top})" if top else parts


def default_rows(coverage: pd.DataFrame, dev: str) -> pd.DataFrame:
    """V^P, V^D, both, and with V^T, of the development set and the default top n; then the sets of training.

    The default is what training has; where it has no V^D, the smallest n that was measured stands in its place. With
    the paper's figures beside each row, of its development set or of its training, NaN where it has none:
    ``paper_coverage`` in %, ``paper_sentence``, ``paper_batch``. Ours in % is ``percentage``; ``name``: of a row.
    """
    training = coverage[coverage["parts"] == TRAINING]
    tops = training["top"].dropna()
    top = tops.iloc[0] if len(tops) else coverage["top"].min()
    chosen = coverage["top"].isna() | (coverage["top"] == top)
    own = coverage[(coverage["text"] == dev) & (coverage["parts"] != TRAINING) & chosen]
    if UNION not in set(own["parts"]):
        raise UserError(f"the table of coverage has no row of {UNION} for '{dev}'; run measure_candidates again")
    rows = pd.concat([own, training])
    columns = ["paper_coverage", "paper_sentence", "paper_batch"]
    paper = pd.DataFrame([*map(_paper_sizes, rows["parts"], rows["top"])], rows.index, columns, dtype=float)
    names = rows["label"].where(rows["parts"] != TRAINING, rows["label"] + ", " + rows["text"])
    return rows.join(paper).assign(name=names, percentage=100 * rows["coverage"])


def _paper_sizes(parts: str, top: float) -> tuple[float | None, float | str | None, float | str | None]:
    if parts == TRAINING:
        return (None, *PAPER_COVERAGE["paper, train"][1:])
    figures, sentence, _ = PAPER_COVERAGE["paper, dev"]
    column = parts, None if pd.isna(top) else int(top)
    fractions = dict(zip(PAPER_TOPS, map(float, figures), strict=True))
    return fractions.get(column), sentence if column == (UNION, 10) else None, None


def page(results: Results, title: str, remarks: str = "") -> list[str]:
    """The page as lines of Markdown; rows without a system are left out, and tables without a row of their own."""
    coverage = default_rows(results.coverage, results.dev)
    union = coverage[coverage["parts"] == UNION].iloc[0]
    parts = coverage[coverage["parts"].isin(["V^P", "V^D"])]
    sizes, best, decoding = size_rows(results), best_rows(results), decoding_rows(results)
    known, failing = orders(results)
    return render(
        "mi2016.md",
        title=title,
        paper=PAPER,
        results=results,
        coverage=results.shown(coverage, "coverage"),
        union=union,
        above=parts[parts["coverage"] >= union["coverage"]].to_dict("records"),
        wanted=WANTED,
        sizes=results.shown(sizes, "sizes", left=0),
        size_rows=sizes.to_dict("records"),
        tables={name: _systems_table(results, name) for name in ("4", "Further")},
        orders=known,
        failing=failing,
        curves=results.shown(best, "curves"),
        best=best.set_index("network").to_dict("index"),
        training=results.shown(training_rows(results), "training"),
        decoding=results.shown(decoding[decoding["set"] == results.sets[-1]], "decoding", left=2),
        own=results.own_system or LIMITED,
        remarks=remarks,
    )


def size_rows(results: Results) -> pd.DataFrame:
    """The rows of Table 3 that there are beside the development set, none if only the default one is there.

    As the other rows do, the default one replaces unknown words or does not, if there is such a system.
    """
    rows = PAPER.rows("3")
    others = [name for name in rows["system"] if name in results.made and name != LIMITED]
    default = results.counterpart(others[0]) if others else LIMITED
    rows = rows.replace({"system": {LIMITED: default}})
    rows = rows[rows["system"].isin(results.made) & bool(others)]
    found = results.beside(rows, results.dev)
    return found.assign(here_frequent=[results.made[system].frequent for system in rows["system"]])


def table_rows(results: Results, name: str) -> pd.DataFrame:
    """The rows of Table 4, or ``Further``, that have a system; none if these are but what others are set beside.

    ``Further`` also has the systems that stand in no table of the paper's.
    """
    rows = results.rows(name)
    if name == "Further":
        others = [(system.label, other) for other, system in results.made.items() if other not in PAPER.systems]
        rows = pd.concat([rows, pd.DataFrame(others, columns=["label", "system"])], ignore_index=True)
    return rows[[not rows["system"].isin(PAPER.facts["familiar"][name]).all()] * len(rows)]


def _systems_table(results: Results, name: str) -> str:
    rows = results.beside(table_rows(results, name), results.sets[-1])
    unknown = zip(
        texts(rows["here_unknown_words"], ",.0f"),
        texts(100 * rows["here_unknown_words"] / rows["here_words"].clip(lower=1), ".1f"),
        strict=True,
    )
    unknown_words = [f"{count} ({part} %)" if count else "" for count, part in unknown]
    names = [results.made[system].label for system in rows["system"]]
    return results.shown(rows.assign(name=names, unknown=unknown_words), "systems", left=2)


def orders(results: Results) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The pairs of systems, lower and higher in the paper, that there are, and those whose mean BLEU over the test sets
    is not in this order.
    """
    parts = [(name, results.counterpart(name)) for name in PAPER.facts["parts"] if name in results.made]
    means = pd.Series({name: results.test_mean(name) for name in results.made})
    return compare_orders([*PAPER.facts["orders"], *parts], means)


def best_rows(results: Results) -> pd.DataFrame:
    """The epoch of the highest BLEU of each network, the first of several, beside the paper's; ``epochs``: the last."""
    figure_2 = PAPER.facts["figure_2"]
    rows = [
        {"network": network, **records.loc[records["bleu"].idxmax()], "epochs": records["epoch"].iloc[-1]}
        for network, records in results.epochs.items()
    ]
    found = pd.DataFrame(rows, columns=["network", *EPOCHS, "epochs"])
    own = found["network"] == figure_2["network"]
    paper = {f"paper_{name}": [figure_2[name] if one else None for one in own] for name in ("epoch", "bleu")}
    return found.assign(**paper)


def draw_epochs(path: Path, epochs: Mapping[str, pd.DataFrame], dev: str) -> None:
    """Draw BLEU (tokens) against epochs as PNG, a line per network; empty axes say that nothing was measured."""
    figure_2 = PAPER.facts["figure_2"]
    styles: dict[str, dict[str, Any]] = {
        figure_2["network"]: {"color": RED, "linestyle": "-", "zorder": 3},
        figure_2["fixed"]: {"color": BLUE, "linestyle": "--", "zorder": 3},
    }
    with drawing(path, 5.6, 4.0) as figure:
        axes = figure.subplots()
        others = [name for name in epochs if name not in styles]
        for name, records in epochs.items():
            style = styles.get(name) or {"color": GREY, "marker": "osD^vPX"[others.index(name) % 7]}
            axes.plot(records["epoch"], records["bleu"], **{"marker": "o", "markersize": 4, "label": name} | style)
        axes.set(xlabel="epoch", ylabel=f"BLEU (tokens), {dev}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if epochs:
            axes.legend(frameon=False, fontsize="small", loc="lower right")
        else:
            axes.text(0.5, 0.5, "no epoch was measured", ha="center", va="center", transform=axes.transAxes)
        clean(axes)


def training_rows(results: Results) -> pd.DataFrame:
    """The networks with how many times as long an update takes as that of the paper's network: ``slowdown``, NaN where
    there is none to compare with; ``paper``: the paper's, of a network that is trained with as many words for a batch
    as Jean et al. (2015) have.
    """
    rows, paper = results.trainings, PAPER.facts["training_slowdown"]
    own = results.made[results.own_system].network if results.own_system else None
    slow = {results.made[name].network for name in paper["systems"] if name in results.made}
    speeds = rows["updates_per_second"]
    return rows.assign(
        network=rows.index,
        slowdown=speeds.get(own, float("nan")) / speeds.clip(lower=1e-9),
        paper=[paper["factor"] if name in slow else None for name in rows.index],
    )


def decoding_rows(results: Results) -> pd.DataFrame:
    """What networks translated, by ``system`` and ``set``, with how many times as long a sentence takes as with the
    paper's system: ``slowdown``, NaN without that one.
    """
    rows = results.systems.dropna(subset="seconds").reset_index()
    speeds = rows["sentences_per_second"]
    own = rows[rows["system"] == results.own_system].set_index("set")["sentences_per_second"]
    return rows.assign(
        label=[results.made[system].label for system in rows["system"]],
        vocabulary=[results.made[system].vocabulary or "" for system in rows["system"]],
        slowdown=rows["set"].map(own) / speeds.clip(lower=1e-9),
    )


def all_numbers(results: Results) -> Iterator[Number]:
    """Every number of every table beside the paper's; tables have the names that the page gives them."""
    for row in default_rows(results.coverage, results.dev).itertuples():
        yield "1", row.label, "", row.text, "coverage", row.paper_coverage, row.percentage
        yield "2", row.label, "", row.text, "sentence_size", row.paper_sentence, row.sentence
        yield "2", row.label, "", row.text, "batch_size", row.paper_batch, row.batch
    for row in size_rows(results).itertuples():
        where = "3", f"N = {row.frequent}", row.system, row.set
        yield *where, "frequent", row.frequent, row.here_frequent
        yield *where, "bleu", row.bleu, row.here_sacrebleu
        yield *where, "mean_vocabulary", row.size, row.here_mean_vocabulary
    for name in ("4", "Further"):
        for row in results.beside_on_sets(table_rows(results, name)).itertuples():
            where = name, row.label, row.system, row.set
            yield *where, "bleu", row.paper, row.here_sacrebleu
            yield *where, "tokenised_bleu", row.paper, row.here_tokenised
            yield *where, "p_value", None, row.here_p_value
            if pd.notna(row.here_seconds):
                for quantity in ("mean_vocabulary", "words", "unknown_words", "seconds"):
                    yield *where, quantity, None, getattr(row, f"here_{quantity}")
    for best in best_rows(results).itertuples():
        where = "Figure 2", "best", best.network, results.dev
        yield *where, "epoch", best.paper_epoch, best.epoch
        yield *where, "tokenised_bleu", best.paper_bleu, best.bleu
        for epoch in results.epochs[best.network].itertuples():
            where = "Figure 2", f"epoch {epoch.epoch}", best.network, results.dev
            yield *where, "tokenised_bleu", None, epoch.bleu
            yield *where, "perplexity", None, epoch.perplexity
    for row in training_rows(results).itertuples():
        where = "Training", row.network, row.network, ""
        for quantity in ("parameters", "updates_per_second", "words_per_second", "perplexity"):
            yield *where, quantity, None, getattr(row, quantity)
        yield *where, "slowdown", row.paper, row.slowdown
    for row in decoding_rows(results).itertuples():
        where = "Decoding", row.label, row.system, row.set
        for quantity in ("sentences_per_second", "grown", "unfinished", "slowdown"):
            yield *where, quantity, None, getattr(row, quantity)
