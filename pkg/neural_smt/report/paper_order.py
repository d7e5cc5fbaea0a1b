"""Table 1 of Cho et al. (2014) beside an experiment: does each system gain what the paper's gained, and if not, why?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from neural_smt.errors import UserError
from neural_smt.io.files import MAKE_AGAIN, read_json, write_csv
from neural_smt.report.markdown import remark_lines, table_lines
from neural_smt.report.numbers import mean_text, p_value_text
from neural_smt.report.scores import Cell

PAPER = {
    "baseline": ("Baseline", 30.64, 33.30),
    "rnn": ("RNN", 31.20, 33.87),
    "cslm_rnn": ("CSLM + RNN", 31.48, 34.64),
    "cslm_rnn_wp": ("CSLM + RNN + WP", 31.50, 34.54),
}
"""Row -> its name in the paper, BLEU on newstest2012 and 2013 (its development set) and on newstest2014 (its test)."""

HEADER = ("set", "after", "before", "paper", "difference", "p_value", "holds")


class Step(NamedTuple):
    """From one row to the next on one set: the paper's difference in BLEU, ours and its p-value.

    before, after: rows of the paper; first: whether the set is the development set.
    """

    set_name: str
    first: bool
    before: str
    after: str
    paper: float
    difference: float
    p_value: float

    @property
    def holds(self) -> bool:
        """Whether ours has the paper's direction."""
        return self.difference * self.paper > 0


def read_steps(order: Mapping[str, str], rows: Mapping[str, str], dev: str) -> list[Step]:
    """The steps between neighbouring rows on every set.

    order: set -> what ``compare_neighbours`` wrote; rows: row of the paper -> system, in the paper's order; dev: the
    development set, compared with the paper's; all others are compared with its test set.
    """
    steps = []
    for name, path in order.items():
        compared = _compared(Path(path))
        for before, after in pairwise(rows):
            found = compared.get((rows[before], rows[after]))
            if found is None:
                raise UserError(f"{path}: does not compare {rows[after]} with {rows[before]}; run its step again")
            column = 1 if name == dev else 2
            paper = PAPER[after][column] - PAPER[before][column]
            steps.append(Step(name, name == dev, before, after, paper, found["delta"], found["p_value"]))
    return steps


def _compared(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What ``compare_neighbours`` wrote, by the systems before and after a step."""
    try:
        return {(step["before"], step["after"]): step for step in read_json(path)}
    except (TypeError, KeyError):
        raise UserError(f"{path}: no comparisons of neighbouring rows; {MAKE_AGAIN}") from None


def write_order(path: Path, steps: Sequence[Step]) -> None:
    """Write the steps as CSV."""
    rows = [
        (
            s.set_name,
            s.after,
            s.before,
            f"{s.paper:.2f}",
            f"{s.difference:.4f}",
            f"{s.p_value:.6f}",
            "yes" if s.holds else "no",
        )
        for s in steps
    ]
    write_csv(path, HEADER, rows)


def page(
    *,
    title: str,
    cells: Mapping[str, Mapping[str, Cell]],
    steps: Sequence[Step],
    diagnosis: Sequence[str],
    remarks: str,
) -> list[str]:
    """The page as lines of Markdown: scores beside the paper's, the steps, and, where one fails, the diagnosis.

    cells: row of the paper -> set -> scores.
    """
    sets = list(next(iter(cells.values())))
    lines = [f"# {title}", ""] if title else []
    header = ["Row", "Paper: dev", "test", *(text for name in sets for text in (f"{name}: sacreBLEU", "tokens"))]
    rows = [
        [
            PAPER[row][0],
            f"{PAPER[row][1]:.2f}",
            f"{PAPER[row][2]:.2f}",
            *(
                mean_text(values)
                for name in sets
                for values in (cells[row][name].sacrebleu, cells[row][name].tokenised)
            ),
        ]
        for row in cells
    ]
    lines += table_lines(header, rows)
    lines += [
        "",
        "Paper: Cho et al. (2014), Table 1; its data are others, so that differences compare and scores do not.",
        "",
    ]
    lines += table_lines(
        ["Step", "Set", "Paper", "Here", "p", "The paper's direction"],
        [
            [
                f"{PAPER[s.before][0]} → {PAPER[s.after][0]}",
                s.set_name,
                f"{s.paper:+.2f}",
                f"{s.difference:+.2f}",
                p_value_text(s.p_value),
                verdict(s),
            ]
            for s in steps
        ],
        left=2,
    )
    failing = [s for s in steps if not s.holds]
    lines += [
        "",
        "p: paired test of sacreBLEU over all tuning runs, each row against the one before.",
        "",
        summary(steps),
    ]
    if failing and diagnosis:
        lines += ["", "## Where to look for the reason", "", *(f"- {item}" for item in diagnosis)]
    remarked = remark_lines(remarks)
    return [*lines, "", *remarked] if remarked else lines


def verdict(step: Step) -> str:
    """In words, whether the step is the paper's, and whether chance explains it."""
    if step.p_value >= 0.05:
        return "yes, but not significant" if step.holds else "no, but not significant"
    return "yes" if step.holds else "no"


def summary(steps: Sequence[Step]) -> str:
    """One sentence: how many steps have the paper's direction, and which do not."""
    failing = [s for s in steps if not s.holds]
    if not failing:
        return f"All {len(steps)} steps have the paper's direction."
    named = ", ".join(f"{PAPER[s.before][0]} → {PAPER[s.after][0]} on {s.set_name}" for s in failing)
    return f"{len(steps) - len(failing)} of {len(steps)} steps have the paper's direction; not {named}."
