"""Steps of the report that show what the systems make of single sentences."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, read_parallel, write_json, write_lines
from neural_smt.report import lattice_picture, matrix_picture, svg, translations
from neural_smt.report.explanations import Chosen, Explanation
from neural_smt.report.page import render_page
from neural_smt.report.page_steps import about_html

DRAWN_WORDS = 9
"""Words of the sentence that is drawn, if there is one of so many: it fills a page and no more."""


def choose_sentences(*, source: Path, systems: dict, sentences: int, seed: int, output: Path) -> None:
    """Draw up to ``sentences`` lines that the systems translate differently, and one of them to draw (JSON).

    source: tokenised text; systems: name -> its translation of the text.
    """
    lines, texts = read_lines(source), _translations(systems, source)
    numbers = translations.choose(list(texts.values()), sentences, np.random.default_rng(seed))
    lengths = {number: len(lines[number].split()) for number in numbers}
    drawn = min((n for n in numbers if lengths[n]), key=lambda n: abs(lengths[n] - DRAWN_WORDS), default=None)
    write_json(output, {"sentences": numbers, "drawn": drawn})


def show_translations(
    *,
    source: Path,
    reference: Path,
    systems: dict,
    chosen: Path,
    output: Path,
    explanations: dict | None = None,
    languages: dict | None = None,
    about: str = "",
) -> None:
    """Write a page (HTML) with sentences that the systems translate differently.

    source, reference, systems (name -> file): texts with one sentence a line, the first system being the one that
    others are compared with; chosen: what ``choose_sentences`` wrote; explanations: name -> what ``explain_sentences``
    wrote; languages: codes of ``source`` and ``target``.
    """
    sources, references = read_parallel(source, reference)
    texts = _translations(systems, source)
    explained = {name: Explanation.load(Path(path)) for name, path in (explanations or {}).items()}
    about = "\n".join(about_html(about))
    numbers = Chosen.load(chosen).sentences
    write_lines(output, [translations.render(numbers, sources, references, texts, explained, languages, about)])


def _translations(systems: Mapping[str, str], source: Path) -> dict[str, list[str]]:
    count, texts = len(read_lines(source)), {name: read_lines(Path(path)) for name, path in systems.items()}
    for name, lines in texts.items():
        if len(lines) != count:
            raise UserError(f"{systems[name]} has {len(lines)} lines but {source} has {count}; translate it again")
    return texts


def show_lattices(*, explanations: dict, output: Path, about: str = "") -> None:
    """Write a page (HTML) with the lattice of a sentence for each system that has one.

    explanations: name -> what ``explain_sentences`` wrote.
    """
    parts = [*about_html(about)]
    for name, path in explanations.items():
        lattice = Explanation.load(Path(path)).lattice
        if lattice is not None:
            kept = f"{len(lattice.arcs)} of {lattice.arcs_in_all:,} phrase pairs in the lattice are drawn."
            parts += [f"<h2>{escape(name, quote=False)}</h2>", f"<p>{kept}</p>", lattice_picture.draw_lattice(lattice)]
    if len(parts) == len(about_html(about)):
        parts.append("<p>No system has a lattice of its own of a sentence with words.</p>")
    style = f"{svg.STYLE}\n{lattice_picture.STYLE}"
    write_lines(output, [render_page("Lattice of a sentence", "\n".join(parts), style)])


def show_attention(*, explanations: dict, output: Path, languages: dict, about: str = "") -> None:
    """Write a page (HTML) with what each attention network looked at while it wrote one sentence.

    explanations: name -> what ``explain_sentences`` wrote; languages: codes of ``source`` and ``target``.
    """
    parts, end = [*about_html(about)], "(end)"
    for name, path in explanations.items():
        for explained in Explanation.load(Path(path)).sentences:
            if explained.attention:
                marks = matrix_picture.attention_marks(explained.attention)
                words = [*explained.source, end], [*explained.target, end]
                label = f"Attention of {name}"
                parts += [
                    f"<h2>{escape(name, quote=False)}</h2>",
                    matrix_picture.draw_matrix(*words, matrix_picture.axes(languages), label, marks),
                ]
    style = f"{svg.STYLE}\n{matrix_picture.STYLE}"
    write_lines(output, [render_page("Attention of the networks", "\n".join(parts), style)])
