"""Sentence pairs as matrices: which words are aligned, and where attention networks look."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from neural_smt.alignment.pharaoh import check_alignments, check_lines, parse_alignments, read_marked_alignments
from neural_smt.alignment.symmetrisation import symmetrise_alignments
from neural_smt.errors import UserError
from neural_smt.io.files import open_text, write_lines
from neural_smt.io.plots import BLUE, svg
from neural_smt.io.ragged import Ragged
from neural_smt.report.explanations import Explanation, spelled
from neural_smt.report.pages import to_html
from neural_smt.report.rendering import render

READ = 2000
"""Pairs, the first of the text, among which those that are drawn are chosen: no need to read millions."""

SHOWN_LENGTHS = range(5, 16)
"""Words on the longer side of a pair that is drawn."""

CELL = 0.32
"""Inches of a cell."""

GOLD = "#c2410c"

Links = Collection[tuple[int, int]]


def matrix(source: Sequence[str], target: Sequence[str], languages: Mapping[str, str]) -> tuple[Figure, Axes]:
    """A matrix with a column for each source word and a row for each target word.

    languages: codes of ``source`` and ``target``.
    """
    longest = [0.09 * max(map(len, words), default=1) for words in (source, target)]
    size = (CELL * len(source) + longest[1] + longest[0] + 1.2, CELL * len(target) + 0.8 * longest[0] + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-0.5, len(source) - 0.5), ylim=(len(target) - 0.5, -0.5), aspect="equal")
    axes.set_xticks(range(len(source)), source, rotation=50, ha="left", rotation_mode="anchor", parse_math=False)
    axes.set_yticks(range(len(target)), target, parse_math=False)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(f"source words ({languages['source']}) \u2192", loc="left")
    axes.set_ylabel(f"\u2190 target words ({languages['target']})", loc="top")
    axes.tick_params(length=0)
    for line in (*np.arange(len(source) + 1) - 0.5,):
        axes.axvline(line, color="0.85", linewidth=0.7)
    for line in (*np.arange(len(target) + 1) - 0.5,):
        axes.axhline(line, color="0.85", linewidth=0.7)
    axes.spines[:].set_visible(False)
    return figure, axes


def mark_links(axes: Axes, forward: Links, backward: Links, chosen: Links, gold: Links = ()) -> None:
    """Draw the alignment of a pair: dots for links that were kept, rings for others that one direction found, squares
    for those that should be there.
    """
    kinds: list[tuple[Links, dict[str, Any]]] = [
        (gold, {"marker": "s", "s": 260, "facecolors": "none", "edgecolors": GOLD, "label": "gold"}),
        (chosen, {"marker": "o", "s": 110, "color": BLUE, "label": "kept"}),
        (
            {*forward, *backward} - {*chosen},
            {"marker": "o", "s": 80, "facecolors": "none", "edgecolors": BLUE, "label": "one direction"},
        ),
    ]
    for links, style in kinds:
        if links:
            axes.scatter(*zip(*sorted(links), strict=True), linewidths=1.8, **style)


def mark_weights(axes: Axes, weights: Sequence[Sequence[float]]) -> dict[str, str]:
    """Draw squares whose area is the weight of a source word (column) for a target word (row); their titles by gid."""
    titles = {}
    for j, row in enumerate(weights):
        for i, weight in enumerate(row):
            side = 0.9 * weight**0.5
            if side > 0.04:
                name = f"weight{j}.{i}"
                axes.add_patch(Rectangle((i - side / 2, j - side / 2), side, side, color=BLUE, gid=name, linewidth=0))
                titles[name] = f"{weight:.3f}"
    return titles


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
    ``source`` and ``target``; about: Markdown.
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
    parts = []
    for place, number in enumerate(drawn.tolist()):
        figure, axes = matrix(*(spelled(text[number].split()) for text in texts), languages)
        gold_links = _cells(right[number]) if right else set()
        mark_links(axes, *(_cells(part[number]) for part in directions), _cells(kept[place]), gold_links)
        parts.append({"heading": f"Sentence pair {number + 1}", "text": "", "svg": svg(figure, {})})
    page = render("drawings.html", title="Word alignments", about=to_html(about), parts=parts, nothing="")
    write_lines(output, page)


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


def show_attention(*, explanations: dict, output: Path, languages: dict, about: str = "") -> None:
    """Write a page (HTML) with what each attention network looked at while it wrote one sentence.

    explanations: name -> what ``explain_sentences`` wrote; languages: codes of ``source`` and ``target``; about:
    Markdown.
    """
    parts, end = [], "(end)"
    for name, path in explanations.items():
        for explained in Explanation.load(Path(path)).sentences:
            if explained.attention:
                figure, axes = matrix([*explained.source, end], [*explained.target, end], languages)
                titles = mark_weights(axes, explained.attention)
                parts.append({"heading": name, "text": "", "svg": svg(figure, titles)})
    page = render("drawings.html", title="Attention of the networks", about=to_html(about), parts=parts, nothing="")
    write_lines(output, page)
