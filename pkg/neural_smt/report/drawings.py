"""Drawings of single sentences: lattices of the search, word alignments, and where attention networks look."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path as Curve

from neural_smt.alignment.pharaoh import ALIGN_AGAIN, check_alignments, read_alignments, read_gold
from neural_smt.alignment.symmetrisation import symmetrise_alignments
from neural_smt.io.files import check_as_long
from neural_smt.io.plots import BLUE, RED, clean, svg
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import stream_texts
from neural_smt.report.pages import to_html, write_page
from neural_smt.report.translations import Arc, DrawnLattice, Explanation
from neural_smt.vocabulary import spelled

PAGE = "drawings.html"
"""The template of ``parts``: heading, text and SVG of each drawing; ``nothing``: what it says where there are none."""

STEP, LANE, LETTER = 1.0, 0.48, 0.08
"""Inches of a translated source word, at the least, between arcs that lie above each other, and of a letter."""


def lanes(lattice: DrawnLattice) -> list[int]:
    """A lane for each arc, from 0, so that arcs over the same number of covered words have different ones.

    The better the arc the lower its lane: the best translation is a straight line.
    """
    order = sorted(range(len(lattice.arcs)), key=lambda number: (lattice.arcs[number].behind, number))
    taken: list[list[tuple[int, int]]] = [[] for _ in order]
    found = [0] * len(order)
    for number in order:
        arc = lattice.arcs[number]
        start, stop = lattice.covered[arc.tail], lattice.covered[arc.head]
        free = (lane for lane, spans in enumerate(taken) if all(a >= stop or start >= b for a, b in spans))
        found[number] = next(free)
        taken[found[number]].append((start, stop))
    return found


def draw_lattice(lattice: DrawnLattice) -> tuple[Figure, dict[str, str]]:
    """The drawing, with the target words of each arc, below them the source words that they translate; titles of arcs
    by gid.
    """
    own, words = lanes(lattice), max(len(lattice.source), 1)
    size = (_step(lattice) * words + 0.6, LANE * (max(own, default=0) + 1) + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-0.1, words + 0.1), ylim=(max(own, default=0) + 0.6, -0.6))
    axes.set_xlabel("source words translated so far (number of words)")
    axes.set_xticks(range(words + 1))
    axes.set_yticks([])
    clean(axes, "x")
    axes.spines["left"].set_visible(False)
    # a node stands beside the best arc that it belongs to
    arcs = [*zip(own, lattice.arcs, strict=True)]
    nodes = range(len(lattice.covered))
    heights = [min(lane for lane, arc in arcs if node in (arc.tail, arc.head)) for node in nodes]
    titles = {}
    for number in sorted(range(len(own)), key=lambda number: -lattice.arcs[number].behind):
        arc = lattice.arcs[number]
        ends = [(lattice.covered[node], heights[node]) for node in (arc.tail, arc.head)]
        titles[f"arc{number}"] = _draw_arc(axes, arc, lattice.source, ends, own[number], f"arc{number}")
    axes.scatter(lattice.covered, heights, s=28, color="black", zorder=4)
    return figure, titles


def _step(lattice: DrawnLattice) -> float:
    """Inches of a source word, so that every arc has room for its words."""
    needed = [
        (LETTER * max(len(" ".join(arc.words)), len(_source(arc, lattice.source))) + 0.45)
        / (lattice.covered[arc.head] - lattice.covered[arc.tail])
        for arc in lattice.arcs
    ]
    return min(max([STEP, *needed]), 2 * STEP)


def _draw_arc(axes: Axes, arc: Arc, source: list[str], ends: list[tuple[int, int]], lane: int, name: str) -> str:
    """Its title."""
    (start, low), (stop, high) = ends
    bend = min(0.22, (stop - start) / 4)
    points = [(start, low), (start + bend, low), (start + bend / 2, lane), (start + bend, lane), (stop - bend, lane)]
    points += [(stop - bend / 2, lane), (stop - bend, high), (stop, high)]
    codes = [Curve.MOVETO, *[Curve.CURVE4] * 3, Curve.LINETO, *[Curve.CURVE4] * 3]
    best = arc.behind == 0
    style = {"edgecolor": BLUE, "linewidth": 2.6} if best else {"edgecolor": "0.45", "linewidth": 1.2}
    axes.add_patch(PathPatch(Curve(points, codes), fill=False, gid=name, zorder=3, **style))
    words, read = " ".join(arc.words) or "(nothing)", _source(arc, source)
    place = (start + stop) / 2, lane
    text: dict[str, Any] = {"ha": "center", "parse_math": False, "textcoords": "offset points"}
    weight, colour = ("bold", BLUE) if best else ("normal", "black")
    axes.annotate(words, place, (0, 3), va="bottom", fontsize=9, weight=weight, color=colour, **text)
    axes.annotate(read, place, (0, -3), va="top", fontsize=8, color="0.35", **text)
    worse = "part of the best translation" if best else f"{arc.behind:.2f} behind the best translation"
    return f"{read} \u2192 {words}: {worse}"


def _source(arc: Arc, source: list[str]) -> str:
    return " ".join(source[arc.source[0] : arc.source[1]])


def show_lattices(*, explanations: dict[str, Any], output: Path, about: str = "") -> None:
    """Write a page (HTML) with the lattice of a sentence for each system that has one.

    explanations: name -> what ``explain_sentences`` wrote; about: Markdown.
    """
    parts = []
    for name, path in explanations.items():
        lattice = Explanation.load(Path(path)).lattice
        if lattice is not None:
            kept = f"{len(lattice.arcs)} of {lattice.arcs_in_all:,} phrase pairs in the lattice are drawn."
            parts.append({"heading": name, "text": kept, "svg": svg(*draw_lattice(lattice))})
    nothing = "No system has a lattice of its own of a sentence with words."
    write_page(output, PAGE, title="Lattice of a sentence", about=to_html(about), parts=parts, nothing=nothing)


READ = 2000
"""Pairs, the first of the text, among which those that are drawn are chosen: no need to read millions."""

SHOWN_LENGTHS = range(5, 16)
"""Words on the longer side of a pair that is drawn."""

CELL = 0.32
"""Inches of a cell."""

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
    for words, draw in ((source, axes.axvline), (target, axes.axhline)):
        for line in np.arange(len(words) + 1) - 0.5:
            draw(line, color="0.85", linewidth=0.7)
    axes.spines[:].set_visible(False)
    return figure, axes


def mark_links(axes: Axes, forward: Links, backward: Links, chosen: Links, gold: Links = ()) -> None:
    """Draw the alignment of a pair: dots for links that were kept, rings for others that one direction found, squares
    for those that should be there.
    """
    kinds: list[tuple[Links, dict[str, Any]]] = [
        (gold, {"marker": "s", "s": 260, "facecolors": "none", "edgecolors": RED, "label": "gold"}),
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
    languages: dict[str, Any],
    output: Path,
    gold: list[Path] | None = None,
    turned: Sequence[Path] = (),
    about: str = "",
) -> None:
    """Write a page (HTML) with the word alignments of up to ``pairs`` sentence pairs as matrices.

    sources, targets: tokenised texts, one after the other; forward, backward: their alignments in both directions;
    gold: alignments made by hand, one for each text; turned: those of them that give the target's positions first;
    heuristic: how both directions are combined; languages: codes of ``source`` and ``target``; about: Markdown.
    """
    texts = [list(islice(stream_texts(paths), READ)) for paths in (sources, targets)]
    check_as_long(targets[0], sources[0], len(texts[1]), len(texts[0]), ALIGN_AGAIN)
    lengths = [np.array([len(line.split()) for line in text], dtype=np.int64) for text in texts]
    directions = [read_alignments(path, range(READ)) for path in (forward, backward)]
    for links, path in zip(directions, (forward, backward), strict=True):
        check_alignments(links, (lengths[0], lengths[1]), path, sources[0])
    right = None
    if gold:
        right = Ragged.concatenate([links for links, _ in read_gold(gold, turned, sources, targets)])
    longest = np.maximum(*lengths)
    fitting = np.flatnonzero(np.isin(longest, SHOWN_LENGTHS) & (np.minimum(*lengths) > 0))
    drawn = np.sort(np.random.default_rng(seed).choice(fitting, size=min(pairs, len(fitting)), replace=False))
    kept = symmetrise_alignments(directions[0].take(drawn), directions[1].take(drawn), heuristic)
    parts = []
    for place, number in enumerate(drawn.tolist()):
        figure, axes = matrix(spelled(texts[0][number].split()), spelled(texts[1][number].split()), languages)
        gold_links = _cells(right[number]) if right is not None else set()
        mark_links(axes, _cells(directions[0][number]), _cells(directions[1][number]), _cells(kept[place]), gold_links)
        parts.append({"heading": f"Sentence pair {number + 1}", "text": "", "svg": svg(figure, {})})
    write_page(output, PAGE, title="Word alignments", about=to_html(about), parts=parts, nothing="")


def _cells(links: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in links}


def show_attention(*, explanations: dict[str, Any], output: Path, languages: dict[str, Any], about: str = "") -> None:
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
    write_page(output, PAGE, title="Attention of the networks", about=to_html(about), parts=parts, nothing="")
