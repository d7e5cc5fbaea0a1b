"""An experiment beside the tables of Mi et al. (2016): tables as Markdown, all numbers as CSV, and Figure 2."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import pandas as pd
from matplotlib.ticker import MaxNLocator

from neural_smt.errors import UserError
from neural_smt.io.plots import BLUE, GREY, RED, clean, drawing
from neural_smt.io.tables import as_numbers, read_frame, texts
from neural_smt.networks.folder import count_parameters
from neural_smt.report.comparison import Comparison, Pairs, compare_orders, means_of_runs, write_numbers
from neural_smt.report.networks import TRAINING_FIGURES, read_training
from neural_smt.report.pages import write_page
from neural_smt.report.papers import Paper, load_paper
from neural_smt.report.scores import Scores, read_scores
from neural_smt.vocabulary_selection.coverage_steps import COLUMNS as COVERAGE
from neural_smt.vocabulary_selection.coverage_steps import PAPER as PAPER_COVERAGE
from neural_smt.vocabulary_selection.coverage_steps import TRAINING

PAPER = load_paper("mi2016.yaml")

LIMITED, REPLACED = "limited", "limited_unk"
"""The paper's system, as it writes unknown words and with these replaced."""

UNION = "V^P + V^D + V^T"
"""The sets that a sentence is decoded with."""

WANTED = 0.9
"""Fraction of the reference that the paper's default sets cover on its development set, and more."""

WRITTEN = ("mean_vocabulary", "words", "unknown_words", "seconds")
TOOK = (*WRITTEN, "sentences_per_second", "unfinished", "expanded")
"""What a network's translation of a set took, mean over runs: seconds of search; words, unknown_words: written by the
network, before any replacement; unfinished: sentences without an end; expanded: those whose vocabulary was expanded;
mean_vocabulary: words that a sentence is predicted from.
"""

MADE = ["label", "network", "vocabulary", "replace_unknown", "frequent"]
"""How a system is made: its name in tables, and of one that a network translates with the network, the name of the
candidate sets at decoding (``all`` for all words), whether unknown words are replaced, and N of V^T of its sets.
"""

EPOCHS = ("epoch", "updates", "perplexity", "bleu")
"""A network after an epoch: updates so far, held-out perplexity (text, if it was measured), BLEU on tokens."""


@dataclass(frozen=True)
class Results(Comparison):
    """What the tables are made of.

    systems: further columns are ``MADE`` and ``TOOK``, the latter NaN where no network translated; trainings: a row for
    each network, its ``parameters`` and ``TRAINING_FIGURES``; epochs: network -> a row of ``EPOCHS`` for each;
    coverage: see ``read_coverage``.
    """

    paper: ClassVar[Paper] = PAPER
    trainings: pd.DataFrame
    epochs: Mapping[str, pd.DataFrame]
    coverage: pd.DataFrame

    @property
    def dev(self) -> str:
        """The development set."""
        return self.sets[0]

    def counterpart(self, system: str) -> str:
        """The paper's system that does with unknown words what a system does."""
        return REPLACED if self.test["replace_unknown"][system] else LIMITED

    @property
    def own_system(self) -> str | None:
        """The paper's system, or the same with unknown words replaced."""
        return next((name for name in (LIMITED, REPLACED) if name in self.test.index), None)


