"""BLEU of systems over tuning runs: read from the evaluation's files, as tables and as a figure."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd
from matplotlib.ticker import MaxNLocator

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_described
from neural_smt.io.arrays import read_meta
from neural_smt.io.files import read_object
from neural_smt.io.plots import BLUE, COLOURS, GREY, RED, clean, drawing
from neural_smt.io.records import FILE
from neural_smt.io.streams import stream_lines
from neural_smt.io.tables import Column, formatted, markdown, read_frame, readable, rounded, table, texts, write_frame
from neural_smt.report.networks import read_training
from neural_smt.report.pages import read_columns, render, write_page

Scores = Mapping[str, Mapping[str, Sequence[str]]]
"""System -> set -> the evaluation files of its runs, in the order in which tables show them."""

PLACE = ["system", "set"]
"""The index of what is known of systems on sets."""

FORMATS = {"sacrebleu": ".4f", "sacrebleu_std": ".4f", "tokenised": ".4f", "tokenised_std": ".4f", "p_value": ".6f"}
"""What the CSV holds for each set, as ``<set>:<column>``."""

LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Marks of p-values below each level."""

OURS = "†"
"""Marks rows that the paper does not have."""

DATA, TRAINING = read_columns("data"), read_columns("training")
"""What is said of the data of a system, or of the training of its network, between its name and its scores."""


def read_runs(scores: Scores) -> pd.DataFrame:
    """A row for each run: ``system``, ``set``, ``sacrebleu``, ``tokenised`` (0 to 100), ``signature``."""
    rows = []
    for system, sets in scores.items():
        for name, paths in sets.items():
            if not paths:
                raise UserError("a system has no tuning run to report on; set tuning.runs to 1 or more")
            for path in paths:
                found = read_described(Path(path), "evaluation", "run the evaluation stage again")
                rows.append((system, name, *map(found.get, ("sacrebleu", "tokenised_bleu", "signature"))))
    return pd.DataFrame(rows, columns=[*PLACE, "sacrebleu", "tokenised", "signature"])


def read_scores(scores: Scores, significance: Mapping[str, str] | None = None) -> pd.DataFrame:
    """A row for each system and set (the index), in the order of ``scores``: means over runs and sample standard
    deviations (``<column>_std``, NaN for one run) of ``sacrebleu`` and ``tokenised``, ``runs``, ``signature``,
    ``control``, what the system is tested against (empty for nothing), ``p_value`` of that and ``p_tests``, the same of
    all test sets (NaN where there is none).

    significance: what systems are compared on -> the file of the comparison; the last one is of all test sets.
    """
    compared = {name: read_object(Path(path)) for name, path in (significance or {}).items()}
    groups = read_runs(scores).groupby(PLACE, sort=False)
    found = groups.agg(
        sacrebleu=("sacrebleu", statistics.fmean),
        sacrebleu_std=("sacrebleu", spread),
        tokenised=("tokenised", statistics.fmean),
        tokenised_std=("tokenised", spread),
        runs=("sacrebleu", "size"),
        signature=("signature", "first"),
    )
    last = next(reversed(compared), "")
    columns = {}
    for column, names in (("p_value", list(found.index)), ("p_tests", [(system, last) for system, _ in found.index])):
        values = [compared[name][system]["p_value"] if name in compared else None for system, name in names]
        columns[column] = pd.Series(values, found.index, dtype=float)
    controls = [(compared[last][system].get("control") if last else None) or "" for system, _ in found.index]
    return found.assign(**columns, control=pd.Series(controls, found.index, dtype=object))


def spread(values: Sequence[float]) -> float:
    """The sample standard deviation over runs; NaN for one run, which has no spread."""
    return statistics.stdev(values) if len(values) > 1 else float("nan")


def set_names(scores: pd.DataFrame) -> list[str]:
    """The sets of ``read_scores``: the development set, then the test sets."""
    return list(scores.index.unique("set"))


def with_spread(means: Iterable[Any], deviations: Iterable[Any]) -> list[str]:
    """``20.50 ± 0.71``, of numbers or their texts; without the second part where there is no deviation."""
    pairs = zip(texts(means, ".2f"), texts(deviations, ".2f"), strict=True)
    return [f"{mean} ± {deviation}" if deviation else mean for mean, deviation in pairs]


