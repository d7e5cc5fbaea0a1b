"""An experiment beside the tables of Mi et al. (2016), as a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from neural_smt.report.attention_coverage import coverage_lines
from neural_smt.report.attention_curves import curve_lines
from neural_smt.report.attention_results import AttentionResults, Translation
from neural_smt.report.attention_speed import speed_lines
from neural_smt.report.markdown import remark_lines, table_lines
from neural_smt.report.mi2016 import (
    FAMILIAR,
    FURTHER,
    LIMITED,
    ORDERS,
    PARTS,
    SIZES,
    SYSTEMS,
    SizeRow,
    paper_systems,
)
from neural_smt.report.numbers import number_text, p_value_text, score_text
from neural_smt.report.paper import PaperRow, PaperTable
from neural_smt.report.scores import mean


def page(results: AttentionResults, title: str, remarks: str = "") -> list[str]:
    """The page as lines of Markdown; rows without a system are left out, and tables without a row of their own."""
    lines = [f"# {title}", ""] if title else []
    lines += [
        "Paper: Mi et al. (2016), English-French, 12 million sentence pairs, BLEU on tokens. Its data are others, so "
        "differences compare and scores do not. BLEU here is sacreBLEU unless it says otherwise: mean ± standard "
        "deviation over tuning runs where weights are tuned, of one run where a network translates alone.",
        "",
    ]
    lines += coverage_lines(results.coverage, results.dev)
    lines += _sizes(results)
    lines += _systems(results, SYSTEMS)
    lines += _order(results)
    lines += _systems(results, further_table(results))
    lines += curve_lines(results.epochs, results.dev)
    lines += speed_lines(results)
    return lines + remark_lines(remarks)


def size_rows(results: AttentionResults) -> list[SizeRow]:
    """The rows of Table 3 that there are, none if only the default one is there.

    As the other rows do, the default one replaces unknown words or does not, if there is such a system.
    """
    rows = [row for row in SIZES if row.system in results.systems]
    others = [row for row in rows if row.system != LIMITED]
    if not others:
        return []
    default = results.counterpart(others[0].system)
    chosen = [row._replace(system=default) if row.system == LIMITED else row for row in SIZES]
    return [row for row in chosen if row.system in results.systems]


def _sizes(results: AttentionResults) -> list[str]:
    rows = size_rows(results)
    if not rows:
        return []
    header = ["Paper: N of V^T", "BLEU", "words/sentence", f"Here: N of V^T, {results.dev}", "BLEU", "words/sentence"]
    found = []
    for row in rows:
        own = results.systems[row.system].frequent
        found.append(
            [
                f"{row.frequent:,}",
                f"{row.bleu:.2f}",
                f"{row.size:,}",
                "" if own is None else f"{own:,}",
                score_text(results.cells[row.system][results.dev]),
                _words_a_sentence(results.translation(row.system, results.dev)),
            ]
        )
    notes = ["The network is trained with the default N and decoded with others, on the development set."]
    if {50, 2000} <= {row.frequent for row in rows}:
        few, many = (next(row for row in rows if row.frequent == count) for count in (50, 2000))
        ours = [mean(results.cells[row.system][results.dev].sacrebleu) for row in (few, many)]
        change = f"{ours[0] - ours[1]:+.2f} (paper: {few.bleu - many.bleu:+.2f})"
        notes.append(f"From the default to the smallest N, BLEU changes by {change}.")
    if not results.systems[rows[0].system].replace_unknown:
        notes.append("The paper's numbers are with unknown words replaced, these are not.")
    title = "## Table 3: decoding with other numbers of most frequent words"
    return [title, "", *table_lines(header, found, left=0), "", " ".join(notes), ""]


def further_table(results: AttentionResults) -> PaperTable:
    """``FURTHER``, and what stands in no table of the paper's."""
    others = [PaperRow(system.label, name) for name, system in results.systems.items() if name not in paper_systems()]
    return FURTHER._replace(rows=(*FURTHER.rows, *others))


def table_rows(results: AttentionResults, table: PaperTable) -> list[PaperRow]:
    """The rows that have a system; none if these are but what others are set beside."""
    rows = [row for row in table.rows if row.system in results.systems]
    return rows if any(row.system not in _familiar(table) for row in rows) else []


def _familiar(table: PaperTable) -> Sequence[str]:
    """In Table 4 the paper's own systems are what it is about."""
    return FAMILIAR[:1] if table is SYSTEMS else FAMILIAR


def _systems(results: AttentionResults, table: PaperTable) -> list[str]:
    rows = table_rows(results, table)
    if not rows:
        return []
    sets, last = results.sets, results.sets[-1]
    header = ["Row", "System", "Paper: dev", "test", *sets, *(f"p, {name}" for name in sets[1:])]
    header += [f"{last}: words/sentence", "UNK written", "seconds"]
    found = []
    for row in rows:
        cells, took = results.cells[row.system], results.translation(row.system, last)
        found.append(
            [
                row.label,
                results.systems[row.system].label,
                number_text(row.dev, 2),
                number_text(row.test, 2),
                *(score_text(cells[name]) for name in sets),
                *(p_value_text(cells[name].p_value) for name in sets[1:]),
                _words_a_sentence(took),
                _unknown(took),
                "" if took is None else f"{took.seconds:.1f}",
            ]
        )
    notes = (
        "p: paired test against the baseline, all runs. Words/sentence: those that a sentence is predicted from, on "
        "average. UNK written: by the network, before any replacement. Seconds: of the search."
    )
    return [f"## {table.heading}", "", *table_lines(header, found, left=2), "", table.note, "", notes, ""]


def _words_a_sentence(took: Translation | None) -> str:
    return "" if took is None else f"{took.mean_vocabulary:,.0f}"


def _unknown(took: Translation | None) -> str:
    if took is None:
        return ""
    return f"{took.unknown_words:,.0f} ({100 * took.unknown_words / max(took.words, 1):.1f} %)"


def known_orders(results: AttentionResults) -> list[tuple[str, str]]:
    """The pairs of systems, lower and higher in the paper, that there are."""
    parts = [(name, results.counterpart(name)) for name in PARTS if name in results.systems]
    return [pair for pair in (*ORDERS, *parts) if set(pair) <= results.systems.keys()]


def failing_orders(results: AttentionResults) -> list[tuple[str, str]]:
    """Those of ``known_orders`` whose mean BLEU over the test sets is not in the paper's order."""
    return [(low, high) for low, high in known_orders(results) if results.test_mean(low) >= results.test_mean(high)]


def _order(results: AttentionResults) -> list[str]:
    known, failing = known_orders(results), failing_orders(results)
    if not known:
        return []
    held = f"{len(known) - len(failing)} of {len(known)} orders of BLEU, mean of the test sets, are the paper's"
    named = [
        f"{high} ({results.test_mean(high):.2f}) is not above {low} ({results.test_mean(low):.2f})"
        for low, high in failing
    ]
    return [f"{held}: {', '.join(named)}." if named else f"{held}.", ""]