def write_attention_tables(
    *, files: dict[str, Any], csv_output: Path, markdown_output: Path, plot: Path, remarks: str = "", title: str = ""
) -> None:
    """Write an experiment beside Tables 1 to 4 of Mi et al. (2016) and what its text has, and draw its Figure 2.

    files: arguments of ``read_results``; remarks: Markdown.
    """
    results = read_results(**files)
    write_attention_page(markdown_output, results, title, remarks)
    write_numbers(csv_output, all_numbers(results))
    draw_epochs(plot, results.epochs, results.dev)


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

    systems: system -> those of ``MADE`` that it has; scores, significance: as in ``read_scores``; translations: system
    -> set -> what ``translate_attention`` measured, a file per run; curves: network -> ``curve``, its learning curve,
    ``model``, its folder, and ``held_out``, what is told of its held-out perplexity; epochs: network -> what
    ``measure_epochs`` wrote; coverage: the CSV of ``measure_candidates``.
    """
    if not systems:
        raise UserError("no system translates with an attention network, and there is nothing to report on; add one")
    measured = read_scores({name: scores[name] for name in systems}, significance)
    made = pd.DataFrame([systems[name] for name in systems], list(systems), MADE)
    made["replace_unknown"] = made["replace_unknown"].eq(True)
    trainings = [
        read_training(files["curve"], files["held_out"]) | {"parameters": count_parameters(Path(files["model"]))}
        for files in curves.values()
    ]
    return Results(
        measured.join(means_of_runs(translations, TOOK)).join(made, on="system"),
        pd.DataFrame(trainings, list(curves), ["parameters", *TRAINING_FIGURES]),
        {name: _read_epochs(Path(path)) for name, path in epochs.items()},
        read_coverage(Path(coverage)),
    )


def _read_epochs(path: Path) -> pd.DataFrame:
    rows = read_frame(path, "perplexity", "epoch updates bleu", "run measure_epochs again")
    return rows[list(EPOCHS)].astype({"epoch": int}).sort_values("epoch", ignore_index=True)


def read_coverage(path: Path) -> pd.DataFrame:
    """What sets of some parts hold of a text's references, from the CSV of ``measure_candidates``.

    Columns: ``text``; ``parts``; ``top``, n of V^D (NaN without V^D); ``coverage`` and ``known``, fractions of running
    words in the sets, and that the network knows; ``sentence`` and ``batch``, mean sizes; ``label``, as a table names
    the sets.
    """
    advice = "run measure_candidates again"
    rows = read_frame(path, "text parts top", " ".join(COVERAGE[3:]), advice)
    numbers = rows.drop(columns=["text", "parts"]).assign(top=as_numbers(rows["top"], path, advice))
    known = numbers["known"] / numbers["reference_words"].clip(lower=1)
    found = numbers.rename(columns={"sentence_size": "sentence", "batch_size": "batch"}).assign(known=known)
    label = rows["parts"] + rows["top"].map(lambda top: f" ({top})" if top else "")
    return found.assign(text=rows["text"], parts=rows["parts"], label=label)


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
    names = rows["label"].where(rows["parts"] != TRAINING, rows["label"] + ", " + rows["text"])
    rows = rows.assign(name=names, percentage=100 * rows["coverage"])
    paper = PAPER_COVERAGE[PAPER_COVERAGE["text"].eq("paper, dev") | PAPER_COVERAGE["parts"].eq(TRAINING)]
    keys = rows[["parts", "top"]].assign(top=rows["top"].where(rows["parts"] != TRAINING))
    found = keys.merge(paper, "left").set_axis(rows.index)[["percentage", "sentence_size", "batch_size"]]
    return rows.join(found.set_axis(["paper_coverage", "paper_sentence", "paper_batch"], axis=1))


def write_attention_page(path: Path, results: Results, title: str, remarks: str = "") -> None:
    """Write the page (Markdown); rows without a system are left out, and tables without a row of their own."""
    coverage = default_rows(results.coverage, results.dev)
    union = coverage[coverage["parts"] == UNION].iloc[0]
    parts = coverage[coverage["parts"].isin(["V^P", "V^D"])]
    sizes, best, decoding = size_rows(results), best_rows(results), decoding_rows(results)
    known, failing = orders(results)
    write_page(
        path,
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
    others = [name for name in rows["system"] if name in results.test.index and name != LIMITED]
    default = results.counterpart(others[0]) if others else LIMITED
    rows = rows.replace({"system": {LIMITED: default}})
    return results.beside(rows[rows["system"].isin(results.test.index) & bool(others)], results.dev)


def table_rows(results: Results, name: str) -> pd.DataFrame:
    """The rows of Table 4, or ``Further``, that have a system; none if these are but what others are set beside.

    ``Further`` also has the systems that stand in no table of the paper's.
    """
    rows = results.rows(name)
    if name == "Further":
        others = [(label, system) for system, label in results.test["label"].items() if system not in PAPER.systems]
        rows = pd.concat([rows, pd.DataFrame(others, columns=["label", "system"])], ignore_index=True)
    return rows.iloc[:0] if rows["system"].isin(PAPER.facts["familiar"][name]).all() else rows


def _systems_table(results: Results, name: str) -> str:
    rows = results.beside(table_rows(results, name), results.sets[-1])
    unknown, words = rows["here_unknown_words"], rows["here_words"].clip(lower=1)
    counts, shares = texts(unknown, ",.0f"), texts(100 * unknown / words, ".1f")
    written = [f"{count} ({share} %)" if count else "" for count, share in zip(counts, shares, strict=True)]
    return results.shown(rows.assign(unknown=written), "systems", left=2)


def orders(results: Results) -> tuple[Pairs, Pairs]:
    """The pairs of systems, lower and higher in the paper, that there are, and those whose mean BLEU over the test sets
    is not in this order.
    """
    parts = [(name, results.counterpart(name)) for name in PAPER.facts["parts"] if name in results.test.index]
    means = pd.Series({name: results.test_mean(name) for name in results.test.index})
    return compare_orders([*PAPER.facts["orders"], *parts], means)


def best_rows(results: Results) -> pd.DataFrame:
    """The epoch of the highest BLEU of each network, the first of several, beside the paper's; ``epochs``: the last."""
    figure_2 = PAPER.facts["figure_2"]
    rows = [
        {"network": network, **records.loc[cast(int, records["bleu"].idxmax())], "epochs": records["epoch"].iloc[-1]}
        for network, records in results.epochs.items()
    ]
    found = pd.DataFrame(rows, columns=["network", *EPOCHS, "epochs"])
    own = found["network"] == figure_2["network"]
    paper: Any = {f"paper_{name}": [figure_2[name] if one else None for one in own] for name in ("epoch", "bleu")}
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
            style: dict[str, Any] = {"marker": "o", "markersize": 4, "label": name}
            style |= styles.get(name) or {"color": GREY, "marker": "osD^vPX"[others.index(name) % 7]}
            axes.plot(records["epoch"], records["bleu"], **style)
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
    networks = results.test["network"]
    own, slow = networks.get(results.own_system), set(networks.reindex(paper["systems"]))
    speeds = rows["updates_per_second"]
    factors: list[Any] = [paper["factor"] if name in slow else None for name in rows.index]
    return rows.assign(
        network=rows.index, slowdown=speeds.get(own, float("nan")) / speeds.clip(lower=1e-9), paper=factors
    )