def score_texts(scores: pd.DataFrame, systems: Iterable[str], name: str, column: str = "sacrebleu") -> list[str]:
    """BLEU of systems on a set, with its spread over runs."""
    found = scores.xs(name, level="set").loc[list(systems)]
    return with_spread(found[column], found[f"{column}_std"])


def p_value_text(value: float | None) -> str:
    """Three digits after the point; smaller ones are not told apart."""
    if pd.isna(value):
        return ""
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def systems_table(scores: pd.DataFrame, facts: pd.DataFrame | None = None) -> pd.DataFrame:
    """The table of systems as CSV holds it: a row for each; numbers of runs, five columns per set, ``p:tests`` of all
    test sets where there are several, the signature, the control.

    facts: further columns of each system (the index), which stand after its name.
    """
    found: dict[str, Any] = {name: scores.xs(name, level="set") for name in set_names(scores)}
    parts = [formatted(own[list(FORMATS)], FORMATS).add_prefix(f"{name}:") for name, own in found.items()]
    of_runs, further = next(iter(found.values())), [] if facts is None else [facts]
    if len(found) > 2:
        parts.append(formatted(of_runs[["p_tests"]], {"p_tests": ".6f"}).set_axis(["p:tests"], axis=1))
    wide = pd.concat([*further, of_runs["runs"], *parts, of_runs[["signature", "control"]]], axis=1)
    return wide.rename_axis("system").reset_index()


def write_table(
    *,
    scores: dict[str, Any],
    significance: dict[str, Any],
    csv_output: Path,
    markdown_output: Path,
    title: str = "",
    labels: dict[str, str] | None = None,
    ours: list[str] | None = None,
    oracles: list[str] | None = None,
    data: dict[str, Any] | None = None,
    training: dict[str, Any] | None = None,
) -> None:
    """Write the table of systems: BLEU on every set, mean and spread over runs, p against the control.

    scores: system -> set -> evaluation files of its runs; significance: as in ``read_scores``; labels: system -> its
    name in the table (the system itself where none is given); ours: systems to be marked as no rows of the paper;
    oracles: systems that read the references, of which none is called the best; data, training: of a table of what
    systems are built from, or of how long their network was trained, arguments of ``read_facts``, of ``read_effort``,
    for each system in it.
    """
    facts, described, about = None, data or training or {}, "data" if data else "training" if training else ""
    if about:
        columns, read = DESCRIPTIONS[about]
        facts = rounded(pd.DataFrame({system: read(**files) for system, files in described.items()}).T, columns)
        scores = {system: scores[system] for system in described}
    names = dict.fromkeys(("system", "control"), labels or {})
    found = systems_table(read_scores(scores, significance), facts).replace(names)
    write_frame(csv_output, found)
    wide = shown(found)
    wide["System"] += [f" {OURS}" if system in (ours or ()) else "" for system in scores]
    if about:
        wide = pd.concat([wide.iloc[:, :1], readable(found, columns), wide.iloc[:, 1:]], axis=1)
    values = {
        "title": title,
        "table": markdown(wide),
        "notes": notes(found),
        "ours": OURS if ours else "",
        "result": result(found[[system not in (oracles or ()) for system in scores]].reset_index(drop=True)),
    }
    write_page(markdown_output, TEMPLATES[about], **values)


def read_facts(data: str, text: Path, perplexity: Path, phrase_table: Path) -> dict[str, str | int | float]:
    """The columns of ``DATA`` for one choice of data.

    data: its name; text: target side of the training pairs; perplexity: what ``measure_language_model`` wrote;
    phrase_table: folder.
    """
    lengths = [len(line.split()) for line in stream_lines(Path(text))]
    measured = read_object(Path(perplexity))
    return {
        "data": data,
        "pairs": len(lengths),
        "target_words": sum(lengths),
        "unknown": measured["unknown"],
        "perplexity": measured["comparable_perplexity"],
        "phrase_pairs": read_meta(Path(phrase_table) / FILE)["rows"],
    }


def read_effort(network: str = "", curve: str = "", held_out: str = "") -> dict[str, Any]:
    """The columns of ``TRAINING`` for one system; nothing for a system without a network.

    network: its name; curve, held_out: as in ``read_training``.
    """
    seen = read_training(curve, held_out) if network else {}
    return {"network": network} | {name: seen.get(name) for name in list(TRAINING)[1:]}


