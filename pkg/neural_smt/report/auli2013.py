"""An experiment beside the tables of Auli et al. (2013): tables as Markdown, all numbers as CSV, and Figure 3."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import pandas as pd

from neural_smt.io.files import read_object
from neural_smt.io.plots import BLUE, GREY, clean, drawing
from neural_smt.io.tables import read_frame
from neural_smt.report.comparison import Comparison, Pairs, compare_orders, means_of_runs, write_numbers
from neural_smt.report.networks import of_sets
from neural_smt.report.pages import write_page
from neural_smt.report.papers import Paper, load_paper
from neural_smt.report.scores import Scores, p_value_text, read_scores

PAPER = load_paper("auli2013.yaml")

SYSTEM_TABLES = [name for name in PAPER.tables if name not in ("1", "6")]
"""Tables with a system in each row, and none of other kinds of numbers."""

FAMILIAR = {"baseline": "recurrent", "baseline_parallel": "target_only"}
"""Rows that other rows are set beside, with no table for them and their controls alone: the baselines of sections 4 and
5 -> the same with the recurrent language model of target words alone, on lattices, k = 1.
"""

PERPLEXITIES = ("perplexity", "here_perplexity")
"""The paper's and ours: columns that tables without any do not have."""

CHOICE = {"seconds_per_sentence": "seconds", "mean_recurrent": "log_probability"}
"""Figures of choosing among candidates, and the columns that they become."""


@dataclass(frozen=True)
class Results(Comparison):
    """What the tables are made of.

    systems: further columns are ``p_target``, of the paired bootstrap test against target-only of section 5 over all
    test sets, ``perplexity`` of the system's network (of the n-gram model for baselines), ``seconds`` a sentence to
    choose among candidates (for the baseline to search), ``log_probability``, mean ln p of the chosen translations
    under the recurrent model. oracles: set -> candidates -> oracle BLEU; languages: of source and target.
    """

    paper: ClassVar[Paper] = PAPER
    oracles: Mapping[str, Mapping[str, float]]
    languages: Sequence[str]

    @property
    def tables(self) -> list[str]:
        """``SYSTEM_TABLES`` of these languages."""
        own = list(self.languages)
        return [name for name in SYSTEM_TABLES if PAPER.tables[name].get("languages", own) == own]

    @property
    def candidates(self) -> pd.DataFrame:
        """The rows of Table 1 beside the last test set."""
        rows, name = self.rows("1"), self.sets[-1]
        return self.beside(rows, name).assign(here_oracle=rows["candidates"].map(self.oracles.get(name, {})))


def write_joint_tables(
    *, files: dict[str, Any], csv_output: Path, markdown_output: Path, plot: Path, remarks: str = "", title: str = ""
) -> None:
    """Write an experiment beside Tables 1 to 8 of Auli et al. (2013), and draw its Figure 3.

    files: arguments of ``read_results``; remarks: Markdown.
    """
    results = read_results(**files)
    write_numbers(csv_output, all_numbers(results))
    write_joint_page(markdown_output, results, title, remarks)
    draw_figure(plot, results)


def read_results(
    scores: Scores,
    significance: Mapping[str, str],
    target_only: str | None,
    perplexities: Mapping[str, str],
    choices: Mapping[str, Mapping[str, Sequence[str]]],
    searches: Mapping[str, Sequence[str]],
    oracles: Mapping[str, str],
    languages: Sequence[str],
) -> Results:
    """Read the files of an experiment.

    scores, significance: as in ``read_scores``; target_only: what ``compare`` wrote with target-only as the control;
    perplexities: system -> what ``measure_network`` wrote of its network, also of the n-gram model, which baselines
    have; choices: system -> set -> what ``rescore_lattices`` wrote, one file per run; searches: set -> what
    ``decode_lattices`` wrote; oracles: set -> the table of ``measure_oracles``.
    """
    chosen = means_of_runs({"baseline": searches} | dict(choices), list(CHOICE), optional=True).rename(columns=CHOICE)
    measured = {system: of_sets(Path(path)) for system, path in perplexities.items()}
    for baseline, system in FAMILIAR.items():
        measured[baseline] = {name: {"network": own["ngram"]} for name, own in measured.get(system, {}).items()}
    found = read_scores(scores, significance).join(chosen)
    known = {(system, name): own["network"] for system, sets in measured.items() for name, own in sets.items()}
    found["perplexity"] = pd.Series([known.get(place) for place in found.index], found.index, dtype=float)
    tested = {} if target_only is None else read_object(Path(target_only))
    values = [tested.get(system, {}).get("p_value") for system, _ in found.index]
    found["p_target"] = pd.Series(values, found.index, dtype=float)
    return Results(found, {name: _read_oracles(Path(path)) for name, path in oracles.items()}, languages)