def decoding_rows(results: Results) -> pd.DataFrame:
    """What networks translated, by ``system`` and ``set``, with how many times as long a sentence takes as with the
    paper's system: ``slowdown``, NaN without that one.
    """
    rows = results.systems.dropna(subset="seconds").reset_index()
    speeds = rows["sentences_per_second"]
    own = rows[rows["system"] == results.own_system].set_index("set")["sentences_per_second"]
    return rows.assign(slowdown=rows["set"].map(own) / speeds.clip(lower=1e-9))


def all_numbers(results: Results) -> Iterator[pd.DataFrame]:
    """Every number of every table beside the paper's; tables have the names that the page gives them."""
    coverage = default_rows(results.coverage, results.dev).assign(set=lambda rows: rows["text"])
    yield results.numbers(coverage, "coverage")
    sizes = size_rows(results)
    yield results.numbers(sizes.assign(label="N = " + sizes["frequent"].astype(str)), "sizes")
    for name in ("4", "Further"):
        found = results.numbers(results.beside_on_sets(table_rows(results, name)), "systems", name)
        yield found[~found["quantity"].isin(WRITTEN) | found["here"].notna()]
    for _, best in best_rows(results).iterrows():
        figure = {"system": best["network"], "set": results.dev}
        yield results.numbers(pd.DataFrame([best]).assign(label="best", **figure), "best")
        epochs = results.epochs[best["network"]]
        yield results.numbers(epochs.assign(label="epoch " + epochs["epoch"].astype(str), **figure), "epochs")
    training = training_rows(results)
    yield results.numbers(training.assign(label=training["network"], system=training["network"]), "training")
    yield results.numbers(decoding_rows(results), "decoding")