DESCRIPTIONS: dict[str, tuple[dict[str, Column], Callable[..., dict[str, Any]]]] = {
    "data": (DATA, read_facts),
    "training": (TRAINING, read_effort),
}
"""What a table of systems may say of each between its name and its scores: the columns, and what reads them."""

TEMPLATES = {"": "table1.md", "data": "data.md", "training": "training.md"}
"""The template of such a table, with none of them or one."""


def shown(found: pd.DataFrame) -> pd.DataFrame:
    """A table of systems (as CSV holds it) as readers see it: name, then three columns per set.

    The three are sacreBLEU with its spread, tokenised BLEU with its spread, and p with its mark; that of all test sets
    comes last.
    """
    columns: list[tuple[str, Iterable[str]]] = [("System", found["system"])]
    for name in sets_of(found):
        for heading, column in ((f"{name}: sacreBLEU", "sacrebleu"), ("tokens", "tokenised")):
            columns.append((heading, with_spread(found[f"{name}:{column}"], found[f"{name}:{column}_std"])))
        columns.append(("p", found[f"{name}:p_value"].map(with_mark)))
    if "p:tests" in found:
        columns.append(("All test sets: p", found["p:tests"].map(with_mark)))
    return table(*columns)


def sets_of(found: pd.DataFrame) -> list[str]:
    """The sets of a table of systems as CSV holds it."""
    return [name.removesuffix(":sacrebleu") for name in found.columns if name.endswith(":sacrebleu")]


def with_mark(p_value: str) -> str:
    """``0.012 *``; marks are padded so that the numbers stay aligned."""
    if not p_value:
        return ""
    mark = next((mark for level, mark in LEVELS if float(p_value) < level), "")
    return f"{p_value_text(float(p_value))} {mark:<3}"


def notes(found: pd.DataFrame) -> dict[str, Any]:
    """What the notes below a table of systems name: runs, sacreBLEU's signature, the control of most systems, and
    other control -> the systems that have it; "none" -> those that are neither tested nor a control.
    """
    usual = found["control"][found["control"] != ""].mode().get(0, "")
    untested = (found["control"] == "") & found["system"].isin(found["control"])
    other = found[(found["control"] != usual) & ~untested]
    groups = other.groupby(other["control"].replace("", "none"), sort=False)["system"]
    controls = {control: list(systems) for control, systems in groups}
    runs = int(found["runs"].astype(int).max())
    return {"runs": runs, "signature": found["signature"][0], "usual": usual, "controls": controls}


def result(found: pd.DataFrame) -> dict[str, str | float | bool]:
    """What systems (rows of a table as CSV holds it) come to: the best on the first test set, beside its control, or
    beside the first system that is not tested.
    """
    name = [*sets_of(found), *sets_of(found)][1]
    bleu, p_values = found[f"{name}:sacrebleu"].astype(float), pd.to_numeric(found[f"{name}:p_value"])
    best = cast(Any, bleu.idxmax())
    baseline = cast(Any, (found["system"] == found["control"][best]).idxmax())
    if not found["control"][best]:
        baseline = p_values.isna().idxmax()
    return {
        "set": name,
        "system": found["system"][best],
        "bleu": with_spread(found[f"{name}:sacrebleu"], found[f"{name}:sacrebleu_std"])[best],
        "baseline": found["system"][baseline],
        "gain": bleu[best] - bleu[baseline],
        "p": p_value_text(p_values[best]),
        "significant": p_values[best] < LEVELS[-1][0],
    }


def print_table(*, table: Path) -> None:
    """Print a table of systems (the CSV that write_table makes) to the terminal."""
    found = read_frame(
        table, "system runs signature control", advice="give a table of systems, as the report stage writes it"
    )
    wide = shown(found)
    sets = [text for name in sets_of(found) for text in (name, name, name)] + ["All test sets"] * ("p:tests" in found)
    headings = [heading.rpartition(": ")[2] for heading in wide.columns]
    wide.columns = pd.MultiIndex.from_tuples(zip(["", *sets], headings, strict=True))
    left: list[Any] = [column for column in wide.columns if column[1] in ("System", "p")]
    wide[left] = wide[left].apply(lambda column: column.str.ljust(column.str.len().max()))
    print(wide.to_string(index=False))
    print(*render("scores_notes.md", notes=notes(found), ours="", star="*"), sep="\n")


