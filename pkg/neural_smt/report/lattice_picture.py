"""A pruned lattice as a drawing: how the best translations of a sentence are put together."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from neural_smt.report.explanations import Arc, DrawnLattice
from neural_smt.report.svg import LETTER, drawing, element, lettering

STEP, LANE = 96.0, 46.0
"""Pixels of a translated source word, at the least, and between arcs that lie above each other."""

LEFT, TOP, BOTTOM = 24.0, 30.0, 64.0

STYLE = """
.arc path { fill: none; stroke: var(--soft); stroke-width: 1.4; }
.arc.best path { stroke: var(--strong); stroke-width: 3; }
.arc.best text.words { font-weight: 700; fill: var(--strong); } .node { fill: var(--text); }
.arc:hover path, .arc:focus path { stroke: var(--text); stroke-width: 3; }
""".strip()


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


def draw_lattice(lattice: DrawnLattice) -> str:
    """HTML of the drawing: target words on each arc, below them the source words that they translate."""
    own = lanes(lattice)
    step = _step(lattice)
    across = [LEFT + step * covered for covered in lattice.covered]
    up = [TOP + LANE * (lane + 0.5) for lane in own]
    nodes = _node_heights(lattice, own, up)
    height = TOP + LANE * (max(own, default=0) + 1) + BOTTOM
    width = 2 * LEFT + step * len(lattice.source)
    parts = [*_axis(lattice, step, height)]
    worst_first = sorted(range(len(own)), key=lambda number: -lattice.arcs[number].behind)
    parts += [_arc(lattice.arcs[n], lattice.source, across, nodes, up[n]) for n in worst_first]
    parts += [element("circle", cx=x, cy=y, r=4, class_="node") for x, y in zip(across, nodes, strict=True)]
    return drawing(width, height, "Lattice of the sentence", parts)


def _step(lattice: DrawnLattice) -> float:
    """Pixels of a source word, so that every arc has room for its words."""
    needed = [
        (LETTER * max(len(" ".join(arc.words)), len(_source(arc, lattice.source))) + 44)
        / (lattice.covered[arc.head] - lattice.covered[arc.tail])
        for arc in lattice.arcs
    ]
    return min(max([STEP, *needed]), 2 * STEP)


def _node_heights(lattice: DrawnLattice, own: Sequence[int], up: Sequence[float]) -> list[float]:
    """A node stands beside the best arc that it belongs to."""
    best = [
        min((own[n], up[n]) for n, arc in enumerate(lattice.arcs) if node in (arc.tail, arc.head))
        for node in range(len(lattice.covered))
    ]
    return [height for _, height in best]


def _arc(arc: Arc, source: Sequence[str], across: Sequence[float], nodes: Sequence[float], y: float) -> str:
    x, end = across[arc.tail], across[arc.head]
    bend = min(22.0, (end - x) / 4)
    path = (
        f"M{x:.0f} {nodes[arc.tail]:.0f}C{x + bend:.0f} {nodes[arc.tail]:.0f} {x + bend / 2:.0f} {y:.0f} "
        f"{x + bend:.0f} {y:.0f}L{end - bend:.0f} {y:.0f}C{end - bend / 2:.0f} {y:.0f} {end - bend:.0f} "
        f"{nodes[arc.head]:.0f} {end:.0f} {nodes[arc.head]:.0f}"
    )
    words, read = " ".join(arc.words) or "(nothing)", _source(arc, source)
    worse = "part of the best translation" if arc.behind == 0 else f"{arc.behind:.2f} behind the best translation"
    title = element("title", escape(f"{read} \u2192 {words}: {worse}"))
    middle = (x + end) / 2
    texts = [
        lettering(words, middle, y - 5, text_anchor="middle", class_="words"),
        lettering(read, middle, y + 14, text_anchor="middle", class_="small"),
    ]
    kind = "arc best" if arc.behind == 0 else "arc"
    return element("g", title + element("path", d=path) + "".join(texts), class_=kind)


def _source(arc: Arc, source: Sequence[str]) -> str:
    return " ".join(source[arc.source[0] : arc.source[1]])


def _axis(lattice: DrawnLattice, step: float, height: float) -> list[str]:
    """Lines where one more source word is translated, and the axis below."""
    base = height - BOTTOM + 8
    parts = []
    for covered in range(len(lattice.source) + 1):
        x = LEFT + step * covered
        parts.append(element("line", x1=x, x2=x, y1=TOP - 12, y2=base, class_="grid"))
        parts.append(lettering(str(covered), x, base + 18, text_anchor="middle", class_="small"))
    parts.append(lettering("source words translated so far (number of words)", LEFT, base + 42, class_="axis"))
    return parts
