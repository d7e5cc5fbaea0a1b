"""Steps of the report that write an experiment beside the tables of a paper."""

from pathlib import Path

from neural_smt.io.files import write_lines
from neural_smt.phrases.table import PhraseTable
from neural_smt.report import (
    attention_curves,
    attention_numbers,
    attention_results,
    attention_tables,
    auli2013,
    joint_results,
    joint_tables,
)
from neural_smt.report.order_diagnosis import diagnose, rows_with_unknown_words
from neural_smt.report.paper_order import page, read_steps, write_order
from neural_smt.report.scores import read_scores
from neural_smt.shortlist import shortlist_ids
from neural_smt.vocabulary import UNK, Vocabulary


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
    results = joint_results.read_results(
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

    The files are those of ``attention_results.read_results``, and names of systems and networks those of ``mi2016``;
    remarks: Markdown.
    """
    results = attention_results.read_results(
        systems=systems,
        scores=scores,
        significance=significance,
        translations=translations,
        curves=curves,
        epochs=epochs,
        coverage=coverage,
    )
    lines = attention_tables.page(results, title, remarks)
    attention_numbers.write_numbers(csv_output, results)
    attention_curves.draw_epochs(plot, results.epochs, results.dev)
    write_lines(markdown_output, lines)
