"""An experiment beside the tables of Mi et al. (2016): tables as Markdown, all numbers as CSV, and Figure 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
from matplotlib.ticker import MaxNLocator

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_settings
from neural_smt.io.files import read_object, write_lines
from neural_smt.io.plots import BLUE, GREY, RED, clean, drawing
from neural_smt.io.tables import formatted, markdown, read_frame, table, texts, write_frame
from neural_smt.networks.folder import count_parameters
from neural_smt.report.networks import Training
from neural_smt.report.papers import NUMBERS, load_paper
from neural_smt.report.rendering import render
from neural_smt.report.scores import Scores, p_value_text, read_scores, score_texts, set_names
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
class Results:
    """What the tables are made of; names of systems are those of the paper's tables, or others.

    systems; scores: as ``read_scores`` gives them; took: ``TOOK`` of each system and set (the index) that a network
    translated; trainings, parameters: of each network; epochs: network -> a row of ``EPOCHS`` for each; coverage:
    see ``read_coverage``.
    """

    systems: Mapping[str, System]
    scores: pd.DataFrame
    took: pd.DataFrame
    trainings: Mapping[str, Training]
    parameters: Mapping[str, int]
    epochs: Mapping[str, pd.DataFrame]
    coverage: pd.DataFrame

    @property
    def sets(self) -> list[str]:
        """The development set, then the test sets."""
        return set_names(self.scores)

    @property
    def dev(self) -> str:
        """The development set."""
        return self.sets[0]

    def bleu(self, system: str, name: str) -> float:
        """Mean BLEU of the runs on a set."""
        return self.scores["sacrebleu"][system][name]

    def test_mean(self, system: str) -> float:
        """Mean BLEU of the runs over all test sets."""
        return fmean(self.bleu(system, name) for name in self.sets[1:] or self.sets)

    def translation(self, systems: Sequence[str], name: str) -> pd.DataFrame:
        """``TOOK`` of systems on a set, NaN for those that are no network."""
        return self.took.reindex([(system, name) for system in systems])

    def counterpart(self, system: str) -> str:
        """The paper's system that does with unknown words what a system does."""
        return REPLACED if self.systems[system].replace_unknown else LIMITED

    @property
    def own_system(self) -> str | None:
        """The paper's system, or the same with unknown words replaced."""
        return next((name for name in (LIMITED, REPLACED) if name in self.systems), None)


def write_attention_tables(
    *,
    systems: dict,
    scores: dict,
    significance: dict,
    translations: dict,
    curves: dict,
    epochs: dict,
    coverage: Path,
    csv_output: Path,
    markdown_output: Path,
    plot: Path,
    remarks: str = "",
    title: str = "",
) -> None:
    """Write an experiment beside Tables 1 to 4 of Mi et al. (2016) and what its text has, and draw its Figure 2.

    The files are those of ``read_results``; remarks: Markdown.
    """
    results = read_results(systems, scores, significance, translations, curves, epochs, coverage)
    lines = page(results, title, remarks)
    numbers = pd.DataFrame(all_numbers(results), columns=NUMBERS, dtype=object)
    write_frame(csv_output, formatted(numbers, {"paper": ".6g", "here": ".6g"}))
    draw_epochs(plot, results.epochs, results.dev)
    write_lines(markdown_output, lines)


