"""Translations of several systems beside each other, as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from itertools import groupby

import numpy as np

from neural_smt.report.explanations import Explained, Explanation
from neural_smt.report.page import render_page
from neural_smt.report.translations_look import SCRIPT, STYLE

COLOURS = 6

SHOWN = 8
"""Systems that are shown at first; others when their boxes are checked."""


def choose(systems: Sequence[Sequence[str]], count: int, generator: np.random.Generator) -> list[int]:
    """Up to ``count`` line numbers (from 0), ascending, drawn from lines that the systems translate differently.

    With one system, or where they never differ, from all lines.
    """
    lines = list(zip(*systems, strict=True))
    differing = [number for number, texts in enumerate(lines) if len(set(texts)) > 1] or list(range(len(lines)))
    drawn = generator.choice(differing, size=min(count, len(differing)), replace=False)
    return sorted(drawn.tolist())


def differing(text: str, other: str) -> list[bool]:
    """Of each word of ``text`` whether it is not in its place in ``other``."""
    words = text.split()
    found = [True] * len(words)
    for block in SequenceMatcher(None, words, other.split(), autojunk=False).get_matching_blocks():
        found[block.a : block.a + block.size] = [False] * block.size
    return found


def mark_differences(text: str, reference: str, baseline: str | None = None) -> str:
    """HTML of ``text``: words that are not in place in ``reference`` have the class r, those that are not in place in
    ``baseline`` the class b.
    """
    words = text.split()
    against = [differing(text, reference), [False] * len(words) if baseline is None else differing(text, baseline)]
    kinds = [
        " ".join(name for name, flag in zip("rb", flags, strict=True) if flag) for flags in zip(*against, strict=True)
    ]
    pieces = []
    for kind, group in groupby(zip(kinds, words, strict=True), key=lambda pair: pair[0]):
        shown = escape(" ".join(word for _, word in group), quote=False)
        pieces.append(f'<span class="{kind}">{shown}</span>' if kind else shown)
    return " ".join(pieces)


def render(
    numbers: Sequence[int],
    sources: Sequence[str],
    references: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    explanations: Mapping[str, Explanation] | None = None,
    languages: Mapping[str, str] | None = None,
    about: str = "",
) -> str:
    """A page (HTML) that compares translations of the lines ``numbers`` with the reference; systems by their names.

    The first system is the one that others are compared with; explanations: of some systems, of these lines in this
    order; languages: codes of ``source`` and ``target``; about: HTML.
    """
    names, first = list(systems), next(iter(systems), "")
    spoken = {"source": "", "target": ""} | {side: f' lang="{code}"' for side, code in (languages or {}).items()}
    articles = []
    for place, number in enumerate(numbers):
        rows = [
            _row("Source", escape(sources[number], quote=False), spoken["source"]),
            _row("Reference", escape(references[number], quote=False), spoken["target"]),
        ]
        for index, name in enumerate(names):
            baseline = None if name == first else systems[first][number]
            marked = mark_differences(systems[name][number], references[number], baseline)
            explanation = (explanations or {}).get(name)
            below = phrase_list(explanation.sentences[place]) if explanation else ""
            rows.append(
                _row(
                    name, marked, spoken["target"], f' data-system="{index}"{"" if index < SHOWN else " hidden"}', below
                )
            )
        articles.append(f"<article>\n<h2>Sentence {number + 1}</h2>\n" + "\n".join(rows) + "\n</article>")
    body = "\n".join([about, _tools(names, first, len(numbers)), *articles])
    return render_page("Translations side by side", body, STYLE, SCRIPT)


def _tools(names: Sequence[str], first: str, count: int) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" data-show="{index}"{" checked" if index < SHOWN else ""}>{escape(name)}</label>'
        for index, name in enumerate(names)
    )
    other = f'<option value="baseline">not in {escape(first)}</option>' if len(names) > 1 else ""
    return (
        '<div class="tools">'
        '<label>Search <input id="query" type="search" placeholder="a word" autocomplete="off"></label>'
        f'<label>Mark words <select id="against"><option value="reference">not in the reference</option>{other}'
        '<option value="">not at all</option></select></label>'
        '<label><input type="checkbox" id="phrases">Phrases</label>'
        f'{boxes}<span id="count" role="status">{count} sentences</span></div>'
    )


def _row(name: str, shown: str, language: str, attributes: str = "", below: str = "") -> str:
    return f'<div class="row"{attributes}><b>{escape(name)}</b><p{language}>{shown or "&nbsp;"}</p>{below}</div>'


def phrase_list(explained: Explained) -> str:
    """HTML of how a translation was put together: a box for each phrase, or for each word of a network that writes word
    by word, with the source words it comes from and their positions, counted from 1.
    """
    boxes = explained.phrases or _looked_at(explained)
    items = []
    for number, (start, stop, begin, end) in enumerate(boxes):
        words = escape(" ".join(explained.target[begin:end]), quote=False) or "<i>nothing</i>"
        read = escape(" ".join(explained.source[start:stop]), quote=False) or "no word"
        positions = f"{start + 1}" if stop <= start + 1 else f"{start + 1}\u2013{stop}"
        note = f"{positions} {read}" if stop > start else read
        items.append(f'<li class="c{number % COLOURS}">{words}<small>{note}</small></li>')
    return f'<ol class="phrases" hidden>{"".join(items)}</ol>' if items else ""


def _looked_at(explained: Explained) -> list[list[int]]:
    """A range of one word for each target word, and the source word that it is linked with (an empty range: none)."""
    source = {j: i for i, j in explained.links}
    return [[source.get(j, 0), source[j] + 1 if j in source else 0, j, j + 1] for j in range(len(explained.target))]
