"""An experiment beside the tables of Auli et al. (2013): tables as Markdown, all numbers as CSV, and Figure 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from neural_smt.io.files import read_object, write_lines
from neural_smt.io.plots import BLUE, GREY, clean, drawing
from neural_smt.io.tables import formatted, markdown, read_frame, table, texts, write_frame
from neural_smt.report.networks import of_sets
from neural_smt.report.papers import NUMBERS, load_paper
from neural_smt.report.rendering import render
from neural_smt.report.scores import Scores, p_value_text, read_scores, score_texts, set_names

PAPER = load_paper("auli2013.yaml")

TARGET_ONLY = "recurrent"
"""The system that others are tested against: the recurrent language model of target words alone, on lattices, k = 1."""

FAMILIAR = ("baseline", TARGET_ONLY)
"""Rows that other rows are set beside: no table is shown for them alone."""


@dataclass(frozen=True)
class Results:
    """What the tables are made of; names of systems are those of the paper's tables, those that there are.

    systems: a row for each system and set (the index), the development set first: what ``read_scores`` gives,
    ``p_value`` being that of the paired bootstrap test against target-only, and, NaN where there is none,
    ``perplexity`` of the system's network (of the n-gram model for the baseline), ``seconds`` a sentence to choose
    among candidates (for the baseline to search), ``log_probability``, mean ln p of the chosen translations under the
    recurrent model. oracles: set -> candidates -> oracle BLEU.
    """

    systems: pd.DataFrame
    oracles: Mapping[str, Mapping[str, float]]

    @property
    def sets(self) -> list[str]:
        """The development set, then the test sets."""
        return set_names(self.systems)

    @property
    def test(self) -> pd.DataFrame:
        """The systems on the last test set."""
        return self.systems.xs(self.sets[-1], level="set")

    def test_mean(self, system: str) -> float | None:
        """Mean BLEU of the runs over all test sets; None where there is no such system."""
        if system not in self.test.index:
            return None
        return fmean(self.systems["sacrebleu"][system][name] for name in self.sets[1:] or self.sets)

    def rows(self, name: str) -> pd.DataFrame:
        """The rows of one of the paper's tables that have a system."""
        found = PAPER.rows(name)
        return found[found["system"].isin(self.test.index)]


def write_joint_tables(
    *,
    scores: dict,
    significance: dict,
    perplexities: dict,
    choices: dict,
    searches: dict,
    oracles: dict,
    csv_output: Path,
    markdown_output: Path,
    plot: Path,
    remarks: str = "",
    title: str = "",
) -> None:
    """Write an experiment beside Tables 1, 2 and 5 to 8 of Auli et al. (2013), and draw its Figure 3.

    The files are those of ``read_results``; remarks: Markdown.
    """
    results = read_results(scores, significance, perplexities, choices, searches, oracles)
    numbers = pd.DataFrame(all_numbers(results), columns=NUMBERS)
    write_frame(csv_output, formatted(numbers, {"paper": ".6g", "here": ".6g"}))
    write_lines(markdown_output, page(results, title, remarks))
    draw_figure(plot, results)


def read_results(
    scores: Scores,
    significance: Mapping[str, str],
    perplexities: Mapping[str, str],
    choices: Mapping[str, Mapping[str, Sequence[str]]],
    searches: Mapping[str, Sequence[str]],
    oracles: Mapping[str, str],
) -> Results:
    """Read the files of an experiment.

    scores: as in ``read_scores``; significance: set -> what ``compare`` wrote with target-only as its baseline;
    perplexities: system -> what ``measure_network`` wrote of its network; choices: system -> set -> what
    ``rescore_lattices`` wrote, one file per run; searches: set -> what ``decode_lattices`` wrote; oracles: set -> the
    table of ``measure_oracles``.
    """
    measured = {system: of_sets(Path(path)) for system, path in perplexities.items()}
    perplexity = {
        (system, name): figures["network"] for system, sets in measured.items() for name, figures in sets.items()
    }
    for name, figures in measured.get(TARGET_ONLY, {}).items():
        perplexity["baseline", name] = figures["ngram"]
    chosen = _means({"baseline": searches} | dict(choices))
    tested = {name: read_object(Path(path)) for name, path in significance.items()}
    systems = read_scores(scores)
    p_values = {
        (system, name): content[system]["p_value"]
        for name, content in tested.items()
        for system in scores
        if all(system in other for other in tested.values())
    }
    columns = {
        "p_value": p_values,
        "perplexity": perplexity,
        "seconds": {key: found.get("seconds_per_sentence") for key, found in chosen.items()},
        "log_probability": {key: found.get("mean_recurrent") for key, found in chosen.items()},
    }
    found = {name: [values.get(key) for key in systems.index] for name, values in columns.items()}
    systems = systems.assign(**{name: pd.Series(values, systems.index, dtype=float) for name, values in found.items()})
    return Results(systems, {name: _read_oracles(Path(path)) for name, path in oracles.items()})