def _read_oracles(path: Path) -> dict[str, float]:
    """Candidates -> BLEU of the corpus-level oracle (of the model's own choice for the 1-best)."""
    rows = read_frame(path, "candidates oracle", "bleu", "run measure_oracles again")
    rows = rows[rows["oracle"] != "sentence"]
    return dict(zip(rows["candidates"], rows["bleu"], strict=True))


def write_joint_page(path: Path, results: Results, title: str, remarks: str = "") -> None:
    """Write the page (Markdown); rows without a system are left out, and tables without a row of their own."""
    seconds = results.test["seconds"].dropna()
    known, failing = orders(results)
    write_page(
        path,
        "auli2013.md",
        title=title,
        set=results.sets[-1],
        runs=int(results.systems["runs"].max()),
        candidates=results.shown(results.candidates, "candidates") if len(results.candidates) > 1 else "",
        seconds={system: seconds.get(system) for system in ("baseline", "recurrent", "nbest_1000")},
        tables={name: _systems_table(results, name) for name in results.tables},
        paper=PAPER,
        orders=known,
        failing=failing,
        channel=_channel_table(results),
        whole=results.test_mean(results.own("baseline_parallel")),
        remarks=remarks,
    )


def _systems_table(results: Results, name: str) -> str:
    rows = results.beside(results.rows(name), results.sets[-1])
    if rows["system"].isin({*FAMILIAR, *FAMILIAR.values(), *PAPER.facts["controls"]}).all():
        return ""
    if rows["test"].isna().all():
        rows = rows.drop(columns=["dev", "test", "perplexity"])
    rows = rows.drop(columns=[name for name in PERPLEXITIES if name in rows and rows[name].isna().all()])
    return results.shown(rows.assign(p_target=[*map(p_value_text, rows["here_p_target"])]), "systems")


def _channel_table(results: Results) -> str:
    rows = PAPER.rows("6")
    rows = rows[rows[["forward_system", "both_system"]].isin(results.test.index).any(axis=1)]
    here = {f"here_{name}": rows[f"{name}_system"].map(results.test_mean) for name in ("forward", "both")}
    p_values = results.test["p_tests"].to_dict()
    for name in ("forward", "both"):
        here[f"p_{name}"] = rows[f"{name}_system"].map(p_values).map(p_value_text)
    return results.shown(rows.assign(**here), "channel")


def orders(results: Results) -> tuple[Pairs, Pairs]:
    """The pairs of systems, of lower and of higher perplexity in the paper, whose perplexity of the last test set is
    known, and those that are not in this order.
    """
    pairs = [[results.own(system) for system in pair] for pair in PAPER.facts["orders"]]
    return compare_orders(pairs, results.test["perplexity"])


def all_numbers(results: Results) -> Iterator[pd.DataFrame]:
    """Every number of every table beside the paper's."""
    yield results.numbers(results.candidates, "candidates")
    for name in results.tables:
        found = results.numbers(results.beside_on_sets(results.rows(name)), "systems", name)
        yield found[(found["quantity"] == "bleu") | (found["set"] == results.sets[-1])]
    channel = PAPER.rows("6").assign(set="tests")
    parts = []
    for name in ("forward", "both"):
        systems = channel[f"{name}_system"]
        own = channel.assign(system=systems, paper=channel[name], here=systems.map(results.test_mean))
        parts.append(results.numbers(own, "channel"))
    yield pd.concat(parts).sort_index(kind="stable").dropna(subset="here")


def draw_figure(path: Path, results: Results) -> None:
    """Figure 3: BLEU against the mean log-probability of the chosen translations, of lists and lattices."""
    place = ["here_log_probability", "here_sacrebleu"]
    rows = results.candidates.dropna(subset=place[:1]).round(dict(zip(place, (3, 2), strict=True)))
    with drawing(path, 5.6, 4.0) as figure:
        axes = figure.subplots()
        # rows that chose the same share a point
        for point, shared in cast(Any, rows.groupby(place, sort=False)):
            colour = BLUE if shared["candidates"].iloc[0] == "lattice" else GREY
            axes.plot(*point, "o", color=colour, markersize=7)
            label = "\n".join(shared["label"])
            axes.annotate(label, point, xytext=(6, 6), textcoords="offset points", fontsize=8)
        axes.set_xlabel("mean ln p of the translations under the recurrent model")
        axes.set_ylabel(f"sacreBLEU, {results.sets[-1]}")
        axes.margins(0.2)
        clean(axes)
