"""Pages of the report, from the templates beside this module: one file each, of HTML that loads nothing else."""

import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, read_yaml, write_lines
from neural_smt.io.tables import Column, as_numbers, markdown, read_frame, table, texts
from neural_smt.report.papers import FOLDER as DATA_FOLDER

FOLDER = Path(__file__).parent / "templates"

LONG = 25
"""Tables with more rows are folded."""

NAMES = {"pairs": "Sentence pairs", "words": "Predicted words"}
"""Headings of columns that mean something else in tables of costs and of training."""

MARKED = re.compile(r"(?P<number>.*\d) ?(?P<marks>\*{1,3})")


@cache
def environment(folder: Path = FOLDER) -> Environment:
    """The templates of a folder; undefined names are errors, and values in pages of HTML are escaped."""
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["star"] = "\\*"
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return made


def render(template: str, **values: Any) -> list[str]:
    """The lines of a template of ``templates/`` with values in it; Markdown has one empty line between blocks."""
    text = environment().get_template(template).render(**values)
    if template.endswith(".md"):
        text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
    return text.split("\n")


def write_page(path: Path, template: str, **values: Any) -> None:
    """Write a template with values in it."""
    write_lines(path, render(template, **values))


def show_page(
    *,
    title: str,
    output: Path,
    about: str = "",
    figures: Sequence[Path] = (),
    tables: Sequence[Path] = (),
    template: Literal["figures.html", "start.html"] = "figures.html",
) -> None:
    """Write a page (HTML, self-contained) of figures (PNG) and tables (Markdown, CSV) with what is to know of them.

    about: paragraphs of Markdown. Of a table that is there both as Markdown and as CSV, the Markdown is shown; every
    CSV can be saved from the page. template: ``start.html`` is the part of Snakemake's report that it opens on.
    """
    paths = [Path(path) for path in tables]
    unknown = next((path for path in paths if path.suffix not in (".md", ".csv")), None)
    if unknown is not None:
        raise UserError(f"{unknown}: neither a table in Markdown (.md) nor in CSV (.csv)")
    written = {path.with_suffix("") for path in paths if path.suffix == ".md"}
    alone = [path for path in paths if path.suffix == ".csv" and path.with_suffix("") not in written]
    write_page(
        output,
        template,
        title=title,
        about=to_html(about),
        documents=[to_html("\n".join(read_lines(path))) for path in paths if path.suffix == ".md"],
        figures=[{"name": _name(path), "data": _encoded(path)} for path in map(Path, figures)],
        tables=[{"name": _name(path) if len(alone) > 1 else "", **table_html(path)} for path in alone],
        files=[{"name": path.name, "data": _encoded(path)} for path in paths if path.suffix == ".csv"],
    )


@cache
def read_columns(table: str) -> dict[str, Column]:
    """The columns of a table of ``data/columns.yaml`` by name."""
    return {name: Column(**own) for name, own in read_yaml(DATA_FOLDER / "columns.yaml")[table].items()}


def table_html(path: Path) -> dict[str, Any]:
    """A CSV table as readers want it, as ``html``: columns named in words with their units, numbers short.

    ``rows`` is how many there are if these are many, else 0. ``UserError`` names the file and the column that holds no
    number where there must be one.
    """
    rows = read_frame(path)
    if rows.empty:
        return {"html": "", "rows": 0}
    known = read_columns("csv")
    columns = {name: known.get(name, Column(name.replace("_", " ").capitalize())) for name in rows.columns}
    renamed = NAMES if {"fitted_seconds", "updates"} & columns.keys() else {}
    cells = {name: _shown(path, name, rows[name], own.shown) for name, own in columns.items()}
    shown = table(*((renamed.get(name, columns[name].heading), own) for name, own in cells.items()))
    sides = ["right" if own.shown else "left" for own in columns.values()]
    return {"html": to_html(markdown(shown, sides)), "rows": len(rows) if len(rows) > LONG else 0}


def _shown(path: Path, name: str, values: pd.Series, number_format: str) -> list[str]:
    if name == "chosen":
        return ["yes" if text == "1" else "" for text in values]
    if not number_format:
        return [text.replace("_", " ") if name in ("stage", "rule", "method") else text for text in values]
    as_numbers(values, path, "make the table again")
    return texts(values, number_format)


def to_html(text: str) -> str:
    """HTML of Markdown without a heading of the first level, which is the title of its page."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.core.ruler.push("no_title", _drop_title)
    parser.core.ruler.push("room_for_marks", _make_room_for_marks)
    parser.core.ruler.push("frames", _frame_tables)
    return parser.render(text)


def _drop_title(state: StateCore) -> None:
    if state.tokens and state.tokens[0].type == "heading_open" and state.tokens[0].tag == "h1":
        del state.tokens[:3]


def _frame_tables(state: StateCore) -> None:
    """Let tables that are wider than their page scroll by themselves, and name rows and columns by their headers."""
    frame = {"class": "wide", "tabindex": "0", "role": "group", "aria-label": "table"}
    tokens: list[Token] = []
    for token in state.tokens:
        first = bool(tokens) and tokens[-1].type == "tr_open"
        if token.type == "table_open":
            tokens.append(Token("div_open", "div", 1, attrs=dict(frame), block=True))
        if token.type == "th_open" or (token.type == "td_open" and first):
            token.tag, heads_row = "th", token.type == "td_open"
            token.attrSet("scope", "row" if heads_row else "col")
        if token.type == "td_close" and tokens[-2].attrGet("scope") == "row":
            token.tag = "th"
        tokens.append(token)
        if token.type == "table_close":
            tokens.append(Token("div_close", "div", -1, block=True))
    state.tokens = tokens


def _make_room_for_marks(state: StateCore) -> None:
    """In columns of numbers where some have marks of significance, give all cells the same room for them."""
    cells, table, column = [], 0, 0
    for before, token in pairwise(state.tokens):
        table += token.type == "table_open"
        column = 0 if token.type == "tr_open" else column + (token.type == "td_close")
        if before.type == "td_open" and "right" in str(before.attrs.get("style")):
            text = "".join(child.content for child in token.children or [])
            cells.append(((table, column), token, text, MARKED.fullmatch(text)))
    marked = {place for place, _, _, found in cells if found}
    for place, token, text, found in cells:
        if place in marked:
            number, marks = (found["number"], found["marks"]) if found else (text, "")
            token.children = [
                Token("text", "", 0, content=f"{number} "),
                Token("span_open", "span", 1, attrs={"class": "marks"}),
                Token("text", "", 0, content=marks),
                Token("span_close", "span", -1),
            ]


def _encoded(path: Path) -> str:
    return b64encode(path.read_bytes()).decode()


def _name(path: Path) -> str:
    return path.stem.replace("_", " ").replace(".", ": ")
