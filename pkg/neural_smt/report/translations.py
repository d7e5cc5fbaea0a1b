"""Translations of several systems beside each other, as a page."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from html import escape

import numpy as np

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; margin-bottom: 1.6rem; }
td, th { padding: .25rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e4e4e4; }
th { width: 11rem; font-weight: 600; white-space: nowrap; }
caption { text-align: left; color: #777; padding-bottom: .2rem; }
mark { background: #fde3c8; }
""".strip()


def choose(systems: Sequence[Sequence[str]], count: int, generator: np.random.Generator) -> list[int]:
    """Up to ``count`` line numbers (from 0), ascending, drawn from lines that the systems translate differently.

    With one system, or where they never differ, from all lines.
    """
    lines = list(zip(*systems, strict=True))
    differing = [number for number, texts in enumerate(lines) if len(set(texts)) > 1] or list(range(len(lines)))
    drawn = generator.choice(differing, size=min(count, len(differing)), replace=False)
    return sorted(drawn.tolist())


def mark_differences(text: str, reference: str) -> str:
    """HTML of ``text`` with the words that are not in place in ``reference`` marked."""
    words, others = text.split(), reference.split()
    pieces = []
    for tag, start, stop, _, _ in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        piece = escape(" ".join(words[start:stop]))
        if piece:
            pieces.append(piece if tag == "equal" else f"<mark>{piece}</mark>")
    return " ".join(pieces)


def render(numbers: Sequence[int], source: Sequence[str], reference: Sequence[str], systems: Mapping[str, list]) -> str:
    """The page: one small table per sentence."""
    tables = []
    for number in numbers:
        rows = [_row("Source", escape(source[number])), _row("Reference", escape(reference[number]))]
        rows += [_row(name, mark_differences(lines[number], reference[number])) for name, lines in systems.items()]
        tables.append(f"<table>\n<caption>line {number + 1}</caption>\n" + "\n".join(rows) + "\n</table>")
    head = f'<meta charset="utf-8">\n<title>Translations</title>\n<style>\n{STYLE}\n</style>'
    body = "<h1>Translations</h1>\n<p>Words that the reference does not have in that place are marked.</p>"
    return (
        f"<!doctype html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}\n" + "\n".join(tables) + "\n</body>\n</html>"
    )


def _row(name: str, cell: str) -> str:
    return f"<tr><th>{escape(name)}</th><td>{cell}</td></tr>"
