"""Pages of tables and figures: Markdown and CSV as HTML, figures inside, nothing from outside."""

import re
from base64 import b64decode
from pathlib import Path

import pandas as pd
import pytest
from refusals import check_refused

from neural_smt.io.files import read_yaml, write_lines
from neural_smt.io.tables import markdown, write_rows
from neural_smt.report.pages import show_page, table_html, to_html

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
CELL = re.compile(r"<t[hd]\b[^>]*>(.*?)</t[hd]>")


@pytest.mark.parametrize(("text", "html"), read_yaml(Path(__file__).with_name("marks.yaml")))
def test_marks_of_markdown(text: str, html: str) -> None:
    assert to_html(text) == f"<p>{html}</p>\n"


def test_a_document_of_headings_lists_and_paragraphs() -> None:
    lines = ["# Title", "", "One", "two.", "## Part", "- a", "  b", "- c", "", "  "]
    html = "<p>One\ntwo.</p>\n<h2>Part</h2>\n<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>\n"
    assert to_html("\n".join(lines)) == html
    assert to_html("") == ""


def test_tables_keep_their_cells_and_sides() -> None:
    rows = [["A | B", "1.50 ***", ""], ["<c>", "-", "2"]]
    html = to_html(markdown(pd.DataFrame(rows, columns=["System", "dev", "test"])))
    marks = '<span class="marks">{}</span>'.format
    cells = ["A | B", f"1.50 {marks('***')}", "", "&lt;c&gt;", f"- {marks('')}", "2"]
    assert CELL.findall(html) == ["System", "dev", "test", *cells], "numbers stay in line beside marks"
    assert html.count('style="text-align:right"') == 6, "all but the first column"
    assert html.count('scope="row"') == 2
    assert "<table" not in to_html("| no | rule |\n| 1 | 2 |")


def test_numbers_of_csv_tables_have_headings_with_units(tmp_path: Path) -> None:
    header = ["stage", "rule", "jobs", "seconds", "cpu_seconds", "peak_memory_mb"]
    write_rows(tmp_path / "costs.csv", header, [["language_model", "build_x", 2, "1234.567", "", "88.2"]])
    headings = ["Stage", "Rule", "Jobs", "Wall time (s)", "CPU time (s)", "Peak memory of one job (MB)"]
    cells = ["language model", "build x", "2", "1,234.6", "", "88"]
    assert CELL.findall(table_html(tmp_path / "costs.csv")["html"]) == [*headings, *cells]
    # a pair is not a line where costs grow with pairs
    write_rows(tmp_path / "a.csv", ["pairs", "cpu_seconds", "fitted_seconds"], [[2000, "1", "2"]])
    write_rows(tmp_path / "b.csv", ["source", "pairs"], [["news", 2000]])
    assert CELL.findall(table_html(tmp_path / "a.csv")["html"])[0] == "Sentence pairs"
    assert CELL.findall(table_html(tmp_path / "b.csv")["html"]) == ["Source", "Lines", "news", "2,000"]


def test_long_tables_are_folded_and_faults_named(tmp_path: Path) -> None:
    write_rows(tmp_path / "t.csv", ["updates", "train_cost"], [[n, "0.5"] for n in range(26)])
    page = {"title": "", "about": "", "tables": [tmp_path / "t.csv"], "output": tmp_path / "t.html"}
    show_page(**page)
    assert "<summary>The numbers (26 rows)</summary>" in (tmp_path / "t.html").read_text()
    write_rows(tmp_path / "t.csv", ["updates", "train_cost"], [[1, "much"]])
    check_refused(["t.csv", "train_cost", "'much'"], table_html, tmp_path / "t.csv")
    write_rows(tmp_path / "t.csv", ["updates"], [])
    show_page(**page)
    assert "<p>This table has no rows.</p>" in (tmp_path / "t.html").read_text()


def test_a_page_holds_its_figures_and_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "plot.png").write_bytes(b"\x89PNG picture")
    write_lines(tmp_path / "bleu.md", ["# Not the title", "", markdown(pd.DataFrame({"a": ["c"], "b": ["1"]}))])
    for name in ("bleu", "first", "second"):
        write_rows(tmp_path / f"{name}.csv", ["words"], [[7]])
    show_page(
        title="BLEU <1>",
        about="One ``code``,\ntwo *words*.\n\nMore.\n",
        figures=[tmp_path / "plot.png"],
        tables=[tmp_path / name for name in ("bleu.md", "bleu.csv", "first.csv", "second.csv")],
        output=tmp_path / "page.html",
    )
    page = (tmp_path / "page.html").read_text()
    assert page.count("<h1>BLEU &lt;1&gt;</h1>") == 1 and "Not the title" not in page
    assert "<p>One <code>code</code>,\ntwo <em>words</em>.</p>\n<p>More.</p>" in page
    (picture,) = re.findall(r'<img src="data:image/png;base64,([^"]+)"', page)
    assert b64decode(picture) == b"\x89PNG picture"
    saved = re.findall(r'<a download="([^"]+)" href="data:text/csv;base64,([^"]+)">', page)
    assert [name for name, _ in saved] == ["bleu.csv", "first.csv", "second.csv"]
    assert {b64decode(content) for _, content in saved} == {b"words\n7\n"}
    assert page.count("<table>") == 3, "the Markdown, and the CSV that is there alone"
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert POLICY in page
    given = {"tables": [tmp_path / "plot.png"], "output": tmp_path / "other.html"}
    check_refused(["plot.png", "Markdown"], show_page, title="", about="", **given)
    assert not (tmp_path / "other.html").exists()
