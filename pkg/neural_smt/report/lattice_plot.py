"""A pruned lattice as a drawing: how the best translations of a sentence are put together."""

from __future__ import annotations

from pathlib import Path as FilePath

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from neural_smt.io.files import write_lines
from neural_smt.io.plots import BLUE, svg
from neural_smt.report.explanations import Arc, DrawnLattice, Explanation
from neural_smt.report.pages import to_html
from neural_smt.report.rendering import render

STEP, LANE, LETTER = 1.0, 0.48, 0.08
"""Inches of a translated source word, at the least, between arcs that lie above each other, and of a letter."""


def lanes(lattice: DrawnLattice) -> list[int]:
    """A lane for each arc, from 0, so that arcs over the same number of covered words have different ones.

    The better the arc the lower its lane: the best translation is a straight line.
    """
    order = sorted(range(len(lattice.arcs)), key=lambda number: (lattice.arcs[number].behind, number))
    taken: list[list[tuple[int, int]]] = []
    found = [0] * len(order)
    for number in order:
        arc = lattice.arcs[number]
        span = lattice.covered[arc.tail], lattice.covered[arc.head]
        lane = next(
            (lane for lane, spans in enumerate(taken) if all(a >= span[1] or span[0] >= b for a, b in spans)),
            len(taken),
        )
        if lane == len(taken):
            taken.append([])
        taken[lane].append(span)
        found[number] = lane
    return found


def draw_lattice(lattice: DrawnLattice) -> tuple[Figure, dict[str, str]]:
    """The drawing, with the target words of each arc, below them the source words that they translate; titles of arcs
    by gid.
    """
    own = lanes(lattice)
    words = max(len(lattice.source), 1)
    size = (_step(lattice) * words + 0.6, LANE * (max(own, default=0) + 1) + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-0.1, words + 0.1), ylim=(max(own, default=0) + 0.6, -0.6))
    axes.set_xlabel("source words translated so far (number of words)")
    axes.set_xticks(range(words + 1))
    axes.set_yticks([])
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "left", "right"]].set_visible(False)
    # a node stands beside the best arc that it belongs to
    heights = [
        min(own[number] for number, arc in enumerate(lattice.arcs) if node in (arc.tail, arc.head))
        for node in range(len(lattice.covered))
    ]
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
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
    best = arc.behind == 0
    style = {"edgecolor": BLUE, "linewidth": 2.6} if best else {"edgecolor": "0.45", "linewidth": 1.2}
    axes.add_patch(PathPatch(Path(points, codes), fill=False, gid=name, zorder=3, **style))
    words, read = " ".join(arc.words) or "(nothing)", _source(arc, source)
    place = (start + stop) / 2, lane
    text = {"ha": "center", "parse_math": False, "textcoords": "offset points"}
    weight, colour = ("bold", BLUE) if best else ("normal", "black")
    axes.annotate(words, place, (0, 3), va="bottom", fontsize=9, weight=weight, color=colour, **text)
    axes.annotate(read, place, (0, -3), va="top", fontsize=8, color="0.35", **text)
    worse = "part of the best translation" if best else f"{arc.behind:.2f} behind the best translation"
    return f"{read} \u2192 {words}: {worse}"


def _source(arc: Arc, source: list[str]) -> str:
    return " ".join(source[arc.source[0] : arc.source[1]])


def show_lattices(*, explanations: dict, output: FilePath, about: str = "") -> None:
    """Write a page (HTML) with the lattice of a sentence for each system that has one.

    explanations: name -> what ``explain_sentences`` wrote; about: Markdown.
    """
    parts = []
    for name, path in explanations.items():
        lattice = Explanation.load(FilePath(path)).lattice
        if lattice is not None:
            kept = f"{len(lattice.arcs)} of {lattice.arcs_in_all:,} phrase pairs in the lattice are drawn."
            parts.append({"heading": name, "text": kept, "svg": svg(*draw_lattice(lattice))})
    nothing = "No system has a lattice of its own of a sentence with words."
    page = render("drawings.html", title="Lattice of a sentence", about=to_html(about), parts=parts, nothing=nothing)
    write_lines(output, page)