def _means(files: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[tuple[str, str], dict[str, float]]:
    """Means over runs of the numbers of every system and set that all runs have."""
    found = {}
    for system, sets in files.items():
        for name, paths in sets.items():
            runs = [read_object(Path(path)) for path in paths]
            common = [key for key in ("seconds_per_sentence", "mean_recurrent") if all(key in run for run in runs)]
            found[system, name] = {key: fmean(run[key] for run in runs) for key in common if runs}
    return found


def _read_oracles(path: Path) -> dict[str, float]:
    """Candidates -> BLEU of the corpus-level oracle (of the model's own choice for the 1-best)."""
    rows = read_frame(path, ["candidates", "oracle", "bleu"], "run measure_oracles again")
    rows = rows[rows["oracle"] != "sentence"]
    return dict(zip(rows["candidates"], rows["bleu"].astype(float), strict=True))


def page(results: Results, title: str, remarks: str = "") -> list[str]:
    """The page as lines of Markdown; rows without a system are left out, and tables without a row of their own."""
    tables = {name: _systems_table(results, name) for name in PAPER.tables if name not in ("1", "6")}
    seconds = results.test["seconds"].dropna()
    return render(
        "auli2013.md",
        title=title,
        set=results.sets[-1],
        candidates=_candidates_table(results),
        seconds={system: seconds.get(system) for system in ("baseline", TARGET_ONLY, "nbest_1000")},
        tables={name: markdown(found) for name, found in tables.items() if found is not None},
        paper=PAPER,
        orders=known_orders(results),
        failing=failing_orders(results),
        channel=_channel_table(results),
        whole=results.test_mean("baseline"),
        remarks=remarks,
    )


def _candidates_table(results: Results) -> str:
    rows, name = results.rows("1"), results.sets[-1]
    if len(rows) < 2:
        return ""
    found = table(
        ("Candidates", rows["label"]),
        ("Paper: BLEU", texts(rows["bleu"], ".2f")),
        ("oracle", texts(rows["oracle"], ".2f")),
        ("s/sentence", texts(rows["seconds"], ".3f")),
        (f"{name}: BLEU", score_texts(results.systems, rows["system"], name)),
        ("oracle", texts(_oracles(results, rows), ".2f")),
        ("s/sentence", texts(results.test["seconds"][rows["system"]], ".5f")),
    )
    return markdown(found)


def _oracles(results: Results, rows: pd.DataFrame) -> pd.Series:
    return rows["candidates"].map(results.oracles.get(results.sets[-1], {}))


def _systems_table(results: Results, name: str) -> pd.DataFrame | None:
    rows, sets = results.rows(name), results.sets
    if rows["system"].isin(FAMILIAR).all():
        return None
    columns: list[tuple[str, Any]] = [("Row", rows["label"])]
    if rows["test"].notna().any():
        numbers = (("Paper: dev", "dev", ".1f"), ("test", "test", ".1f"), ("PPL", "perplexity", ".0f"))
        columns += [(heading, texts(rows[column], spec)) for heading, column, spec in numbers]
    columns += [(each, score_texts(results.systems, rows["system"], each)) for each in sets]
    perplexities = results.test["perplexity"][rows["system"]]
    if perplexities.notna().any():
        columns.append((f"PPL of {sets[-1]}", texts(perplexities, ".2f")))
    for each in sets[1:]:
        columns.append(
            (f"p, {each}", results.systems["p_value"].xs(each, level="set")[rows["system"]].map(p_value_text))
        )
    return table(*columns)


def _channel_table(results: Results) -> str:
    rows = PAPER.rows("6")
    rows = rows[rows[["forward_system", "both_system"]].isin(results.test.index).any(axis=1)]
    if rows.empty:
        return ""
    found = table(
        ("Row", rows["label"]),
        ("Paper: - p(e|f)", texts(rows["forward"], ".1f")),
        ("- p(e|f), p(f|e)", texts(rows["both"], ".1f")),
        ("Here: - p(e|f)", texts(rows["forward_system"].map(results.test_mean), ".2f")),
        ("- p(e|f), p(f|e)", texts(rows["both_system"].map(results.test_mean), ".2f")),
    )
    return markdown(found)


def known_orders(results: Results) -> list[tuple[str, str]]:
    """The pairs of systems, of lower and of higher perplexity in the paper, whose perplexity is known."""
    known = results.test["perplexity"].dropna().index
    return [(lower, higher) for lower, higher in PAPER.facts["orders"] if {lower, higher} <= set(known)]


def failing_orders(results: Results) -> list[tuple[str, str]]:
    """Those of ``known_orders`` whose perplexities of the last test set are not in the paper's order."""
    perplexity = results.test["perplexity"]
    return [(lower, higher) for lower, higher in known_orders(results) if perplexity[lower] >= perplexity[higher]]


def all_numbers(results: Results) -> Iterator[tuple[str, str, str, str, str, float | None, float | None]]:
    """Every number of every table beside the paper's; columns as ``NUMBERS``."""
    test, rows = results.sets[-1], results.rows("1")
    for row, oracle in zip(rows.itertuples(), _oracles(results, rows), strict=True):
        here = results.test.loc[row.system]
        yield "1", row.label, row.system, test, "bleu", row.bleu, here["sacrebleu"]
        yield "1", row.label, row.system, test, "oracle", row.oracle, oracle
        yield "1", row.label, row.system, test, "seconds", row.seconds, here["seconds"]
    for name in PAPER.tables:
        if name in ("1", "6"):
            continue
        for row in results.rows(name).itertuples():
            for number, each in enumerate(results.sets):
                paper = row.test if number else row.dev
                yield name, row.label, row.system, each, "bleu", paper, results.systems["sacrebleu"][row.system][each]
            perplexity = results.test["perplexity"][row.system]
            yield name, row.label, row.system, test, "perplexity", row.perplexity, perplexity
    for row in PAPER.rows("6").itertuples():
        for system, paper in ((row.forward_system, row.forward), (row.both_system, row.both)):
            if (here := results.test_mean(system)) is not None:
                yield "6", row.label, system, "tests", "bleu", paper, here


def draw_figure(path: Path, results: Results) -> None:
    """Figure 3: BLEU against the mean log-probability of the chosen translations, of lists and lattices."""
    name = results.sets[-1]
    rows = results.rows("1").merge(results.test[["log_probability", "sacrebleu"]], left_on="system", right_index=True)
    rows = rows.dropna(subset="log_probability").round({"log_probability": 3, "sacrebleu": 2})
    with drawing(path, 5.6, 4.0) as figure:
        axes = figure.subplots()
        # rows that chose the same share a point
        for place, shared in rows.groupby(["log_probability", "sacrebleu"], sort=False):
            colour = BLUE if shared["candidates"].iloc[0] == "lattice" else GREY
            axes.plot(*place, "o", color=colour, markersize=7)
            label = "\n".join(shared["label"])
            axes.annotate(label, place, xytext=(6, 6), textcoords="offset points", fontsize=8)
        axes.set(xlabel="mean ln p of the translations under the recurrent model", ylabel=f"sacreBLEU, {name}")
        axes.margins(0.2)
        clean(axes)
