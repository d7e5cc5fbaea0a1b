"""An experiment beside the tables of Auli et al. (2013): every table as Markdown, all numbers as CSV, and Figure 3."""

from __future__ import annotations

from pathlib import Path

from neural_smt.io.files import write_csv
from neural_smt.report.auli2013 import (
    BOTH,
    CANDIDATES,
    CHANNEL,
    FORWARD,
    PERPLEXITY_ORDER,
    TABLES,
    TARGET_ONLY,
    CandidatesRow,
)
from neural_smt.report.joint_results import JointResults
from neural_smt.report.markdown import remark_lines, table_lines
from neural_smt.report.numbers import number_text, p_value_text, plain_text, score_text
from neural_smt.report.paper import HEADER, PaperTable
from neural_smt.report.plots import BLUE, GREY, clean, drawing
from neural_smt.report.scores import mean


def page(results: JointResults, title: str, remarks: str = "") -> list[str]:
    """The page as lines of Markdown; rows without a system are left out, and tables without a row of their own."""
    lines = [f"# {title}", ""] if title else []
    lines += [
        "Paper: Auli et al. (2013), French-English. Its data are others, so differences compare and scores do not. "
        "BLEU here is sacreBLEU, mean ± standard deviation over tuning runs.",
        "",
    ]
    lines += _candidates(results)
    for table in TABLES[:2]:
        lines += _systems(results, table)
    lines += _order(results)
    lines += _channel(results)
    for table in TABLES[2:]:
        lines += _systems(results, table)
    return lines + remark_lines(remarks)


def _candidates(results: JointResults) -> list[str]:
    rows = [row for row in CANDIDATES if row.system in results.cells]
    if len(rows) < 2:
        return []
    name = results.sets[-1]
    found = [
        [
            row.label,
            f"{row.bleu:.2f}",
            number_text(row.oracle, 2),
            f"{row.seconds:.3f}",
            score_text(results.cells[row.system][name]),
            number_text(results.oracles.get(name, {}).get(row.candidates), 2),
            number_text(results.seconds.get(row.system, {}).get(name), 5),
        ]
        for row in rows
    ]
    header = ["Candidates", "Paper: BLEU", "oracle", "s/sentence", f"{name}: BLEU", "oracle", "s/sentence"]
    note = "Seconds are those of one thread, beside the search; of the search for the baseline. " + _overhead(results)
    return ["## Table 1: lists and lattices", "", *table_lines(header, found), "", note.strip(), ""]


def _overhead(results: JointResults) -> str:
    name = results.sets[-1]
    own = results.seconds.get(TARGET_ONLY, {}).get(name)
    search = results.seconds.get("baseline", {}).get(name)
    if not own or not search:
        return ""
    text = f"Lattices at k = 1 add {100 * own / search:.0f} % to the search (paper: 54 %)"
    thousand = results.seconds.get("nbest_1000", {}).get(name)
    return text + (f" and take {thousand / own:.0f} times less than 1,000-best lists (paper: 42)." if thousand else ".")


def _systems(results: JointResults, table: PaperTable) -> list[str]:
    rows = [row for row in table.rows if row.system in results.cells]
    if len([row for row in rows if row.system not in ("baseline", TARGET_ONLY)]) < 1:
        return []
    sets = results.sets
    on_paper = any(row.test is not None for row in rows)
    perplexity = any(results.perplexity(row.system, sets[-1]) is not None for row in rows)
    header = ["Row", *(["Paper: dev", "test", "PPL"] if on_paper else []), *sets]
    header += ["PPL of " + sets[-1]] if perplexity else []
    header += [f"p, {name}" for name in sets[1:]]
    found = []
    for row in rows:
        cells = [row.label]
        if on_paper:
            cells += [number_text(row.dev, 1), number_text(row.test, 1), number_text(row.perplexity, 0)]
        cells += [score_text(results.cells[row.system][name]) for name in sets]
        cells += [number_text(results.perplexity(row.system, sets[-1]), 2)] if perplexity else []
        cells += [p_value_text(results.p_values.get(row.system, {}).get(name)) for name in sets[1:]]
        found.append(cells)
    notes = [table.note, ""] if table.note else []
    tested = ["p: paired bootstrap against target-only, all tuning runs.", ""]
    return [f"## {table.heading}", "", *table_lines(header, found), "", *notes, *tested]


