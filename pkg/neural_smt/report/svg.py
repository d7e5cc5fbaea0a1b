"""Parts of drawings (SVG inside pages); colours come from the page, light or dark."""

from collections.abc import Iterable
from html import escape

LETTER = 7.4
"""Width of a letter of 13 pixels, on the average."""

STYLE = """
.picture { margin: 1rem 0; } .picture svg { display: block; max-width: none; }
.picture text { font: 13px system-ui, sans-serif; fill: var(--text); paint-order: stroke; stroke: var(--back);
  stroke-width: 4px; stroke-linejoin: round; }
.picture .axis, .picture .small { fill: var(--soft); font-size: 12px; } .picture .axis { font-weight: 600; }
.picture .grid { stroke: var(--line); stroke-width: 1; }
""".strip()


def element(name: str, content: str = "", **attributes: object) -> str:
    """An element; ``_`` at the end of an attribute's name is left out, others stand for ``-``; content: markup."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value), quote=True)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{shown}>{content}</{name}>" if content else f"<{name}{shown}/>"


def lettering(words: str, x: float, y: float, **attributes: object) -> str:
    """Text at a place."""
    return element("text", escape(words, quote=False) or " ", x=x, y=y, **attributes)


def drawing(width: float, height: float, label: str, parts: Iterable[str]) -> str:
    """A whole drawing (pixels), which moves by itself where the page is narrower; label: what it shows, in words."""
    content = "\n".join(parts)
    size = {"width": round(width), "height": round(height), "viewBox": f"0 0 {width:.0f} {height:.0f}"}
    name = escape(label, quote=True)
    return (
        f'<div class="wide picture" tabindex="0" role="group" aria-label="{name}">'
        f"{element('svg', content, role='img', aria_label=label, **size)}</div>"
    )


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
