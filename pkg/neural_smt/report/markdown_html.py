"""HTML of the Markdown that the report's tables and remarks are written in.

What is understood: headings, paragraphs, lists of one level, tables with aligned columns, ``**strong**`` words,
``*stressed*`` ones and `` `code` ``, and a backslash before a mark that shall stand for itself. All else is plain text.
"""

import re
from collections.abc import Sequence
from html import escape, unescape

MARKS = re.compile(
    r"\\(?P<plain>[\\`*_|#<>-])|`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|\*(?P<stressed>[^*\s][^*]*)\*"
)
RULE = re.compile(r"\|(\s*:?-{3,}:?\s*\|)+")
MARKED = re.compile(r"(?P<number>.*\d) ?(?P<marks>\*{1,3})")
ITEM = re.compile(r"[-*] +")


def inline(text: str) -> str:
    """HTML of a text without line breaks that matter; characters written as entities are shown as themselves."""
    pieces, place = [], 0
    for found in MARKS.finditer(text):
        pieces.append(_plain(text[place : found.start()]))
        kind, content = found.lastgroup, _plain(found[found.lastgroup])
        tag = {"code": "code", "strong": "strong", "stressed": "em"}.get(kind)
        pieces.append(f"<{tag}>{content}</{tag}>" if tag else content)
        place = found.end()
    return "".join([*pieces, _plain(text[place:])])


def _plain(text: str) -> str:
    return escape(unescape(text), quote=False)


def to_html(lines: Sequence[str]) -> str:
    """HTML of a document; its headings begin with ``h2``, and one of the first level is left out: it is the title."""
    blocks: list[str] = []
    place = 0
    while place < len(lines):
        stop = _block_end(lines, place)
        block = [line.strip() for line in lines[place:stop]]
        blocks += _block(block) if block[0] else []
        place = stop
    return "\n".join(blocks)


def _block_end(lines: Sequence[str], start: int) -> int:
    """Where the block ends that begins with a line: a heading is one by itself, all others end before an empty line."""
    if not lines[start].strip() or lines[start].startswith("#"):
        return start + 1
    stop = start + 1
    while stop < len(lines) and lines[stop].strip() and not lines[stop].startswith("#"):
        stop += 1
    return stop


def _block(block: Sequence[str]) -> list[str]:
    if block[0].startswith("#"):
        level = len(block[0]) - len(block[0].lstrip("#"))
        return [f"<h{level}>{inline(block[0].lstrip('# '))}</h{level}>"] if level > 1 else []
    if len(block) > 1 and block[0].startswith("|") and RULE.fullmatch(block[1]):
        return [_table(block)]
    if ITEM.match(block[0]):
        return [_list(block)]
    return [f"<p>{inline(' '.join(block))}</p>"]


def _list(block: Sequence[str]) -> str:
    items: list[str] = []
    for line in block:
        if ITEM.match(line):
            items.append(ITEM.sub("", line, count=1))
        else:
            items[-1] += " " + line
    return "<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>"


def _table(block: Sequence[str]) -> str:
    header, rule, *rows = (_cells(line) for line in block)
    return table([inline(cell) for cell in header], [[inline(c) for c in row] for row in rows], [r[-1:] for r in rule])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[str]) -> str:
    """HTML of a table whose cells are HTML; sides: ``:`` for each column of numbers, aligned right.

    A table that is wider than the page is moved by itself, the page stays.
    """
    kinds = [' class="number"' if side == ":" else "" for side in sides]
    marked = {column for row in rows for column, cell in enumerate(row) if kinds[column] and MARKED.fullmatch(cell)}
    rows = [[_with_room(cell) if column in marked else cell for column, cell in enumerate(row)] for row in rows]
    head = "".join(f'<th scope="col"{kind}>{cell}</th>' for kind, cell in zip(kinds, header, strict=True))
    body = "\n".join("<tr>" + _row(row, kinds) + "</tr>" for row in rows)
    return (
        '<div class="wide" tabindex="0" role="group" aria-label="table"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def _with_room(cell: str) -> str:
    """A number in a column where some have marks of significance: all get the same room for them."""
    found = MARKED.fullmatch(cell)
    number, marks = (found["number"], found["marks"]) if found else (cell, "")
    return f'{number} <span class="marks">{marks}</span>'


def _row(row: Sequence[str], kinds: Sequence[str]) -> str:
    first, *others = (f"{kind}>{cell}" for kind, cell in zip(kinds, row, strict=True))
    return f'<th scope="row"{first}</th>' + "".join(f"<td{cell}</td>" for cell in others)