def _channel(results: JointResults) -> list[str]:
    rows = [row for row in CHANNEL if FORWARD + row.system in results.cells or BOTH + row.system in results.cells]
    if not rows:
        return []
    found = [
        [
            row.label,
            f"{row.forward:.1f}",
            f"{row.both:.1f}",
            *(number_text(results.test_mean(prefix + row.system), 2) for prefix in (FORWARD, BOTH)),
        ]
        for row in rows
    ]
    header = ["Row", "Paper: - p(e|f)", "- p(e|f), p(f|e)", "Here: - p(e|f)", "- p(e|f), p(f|e)"]
    whole = number_text(results.test_mean("baseline"), 2)
    note = f"BLEU, mean of the test sets; with all channel scores the baseline has {whole} (paper: 24.7)."
    return ["## Table 6: the joint model in place of channel scores", "", *table_lines(header, found), "", note, ""]


def failing_orders(results: JointResults) -> list[tuple[str, str]]:
    """The pairs of systems whose perplexities of the last test set are not in the paper's order."""
    name = results.sets[-1]
    found = []
    for lower, higher in PERPLEXITY_ORDER:
        pair = results.perplexity(lower, name), results.perplexity(higher, name)
        if None not in pair and pair[0] >= pair[1]:
            found.append((lower, higher))
    return found


def _order(results: JointResults) -> list[str]:
    name = results.sets[-1]
    known = [p for p in PERPLEXITY_ORDER if all(results.perplexity(system, name) is not None for system in p)]
    if not known:
        return []
    failing = failing_orders(results)
    if not failing:
        return [f"All {len(known)} orders of perplexity are the paper's.", ""]
    named = ", ".join(f"{lower} is not below {higher}" for lower, higher in failing)
    return [f"{len(known) - len(failing)} of {len(known)} orders of perplexity are the paper's: {named}.", ""]


def write_numbers(path: Path, results: JointResults) -> None:
    """Write every number of every table beside the paper's as CSV, one a line."""
    rows: list[tuple[object, ...]] = []
    test = results.sets[-1]
    for row in CANDIDATES:
        if row.system in results.cells:
            numbers = {
                "bleu": (row.bleu, mean(results.cells[row.system][test].sacrebleu)),
                "oracle": (row.oracle, results.oracles.get(test, {}).get(row.candidates)),
                "seconds": (row.seconds, results.seconds.get(row.system, {}).get(test)),
            }
            rows += [("1", row.label, row.system, test, key, *map(plain_text, pair)) for key, pair in numbers.items()]
    for table in TABLES:
        for row in table.rows:
            if row.system not in results.cells:
                continue
            for number, name in enumerate(results.sets):
                ours = mean(results.cells[row.system][name].sacrebleu)
                paper = row.test if number else row.dev
                rows.append((table.name, row.label, row.system, name, "bleu", plain_text(paper), plain_text(ours)))
            ours = results.perplexity(row.system, test)
            rows.append(
                (table.name, row.label, row.system, test, "perplexity", plain_text(row.perplexity), plain_text(ours))
            )
    for row in CHANNEL:
        for prefix, paper in ((FORWARD, row.forward), (BOTH, row.both)):
            system = prefix + row.system
            if system in results.cells:
                rows.append(
                    ("6", row.label, system, "tests", "bleu", plain_text(paper), plain_text(results.test_mean(system)))
                )
    write_csv(path, HEADER, rows)


def draw_figure(path: Path, results: JointResults) -> None:
    """Figure 3: BLEU against the mean log-probability of the chosen translations, of lists and lattices."""
    name = results.sets[-1]
    points: dict[tuple[float, float], list[CandidatesRow]] = {}  # rows that chose the same share a point
    for row in CANDIDATES:
        chance = results.log_probabilities.get(row.system, {}).get(name)
        if row.system in results.cells and chance is not None:
            place = round(chance, 3), round(mean(results.cells[row.system][name].sacrebleu), 2)
            points.setdefault(place, []).append(row)
    with drawing(path, 5.6, 4.0) as figure:
        axes = figure.subplots()
        for place, rows in points.items():
            axes.plot(*place, "o", color=BLUE if rows[0].candidates == "lattice" else GREY, markersize=7)
            label = "\n".join(row.label for row in rows)
            axes.annotate(label, place, xytext=(6, 6), textcoords="offset points", fontsize=8)
        axes.set(xlabel="mean ln p of the translations under the recurrent model", ylabel=f"sacreBLEU, {name}")
        axes.margins(0.2)
        clean(axes)
