"""Steps of the stage ``report``."""

from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.report.classes_table import class_row, write_classes
from neural_smt.report.costs import draw_costs, read_job, write_costs
from neural_smt.report.data_table import NOTES, read_facts, shown_columns
from neural_smt.report.networks_table import network_row, write_networks
from neural_smt.report.plots import draw_histories, draw_scores
from neural_smt.report.scaling import draw_scaling, read_costs, write_scaling
from neural_smt.report.scores import read_scores
from neural_smt.report.table import terminal, write_markdown, write_scores


def write_table(
    *,
    scores: dict,
    significance: dict,
    csv_output: Path,
    markdown_output: Path,
    title: str = "",
    labels: dict[str, str] | None = None,
) -> None:
    """Write the table of systems: BLEU on every set, mean and spread over runs, p against the baseline.

    scores: system -> set -> evaluation files of its runs; significance: set -> file of the comparison with the
    baseline; labels: system -> its name in the table (the system itself where none is given).
    """
    write_scores(csv_output, _named(read_scores(scores, significance), labels))
    write_markdown(markdown_output, csv_output, title)


def write_data_table(
    *,
    data: dict,
    scores: dict,
    significance: dict,
    csv_output: Path,
    markdown_output: Path,
    title: str = "",
    labels: dict[str, str] | None = None,
) -> None:
    """Write the table of what systems are built from: its size, its language model's perplexity, and their BLEU.

    data: system -> its data: ``data`` (their name), ``text`` (target side of the training pairs), ``perplexity`` (what
    measure_language_model wrote) and ``phrase_table`` (folder); the other arguments as in write_table, of the systems
    in ``data`` at least.
    """
    facts = {system: read_facts(**places) for system, places in data.items()}
    cells = read_scores({system: scores[system] for system in data}, significance)
    write_scores(csv_output, _named(cells, labels), _named(facts, labels))
    write_markdown(markdown_output, csv_output, title, shown_columns(list(facts.values())), NOTES)


def write_networks_table(*, networks: dict, csv_output: Path, markdown_output: Path, title: str = "") -> None:
    """Write the table of networks; networks: name -> the files of each, see ``network_row``."""
    rows = [network_row(name, **files) for name, files in networks.items()]
    write_networks(csv_output, markdown_output, rows, title)


def write_classes_table(
    *, networks: dict, sets: list[str], csv_output: Path, markdown_output: Path, title: str = ""
) -> None:
    """Write the table of word classes: what each computes for a word, and the perplexity of a model with them.

    networks: name -> arguments of ``class_row``, of recurrent models that differ in their classes alone; sets: whose
    perplexity is shown, the one that is spoken of last.
    """
    rows = [class_row(name, sets, **files) for name, files in networks.items()]
    write_classes(csv_output, markdown_output, rows, sets, title)


def print_table(*, table: Path) -> None:
    """Print a table of systems (the CSV that write_table makes) to the terminal."""
    print(terminal(table))


def plot_scores(*, scores: dict, plot: Path, title: str = "", labels: dict[str, str] | None = None) -> None:
    """Draw BLEU of every system on every set, with its spread over runs (arguments as in write_table)."""
    draw_scores(plot, _named(read_scores(scores), labels), title)


def plot_tuning(*, histories: dict, plot: Path, title: str = "", labels: dict[str, str] | None = None) -> None:
    """Draw development BLEU over tuning iterations; histories: system -> history files of its runs."""
    draw_histories(plot, _named(histories, labels), title)


def summarise_benchmarks(*, benchmarks: list[Path], output: Path, plot: Path) -> None:
    """Sum up time and memory of the rules (CSV) and stages (plot) from Snakemake's benchmark files."""
    jobs = [read_job(path) for path in benchmarks]
    if not jobs:
        raise UserError("no benchmark files were given; run the workflow first")
    write_costs(output, jobs)
    draw_costs(plot, jobs)


def write_scaling_table(*, benchmarks: dict, output: Path, plot: Path) -> None:
    """Show how time and memory grow with the number of sentence pairs (CSV and plot).

    benchmarks: number of pairs -> Snakemake's benchmark files of the jobs that were run for it.
    """
    costs = read_costs({int(pairs): files for pairs, files in benchmarks.items()})
    write_scaling(output, costs)
    draw_scaling(plot, costs)


def _named(rows: dict, labels: dict[str, str] | None) -> dict:
    return {(labels or {}).get(system, system): row for system, row in rows.items()}
