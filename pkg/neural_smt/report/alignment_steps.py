"""The step of the report that draws word alignments."""

from itertools import islice
from pathlib import Path

import numpy as np

from neural_smt.alignment.pharaoh import check_alignments, check_lines, parse_alignments, read_marked_alignments
from neural_smt.alignment.symmetrisation import symmetrise_alignments
from neural_smt.errors import UserError
from neural_smt.io.files import open_text, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.report import matrix_picture, svg
from neural_smt.report.explanations import spelled
from neural_smt.report.page import render_page
from neural_smt.report.page_steps import about_html

READ = 2000
"""Pairs, the first of the text, among which those that are drawn are chosen: no need to read millions."""

SHOWN_LENGTHS = range(5, 16)
"""Words on the longer side of a pair that is drawn."""


def show_alignments(
    *,
    sources: list[Path],
    targets: list[Path],
    forward: Path,
    backward: Path,
    heuristic: str,
    pairs: int,
    seed: int,
    languages: dict,
    output: Path,
    gold: list[Path] | None = None,
    about: str = "",
) -> None:
    """Write a page (HTML) with the word alignments of up to ``pairs`` sentence pairs as matrices.

    sources, targets: tokenised texts, one after the other; forward, backward: their alignments in both directions;
    gold: alignments made by hand, one for each text; heuristic: how both directions are combined; languages: codes of
    ``source`` and ``target``.
    """
    texts = [_first_lines(sources), _first_lines(targets)]
    check_lines(targets[0], sources[0], len(texts[1]), len(texts[0]))
    lengths = [np.array([len(line.split()) for line in text], dtype=np.int64) for text in texts]
    directions = [_read_links(path, lengths, sources[0]) for path in (forward, backward)]
    right = _read_gold(gold, len(texts[0])) if gold else None
    longest = np.maximum(*lengths)
    fitting = np.flatnonzero(
        (longest >= SHOWN_LENGTHS.start) & (longest < SHOWN_LENGTHS.stop) & (np.minimum(*lengths) > 0)
    )
    drawn = np.sort(np.random.default_rng(seed).choice(fitting, size=min(pairs, len(fitting)), replace=False))
    kept = symmetrise_alignments(*(links.take(drawn) for links in directions), heuristic)
    parts = about_html(about)
    for place, number in enumerate(drawn.tolist()):
        links = [_cells(part[number]) for part in directions]
        marks = matrix_picture.alignment_marks(*links, _cells(kept[place]), _cells(right[number]) if right else set())
        words = [spelled(text[number].split()) for text in texts]
        label = f"Alignment of sentence pair {number + 1}"
        parts += [f"<h2>Sentence pair {number + 1}</h2>"]
        parts += [matrix_picture.draw_matrix(*words, matrix_picture.axes(languages), label, marks)]
    style = f"{svg.STYLE}\n{matrix_picture.STYLE}"
    write_lines(output, [render_page("Word alignments", "\n".join(parts), style)])


def _first_lines(paths: list[Path]) -> list[str]:
    """The first ``READ`` lines of texts that stand one after the other."""
    lines: list[str] = []
    for path in paths:
        with open_text(path) as stream:
            lines += [line.rstrip("\n") for line in islice(stream, READ - len(lines))]
    return lines


def _read_links(path: Path, lengths: list[np.ndarray], text: Path) -> Ragged:
    links = parse_alignments(_first_lines([path]), path)
    check_alignments(links, *lengths, path, text)
    return links


def _read_gold(paths: list[Path], lines: int) -> Ragged:
    gold = Ragged.concatenate([read_marked_alignments(path)[0] for path in paths])
    if len(gold) < lines:
        raise UserError(
            f"{paths[0]}: {len(gold)} alignments made by hand of {lines} pairs; give one line for each pair"
        )
    return gold


def _cells(links: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in links}
