"""Every number of an experiment beside those of Mi et al. (2016), as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neural_smt.io.files import write_csv
from neural_smt.report.attention_coverage import default_rows, paper_sizes
from neural_smt.report.attention_curves import best_epoch
from neural_smt.report.attention_results import AttentionResults
from neural_smt.report.attention_speed import paper_slowdown, sentence_slowdown, slowdown
from neural_smt.report.attention_tables import further_table, size_rows, table_rows
from neural_smt.report.mi2016 import BEST_BLEU, BEST_EPOCH, CURVE, SYSTEMS
from neural_smt.report.numbers import plain_text
from neural_smt.report.paper import HEADER, PaperTable
from neural_smt.report.scores import mean

Number = tuple[str, str, str, str, str, float | None, float | None]
"""Table, row, system or network, set, quantity, the paper's, ours."""


def write_numbers(path: Path, results: AttentionResults) -> None:
    """Write one number a line; tables have the names that the page gives them."""
    numbers = [*_coverage(results), *_sizes(results)]
    for table in (SYSTEMS, further_table(results)):
        numbers += _systems(results, table)
    numbers += [*_curves(results), *_training(results), *_decoding(results)]
    write_csv(
        path, HEADER, [(*names, *map(plain_text, pair)) for *names, paper, here in numbers for pair in [(paper, here)]]
    )


def _coverage(results: AttentionResults) -> Iterator[Number]:
    for row in default_rows(results.coverage, results.dev):
        paper = paper_sizes(row)
        yield "1", row.label, "", row.text, "coverage", paper.coverage, 100 * row.coverage
        yield "2", row.label, "", row.text, "sentence_size", paper.sentence, row.sentence
        yield "2", row.label, "", row.text, "batch_size", paper.batch, row.batch


def _sizes(results: AttentionResults) -> Iterator[Number]:
    dev = results.dev
    for row in size_rows(results):
        label = f"N = {row.frequent}"
        took = results.translation(row.system, dev)
        yield "3", label, row.system, dev, "frequent", row.frequent, results.systems[row.system].frequent
        yield "3", label, row.system, dev, "bleu", row.bleu, mean(results.cells[row.system][dev].sacrebleu)
        yield "3", label, row.system, dev, "mean_vocabulary", row.size, took and took.mean_vocabulary


def _systems(results: AttentionResults, table: PaperTable) -> Iterator[Number]:
    for row in table_rows(results, table):
        for number, name in enumerate(results.sets):
            cell, took = results.cells[row.system][name], results.translation(row.system, name)
            paper = row.test if number else row.dev
            where = table.name, row.label, row.system, name
            yield *where, "bleu", paper, mean(cell.sacrebleu)
            yield *where, "tokenised_bleu", paper, mean(cell.tokenised)
            yield *where, "p_value", None, cell.p_value
            if took is not None:
                for quantity in ("mean_vocabulary", "words", "unknown_words", "seconds"):
                    yield *where, quantity, None, getattr(took, quantity)


def _curves(results: AttentionResults) -> Iterator[Number]:
    for network, epochs in results.epochs.items():
        best, paper = best_epoch(epochs), network == CURVE
        where = "Figure 2", "best", network, results.dev
        yield *where, "epoch", BEST_EPOCH if paper else None, best.epoch
        yield *where, "tokenised_bleu", BEST_BLEU if paper else None, best.bleu
        for epoch in epochs:
            where = "Figure 2", f"epoch {epoch.epoch}", network, results.dev
            yield *where, "tokenised_bleu", None, epoch.bleu
            yield *where, "perplexity", None, epoch.perplexity


def _training(results: AttentionResults) -> Iterator[Number]:
    for network, training in results.trainings.items():
        for quantity in ("parameters", "updates_per_second", "words_per_second", "perplexity"):
            yield "Training", network, network, "", quantity, None, getattr(training, quantity)
        paper = paper_slowdown(results, network)
        yield "Training", network, network, "", "slowdown", paper, slowdown(results, network)


def _decoding(results: AttentionResults) -> Iterator[Number]:
    for system in results.systems:
        for name in results.sets:
            took = results.translation(system, name)
            if took is not None:
                where = "Decoding", results.systems[system].label, system, name
                for quantity in ("sentences_per_second", "grown", "unfinished"):
                    yield *where, quantity, None, getattr(took, quantity)
                yield *where, "slowdown", None, sentence_slowdown(results, system, name)
