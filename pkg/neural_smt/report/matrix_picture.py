"""Sentence pairs as matrices: which source word goes with which target word."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from neural_smt.report.svg import LETTER, drawing, element, lettering

CELL = 26.0
SLANT = 0.77
"""Height of a slanted word per pixel of its length."""

STYLE = """
.cell { fill: var(--panel); stroke: var(--line); } .both { fill: var(--strong); }
.one { fill: none; stroke: var(--strong); stroke-width: 2.5; } .gold { fill: none; stroke: #c2410c; stroke-width: 2.5; }
.weight { fill: var(--strong); }
@media (prefers-color-scheme: dark) { .gold { stroke: #ffa25c; } }
""".strip()

Mark = Callable[[int, int, float, float], str]
"""Draws what is in a cell: source and target position, left and upper edge."""


def draw_matrix(source: Sequence[str], target: Sequence[str], names: tuple[str, str], label: str, mark: Mark) -> str:
    """HTML of a matrix with a column for each source word and a row for each target word.

    names: of the axes; label: what is shown, in words.
    """
    left = 34 + LETTER * max([len(names[1]), *map(len, target)])
    slanted = SLANT * LETTER * max(map(len, source), default=1)
    top = 34 + slanted
    width, height = left + CELL * len(source) + slanted + 16, top + CELL * len(target) + 12
    parts = [
        lettering(f"{names[0]} \u2192", left, 16, class_="axis"),
        lettering(f"{names[1]} \u2193", 4, top - 10, class_="axis"),
    ]
    for i, word in enumerate(source):
        x, y = left + CELL * (i + 0.65), top - 6
        parts.append(lettering(word, x, y, transform=f"rotate(-50 {x:.0f} {y:.0f})"))
    for j, word in enumerate(target):
        parts.append(lettering(word, left - 8, top + CELL * (j + 0.68), text_anchor="end"))
        for i in range(len(source)):
            x, y = left + CELL * i, top + CELL * j
            parts.append(element("rect", x=x, y=y, width=CELL, height=CELL, class_="cell"))
            parts.append(mark(i, j, x, y))
    return drawing(width, height, label, parts)


def axes(languages: Mapping[str, str]) -> tuple[str, str]:
    """Names of the axes; languages: codes of ``source`` and ``target``."""
    return f"source words ({languages['source']})", f"target words ({languages['target']})"


Links = Collection[tuple[int, int]]


def alignment_marks(forward: Links, backward: Links, chosen: Links, gold: Links = ()) -> Mark:
    """What is drawn of the alignment of a pair: a link of one direction, of both, whether it was kept, and whether it
    should be there.
    """

    def mark(i: int, j: int, x: float, y: float) -> str:
        cell, middle = (i, j), {"cx": x + CELL / 2, "cy": y + CELL / 2}
        parts = []
        if cell in gold:
            parts.append(element("rect", x=x + 2.5, y=y + 2.5, width=CELL - 5, height=CELL - 5, class_="gold"))
        if cell in chosen:
            parts.append(element("circle", r=6.5, class_="both", **middle))
        elif cell in forward or cell in backward:
            parts.append(element("circle", r=5.5, class_="one", **middle))
        return "".join(parts)

    return mark


def attention_marks(weights: Sequence[Sequence[float]]) -> Mark:
    """Squares whose area is the weight of a source word (column) for a target word (row)."""

    def mark(i: int, j: int, x: float, y: float) -> str:
        side = (CELL - 3) * weights[j][i] ** 0.5
        if side < 1:
            return ""
        title = element("title", f"{weights[j][i]:.3f}")
        place = {"x": x + (CELL - side) / 2, "y": y + (CELL - side) / 2}
        return element("rect", title, width=side, height=side, class_="weight", **place)

    return mark
