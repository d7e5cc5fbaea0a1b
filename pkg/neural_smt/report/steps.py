"""Steps of the stage ``report``."""

from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.files import read_lines, read_parallel, write_lines
from neural_smt.phrases.table import PhraseTable
from neural_smt.report import auli2013, joint_tables
from neural_smt.report.classes_table import class_row, write_classes
from neural_smt.report.costs import draw_costs, read_job, write_costs
from neural_smt.report.data_table import NOTES, read_facts, shown_columns
from neural_smt.report.joint_results import read_results
from neural_smt.report.networks_table import network_row, write_networks
from neural_smt.report.order_diagnosis import diagnose, rows_with_unknown_words
from neural_smt.report.paper_order import page, read_steps, write_order
from neural_smt.report.plots import draw_histories, draw_scores
from neural_smt.report.scores import read_scores
from neural_smt.report.table import terminal, write_markdown, write_scores
from neural_smt.report.translations import choose, render
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import UNK, Vocabulary


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


def write_paper_order(
    *,
    rows: dict,
    scores: dict,
    order: list[Path],
    sets: list[str],
    networks: Path,
    phrase_table: Path,
    target_vocabulary: Path,
    target_shortlist: Path,
    csv_output: Path,
    markdown_output: Path,
    perplexity: Path | None = None,
    remarks: str = "",
    title: str = "",
) -> None:
    """Write the experiment beside Table 1 of Cho et al. (2014), with what may explain an order that is another.

    rows: row of the paper -> system; scores: as in write_table; order: files of compare_neighbours, one for each of
    ``sets``, of which the first is the one that weights are tuned on; networks: the CSV of write_networks_table;
    phrase_table, target_vocabulary, target_shortlist: what the share of rows with words outside the shortlist is
    counted in; perplexity: what measure_cslm wrote; remarks: Markdown.
    """
    steps = read_steps(dict(zip(sets, order, strict=True)), rows, dev=sets[0])
    cells = read_scores({row: scores[system] for row, system in rows.items()})
    target = PhraseTable.load(phrase_table).target
    unknown = shortlist_ids(Vocabulary.load(target_vocabulary), Vocabulary.load(target_shortlist)) == UNK
    diagnosis = diagnose(
        networks=networks,
        perplexity=perplexity,
        unknown_rows=rows_with_unknown_words(target.values, target.offsets, unknown),
        steps=steps,
    )
    write_order(csv_output, steps)
    write_lines(markdown_output, page(title=title, cells=cells, steps=steps, diagnosis=diagnosis, remarks=remarks))


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
    results = read_results(
        scores=scores,
        significance=significance,
        perplexities=perplexities,
        choices=choices,
        searches=searches,
        oracles=oracles,
        target_only=auli2013.TARGET_ONLY,
    )
    joint_tables.write_numbers(csv_output, results)
    write_lines(markdown_output, joint_tables.page(results, title, remarks))
    joint_tables.draw_figure(plot, results)


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


def show_translations(*, source: Path, reference: Path, systems: dict, sentences: int, seed: int, output: Path) -> None:
    """Write a page (HTML) with sentences that the systems translate differently.

    source, reference, systems (name -> file): texts with one sentence a line; up to ``sentences`` lines are drawn.
    """
    sources, references = read_parallel(source, reference)
    translations = {name: read_lines(Path(path)) for name, path in systems.items()}
    for name, lines in translations.items():
        if len(lines) != len(sources):
            raise UserError(
                f"{systems[name]} has {len(lines)} lines but {source} has {len(sources)}; translate it again"
            )
    numbers = choose(list(translations.values()), sentences, np.random.default_rng(seed))
    write_lines(output, [render(numbers, sources, references, translations)])


def _named(rows: dict, labels: dict[str, str] | None) -> dict:
    return {(labels or {}).get(system, system): row for system, row in rows.items()}
