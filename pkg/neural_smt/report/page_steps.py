"""The step of the report that binds tables and figures into pages."""

import re
from html import escape
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, write_lines
from neural_smt.report.csv_tables import table_html
from neural_smt.report.markdown_html import inline, to_html
from neural_smt.report.page import download, picture, render_page


def show_page(*, title: str, about: str, output: Path, figures: list[Path] = (), tables: list[Path] = ()) -> None:  # type: ignore[assignment]
    """Write a page (HTML, self-contained) of figures (PNG) and tables (Markdown, CSV) with what is to know of them.

    about: reStructuredText as captions have it, paragraphs with ````code```` and ``*stress*`` alone. Of a table that is
    there both as Markdown and as CSV, the Markdown is shown; every CSV can be saved from the page.
    """
    pictures = [picture(path, f"{title}: {_name(path)}") for path in map(Path, figures)]
    paths = [Path(path) for path in tables]
    written = {path.with_suffix("") for path in paths if path.suffix == ".md"}
    documents = [to_html(read_lines(path)) for path in paths if path.suffix == ".md"]
    alone = [path for path in paths if path.suffix == ".csv" and path.with_suffix("") not in written]
    numbers = [table_html(path) if len(alone) == 1 else _named(path) for path in alone]
    saved = [download(path) for path in paths if path.suffix == ".csv"]
    strange = next((path for path in paths if path.suffix not in (".md", ".csv")), None)
    if strange is not None:
        raise UserError(f"{strange}: neither a table in Markdown (.md) nor in CSV (.csv)")
    files = [f'<p class="files">Save as CSV: {" ".join(saved)}</p>'] if saved else []
    body = [*about_html(about), *documents, *pictures, *numbers, *files]
    write_lines(output, [render_page(title, "\n".join(body))])


def about_html(about: str) -> list[str]:
    """The paragraphs of a caption as HTML."""
    paragraphs = re.split(r"\n\s*\n", about.strip()) if about.strip() else []
    return [f'<p class="about">{inline(" ".join(part.split()).replace("``", "`"))}</p>' for part in paragraphs]


def _named(path: Path) -> str:
    return f"<h2>{escape(_name(path).capitalize())}</h2>\n{table_html(path)}"


def _name(path: Path) -> str:
    return path.stem.replace("_", " ").replace(".", ": ")