def read_results(
    systems: Mapping[str, Mapping[str, Any]],
    scores: Scores,
    significance: Mapping[str, str],
    translations: Mapping[str, Mapping[str, Sequence[str]]],
    curves: Mapping[str, Mapping[str, str]],
    epochs: Mapping[str, str],
    coverage: Path,
) -> Results:
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
    took = {}
    for system, sets in translations.items():
        for name, paths in sets.items():
            runs = [read_object(Path(path)) for path in paths]
            took[system, name] = {key: fmean(run[key] for run in runs) for key in TOOK}
    return Results(
        systems={name: read_settings(System, values, f"systems.{name}") for name, values in systems.items()},
        scores=read_scores({name: scores[name] for name in systems}, significance),
        took=pd.DataFrame(took.values(), pd.MultiIndex.from_tuples(took, names=["system", "set"]), TOOK),
        trainings={name: Training.read(files["curve"], files.get("keep", "last")) for name, files in curves.items()},
        parameters={name: count_parameters(Path(files["model"])) for name, files in curves.items()},
        epochs={name: _read_epochs(Path(path)) for name, path in epochs.items()},
        coverage=read_coverage(Path(coverage)),
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
    ``paper_coverage`` in %, ``paper_sentence``, ``paper_batch``.
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
    return rows.join(pd.DataFrame([*map(_paper_sizes, rows["parts"], rows["top"])], rows.index, columns, dtype=float))


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
    sizes = size_rows(results)
    best = {network: epochs.loc[epochs["bleu"].idxmax()] for network, epochs in results.epochs.items()}
    return render(
        "mi2016.md",
        title=title,
        paper=PAPER,
        results=results,
        coverage=markdown(_coverage_table(coverage, results.dev)),
        union=union,
        above=parts[parts["coverage"] >= union["coverage"]].to_dict("records"),
        wanted=WANTED,
        sizes=markdown(_sizes_table(results, sizes), left=0) if len(sizes) else "",
        size_rows=sizes.to_dict("records"),
        tables={name: _systems_table(results, name) for name in ("4", "Further")},
        orders=known_orders(results),
        failing=failing_orders(results),
        curves=markdown(_curves_table(results, best)) if best else "",
        best=best,
        training=_training_table(results),
        decoding=_decoding_table(results),
        own=results.own_system or LIMITED,
        remarks=remarks,
    )


def _coverage_table(rows: pd.DataFrame, dev: str) -> pd.DataFrame:
    labels = rows["label"].where(rows["parts"] != TRAINING, rows["label"] + ", " + rows["text"])
    return table(
        ("Sets", labels),
        ("Paper: coverage (%)", texts(rows["paper_coverage"], ".1f")),
        ("sentence", texts(rows["paper_sentence"], ".0f")),
        ("batch", texts(rows["paper_batch"], ".0f")),
        (f"{dev}: coverage (%)", texts(100 * rows["coverage"], ".1f")),
        ("sentence", texts(rows["sentence"], ".0f")),
        ("batch", texts(rows["batch"], ".0f")),
    )


def size_rows(results: Results) -> pd.DataFrame:
    """The rows of Table 3 that there are, none if only the default one is there.

    As the other rows do, the default one replaces unknown words or does not, if there is such a system.
    """
    rows = PAPER.rows("3")
    others = [name for name in rows["system"] if name in results.systems and name != LIMITED]
    default = results.counterpart(others[0]) if others else LIMITED
    rows = rows.replace({"system": {LIMITED: default}})
    return rows[rows["system"].isin(results.systems) & bool(others)]


def _sizes_table(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    frequent = [results.systems[system].frequent for system in rows["system"]]
    took = results.translation(rows["system"], results.dev)
    return table(
        ("Paper: N of V^T", texts(rows["frequent"], ",.0f")),
        ("BLEU", texts(rows["bleu"], ".2f")),
        ("words/sentence", texts(rows["size"], ",.0f")),
        (f"Here: N of V^T, {results.dev}", texts(frequent, ",.0f")),
        ("BLEU", score_texts(results.scores, rows["system"], results.dev)),
        ("words/sentence", texts(took["mean_vocabulary"], ",.0f")),
    )


def table_rows(results: Results, name: str) -> pd.DataFrame:
    """The rows of Table 4, or ``Further``, that have a system; none if these are but what others are set beside.

    ``Further`` also has the systems that stand in no table of the paper's.
    """
    rows = PAPER.rows(name)
    if name == "Further":
        others = [(system.label, other) for other, system in results.systems.items() if other not in PAPER.systems]
        rows = pd.concat([rows, pd.DataFrame(others, columns=["label", "system"])], ignore_index=True)
    rows = rows[rows["system"].isin(results.systems)]
    return rows[[not rows["system"].isin(PAPER.facts["familiar"][name]).all()] * len(rows)]


def _systems_table(results: Results, name: str) -> str:
    rows = table_rows(results, name)
    if rows.empty:
        return ""
    systems, sets = list(rows["system"]), results.sets
    took = results.translation(systems, sets[-1])
    unknown = zip(
        texts(took["unknown_words"], ",.0f"),
        texts(100 * took["unknown_words"] / took["words"].clip(lower=1), ".1f"),
        strict=True,
    )
    p_values = {each: results.scores["p_value"].xs(each, level="set")[systems] for each in sets[1:]}
    found = table(
        ("Row", rows["label"]),
        ("System", [results.systems[system].label for system in systems]),
        ("Paper: dev", texts(rows["dev"], ".2f")),
        ("test", texts(rows["test"], ".2f")),
        *((each, score_texts(results.scores, systems, each)) for each in sets),
        *((f"p, {each}", values.map(p_value_text)) for each, values in p_values.items()),
        (f"{sets[-1]}: words/sentence", texts(took["mean_vocabulary"], ",.0f")),
        ("UNK written", [f"{count} ({part} %)" if count else "" for count, part in unknown]),
        ("seconds", texts(took["seconds"], ".1f")),
    )
    return markdown(found, left=2)


def known_orders(results: Results) -> list[tuple[str, str]]:
    """The pairs of systems, lower and higher in the paper, that there are."""
    parts = [(name, results.counterpart(name)) for name in PAPER.facts["parts"] if name in results.systems]
    return [(low, high) for low, high in (*PAPER.facts["orders"], *parts) if {low, high} <= results.systems.keys()]


def failing_orders(results: Results) -> list[tuple[str, str]]:
    """Those of ``known_orders`` whose mean BLEU over the test sets is not in the paper's order."""
    return [(low, high) for low, high in known_orders(results) if results.test_mean(low) >= results.test_mean(high)]


def _curves_table(results: Results, best: Mapping[str, pd.Series]) -> pd.DataFrame:
    paper = [PAPER.facts["figure_2"] if name == PAPER.facts["figure_2"]["network"] else {} for name in best]
    return table(
        ("Network", best),
        ("Paper: best epoch", texts([figures.get("epoch") for figures in paper], "d")),
        ("BLEU", texts([figures.get("bleu") for figures in paper], ".2f")),
        (f"Here: best epoch, {results.dev}", texts([epoch["epoch"] for epoch in best.values()], ".0f")),
        ("BLEU", texts([epoch["bleu"] for epoch in best.values()], ".2f")),
        ("perplexity", texts([epoch["perplexity"] for epoch in best.values()], ".2f")),
        ("epochs", [str(results.epochs[name]["epoch"].iloc[-1]) for name in best]),
    )


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


def slowdown(results: Results, network: str) -> float | None:
    """How many times as long an update takes as that of the paper's network; None if there is none to compare with."""
    system = results.own_system
    own = results.trainings.get(results.systems[system].network or "") if system else None
    return own.updates_per_second / max(results.trainings[network].updates_per_second, 1e-9) if own else None


def paper_slowdown(results: Results, network: str) -> float | None:
    """The paper's, of the network that is trained with as many words for a batch as Jean et al. (2015) have."""
    paper = PAPER.facts["training_slowdown"]
    networks = [results.systems[name].network for name in paper["systems"] if name in results.systems]
    return paper["factor"] if network in networks else None


def sentence_slowdowns(results: Results, name: str) -> pd.Series:
    """How many times as long a sentence of a set takes as with the paper's system; NaN without that one."""
    speeds = results.took["sentences_per_second"].xs(name, level="set")
    return speeds.get(results.own_system or "", float("nan")) / speeds.clip(lower=1e-9)


def _training_table(results: Results) -> str:
    trainings = results.trainings
    if not trainings:
        return ""
    found = table(
        ("Network", trainings),
        ("Parameters", texts(results.parameters.values(), ",d")),
        ("Updates", texts([training.updates for training in trainings.values()], ",d")),
        ("Updates/s", texts([training.updates_per_second for training in trainings.values()], ".2f")),
        ("Words/s", texts([training.words_per_second for training in trainings.values()], ",.0f")),
        ("Paper: time of an update", texts([paper_slowdown(results, name) for name in trainings], ".1f")),
        ("here", texts([slowdown(results, name) for name in trainings], ".2f")),
        ("Held-out perplexity", texts([training.perplexity for training in trainings.values()], ".2f")),
    )
    return markdown(found)


def _decoding_table(results: Results) -> str:
    name = results.sets[-1]
    systems = [system for system in results.systems if (system, name) in results.took.index]
    if not systems:
        return ""
    took = results.translation(systems, name)
    found = table(
        ("System", [results.systems[system].label for system in systems]),
        ("Vocabulary", [results.systems[system].vocabulary or "" for system in systems]),
        ("words/sentence", texts(took["mean_vocabulary"], ",.0f")),
        ("Sentences/s", texts(took["sentences_per_second"], ".2f")),
        ("Time of a sentence", texts(sentence_slowdowns(results, name)[systems], ".2f")),
        ("Seconds", texts(took["seconds"], ".1f")),
        ("Grown", texts(took["grown"], ",.0f")),
        ("Unfinished", texts(took["unfinished"], ",.0f")),
    )
    return markdown(found, left=2)


Number = tuple[str, str, str, str, str, float | None, float | None]
"""Columns as ``NUMBERS``; tables have the names that the page gives them."""


def all_numbers(results: Results) -> Iterator[Number]:
    """Every number of every table beside the paper's."""
    for row in default_rows(results.coverage, results.dev).itertuples():
        yield "1", row.label, "", row.text, "coverage", row.paper_coverage, 100 * row.coverage
        yield "2", row.label, "", row.text, "sentence_size", row.paper_sentence, row.sentence
        yield "2", row.label, "", row.text, "batch_size", row.paper_batch, row.batch
    dev, took = results.dev, results.took
    for row in size_rows(results).itertuples():
        where = "3", f"N = {row.frequent}", row.system, dev
        yield *where, "frequent", row.frequent, results.systems[row.system].frequent
        yield *where, "bleu", row.bleu, results.bleu(row.system, dev)
        yield *where, "mean_vocabulary", row.size, took["mean_vocabulary"].get((row.system, dev))
    for name in ("4", "Further"):
        for row in table_rows(results, name).itertuples():
            yield from _of_system(results, name, row)
    yield from _of_networks(results)
    slowdowns = {name: sentence_slowdowns(results, name) for name in results.sets if len(took)}
    for system, facts in results.systems.items():
        for name in results.sets:
            if (system, name) in took.index:
                where = "Decoding", facts.label, system, name
                for quantity in ("sentences_per_second", "grown", "unfinished"):
                    yield *where, quantity, None, took[quantity][system, name]
                yield *where, "slowdown", None, slowdowns[name][system]


def _of_system(results: Results, table: str, row: Any) -> Iterator[Number]:
    for number, name in enumerate(results.sets):
        where, scores = (table, row.label, row.system, name), results.scores.loc[(row.system, name)]
        paper = row.test if number else row.dev
        yield *where, "bleu", paper, scores["sacrebleu"]
        yield *where, "tokenised_bleu", paper, scores["tokenised"]
        yield *where, "p_value", None, scores["p_value"]
        if (row.system, name) in results.took.index:
            for quantity in ("mean_vocabulary", "words", "unknown_words", "seconds"):
                yield *where, quantity, None, results.took[quantity][row.system, name]


def _of_networks(results: Results) -> Iterator[Number]:
    for network, epochs in results.epochs.items():
        best, figure_2 = epochs.loc[epochs["bleu"].idxmax()], PAPER.facts["figure_2"]
        paper = figure_2 if network == figure_2["network"] else {}
        yield "Figure 2", "best", network, results.dev, "epoch", paper.get("epoch"), best["epoch"]
        yield "Figure 2", "best", network, results.dev, "tokenised_bleu", paper.get("bleu"), best["bleu"]
        for epoch in epochs.itertuples():
            yield "Figure 2", f"epoch {epoch.epoch}", network, results.dev, "tokenised_bleu", None, epoch.bleu
            yield "Figure 2", f"epoch {epoch.epoch}", network, results.dev, "perplexity", None, epoch.perplexity
    for network, training in results.trainings.items():
        where = "Training", network, network, ""
        yield *where, "parameters", None, results.parameters[network]
        for quantity in ("updates_per_second", "words_per_second", "perplexity"):
            yield *where, quantity, None, getattr(training, quantity)
        yield *where, "slowdown", paper_slowdown(results, network), slowdown(results, network)