def plot_scores(*, scores: dict[str, Any], plot: Path, title: str = "", labels: dict[str, str] | None = None) -> None:
    """Draw BLEU of every system on every set: a dot per run, a bar at the mean, a line for its spread.

    Arguments as in write_table.
    """
    found = read_runs(scores)
    systems, sets, runs_of = found["system"].unique(), found["set"].unique(), found.groupby(PLACE)["sacrebleu"]
    with drawing(plot, 1.6 + 3.4 * len(sets), 1.3 + 0.5 * len(systems)) as figure:
        panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, sets, strict=True):
            for row, system in enumerate(systems):
                values = runs_of.get_group((system, name)).tolist()
                middle, deviation = statistics.fmean(values), spread(values)
                if len(values) > 1:
                    axes.plot([middle - deviation, middle + deviation], [row, row], color=BLUE, linewidth=1.5)
                axes.plot(values, [row] * len(values), "o", color=GREY, markersize=5)
                axes.plot([middle], [row], "|", color=BLUE, markersize=16, markeredgewidth=2.5)
                label = {"ha": "center", "color": BLUE, "fontsize": 8, "textcoords": "offset points"}
                axes.annotate(f"{middle:.2f}", (middle, row), xytext=(0, 10), **label)
            axes.set(title=name, xlabel="sacreBLEU (of 100)")
            axes.set_yticks(range(len(systems)), [(labels or {}).get(system, system) for system in systems])
            axes.set_ylim(len(systems) - 0.5, -0.5)
            axes.margins(x=0.15)
            clean(axes)
        if title:
            figure.suptitle(title)


def plot_training(*, table: Path, plot: Path) -> None:
    """Draw BLEU and held-out perplexity against epochs of training, from the table that write_table makes of
    ``training``: a panel for each set, a line across at the baseline, the first row.
    """
    found = read_frame(table, "system network").replace("", None)
    sets, trained = sets_of(found), found[found["network"].notna()]
    with drawing(plot, 1.0 + 4.2 * len(sets), 3.6) as figure:
        for axes, name in zip(figure.subplots(1, len(sets), squeeze=False)[0], sets, strict=True):
            bleu, deviation = (pd.to_numeric(found[f"{name}:{column}"]) for column in ("sacrebleu", "sacrebleu_std"))
            epochs, perplexity = (pd.to_numeric(trained[column]) for column in ("epochs", "perplexity"))
            axes.axhline(bleu[0], color=GREY, linewidth=1.5)
            axes.annotate(found["system"][0], (epochs.min(), bleu[0]), (0, 4), textcoords="offset points", color="0.4")
            axes.errorbar(epochs, bleu[epochs.index], deviation[epochs.index], fmt="o-", color=BLUE, capsize=3)
            axes.set(title=name, xlabel="epochs (number, log scale)", xscale="log")
            axes.set_ylabel("sacreBLEU (of 100)", color=BLUE)
            axes.set_xticks(epochs, texts(epochs, ".3g"), minor=False)
            axes.set_xticks([], minor=True)
            clean(axes)
            right = axes.twinx()
            right.plot(epochs, perplexity, "s--", color=RED, markersize=4)
            right.spines["top"].set_visible(False)
            right.set_ylabel("held-out perplexity (per word)", color=RED)


def plot_tuning(
    *, histories: dict[str, Any], plot: Path, title: str = "", labels: dict[str, str] | None = None
) -> None:
    """Draw development BLEU of the decoder over tuning iterations: a panel per system, a line per run.

    histories: system -> history files of its runs; labels: as in write_table.
    """
    columns = min(3, len(histories))
    rows = -(-len(histories) // columns)
    with drawing(plot, 1.0 + 3.4 * columns, 0.6 + 2.8 * rows) as figure:
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        for (system, files), axes in zip(histories.items(), panels, strict=False):  # takes no panel too many
            for number, file in enumerate(files):
                values = read_frame(Path(file), numbers="decoder_bleu")["decoder_bleu"]
                style = {"color": COLOURS[number % len(COLOURS)], "markersize": 4, "label": f"run {number + 1}"}
                axes.plot(range(1, len(values) + 1), values, "o-", **style)
            axes.set(title=(labels or {}).get(system, system))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.legend(frameon=False, fontsize="small", loc="lower right")
            clean(axes)
        for axes in list(panels):
            axes.set_visible(False)
        figure.supxlabel("iteration (number)", fontsize="medium")
        figure.supylabel("development BLEU (of 100; tokens, 1-best)", fontsize="medium")
        if title:
            figure.suptitle(title)
