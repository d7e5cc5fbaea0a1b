"""How systems translate single sentences: which are chosen, what explains them, and a page with all side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import compress, groupby
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.errors import UserError
from neural_smt.experiment.settings import read_described
from neural_smt.io.files import MAKE_AGAIN, check_as_long, read_lines, read_parallel, write_json
from neural_smt.report.pages import to_html, write_page

DRAWN_WORDS = 9
"""Words of the sentence that is drawn, if there is one of so many: it fills a page and no more."""

SHOWN = 8
"""Systems that are shown at first; others when their boxes are checked."""


@dataclass(frozen=True)
class Explained:
    """A translation of a sentence, its words as a person spells them.

    phrases: ``[source start, source stop, target start, target stop]`` of each phrase pair, half open, in target order,
    none of a system that uses none; links: ``[source, target]`` positions; attention: a row for each target word and
    for the end symbol, a column for each source word and for the end symbol, where that was asked for.
    """

    source: list[str]
    target: list[str]
    phrases: list[list[int]] = field(default_factory=list)
    links: list[list[int]] = field(default_factory=list)
    attention: list[list[float]] = field(default_factory=list)

    def fits(self) -> bool:
        """Whether phrases, links and attention are of words that are there."""
        source, target = len(self.source), len(self.target)
        return (
            all(start <= stop <= source and begin <= end <= target for start, stop, begin, end in self.phrases)
            and all(i < source and j < target for i, j in self.links)
            and [*map(len, self.attention)] in ([], [source + 1] * (target + 1))
        )


@dataclass(frozen=True)
class Arc:
    """A phrase pair in a lattice: the nodes it joins, the source range it translates, its words; behind: how much worse
    the best translation through it scores than the best of all (0: it is part of that one).
    """

    tail: int
    head: int
    source: list[int]
    words: list[str]
    behind: float


@dataclass(frozen=True)
class DrawnLattice:
    """A pruned lattice. covered: of each node the number of source words that are translated; arcs: those kept of
    ``arcs_in_all``, as ``Arc``.
    """

    source: list[str]
    covered: list[int]
    arcs: list[Arc]
    arcs_in_all: int

    def fits(self) -> bool:
        """Whether every node has an arc, and every arc joins nodes, forwards, and is of words that are there."""
        covered, words = self.covered, len(self.source)
        return {node for arc in self.arcs for node in (arc.tail, arc.head)} == {*range(len(covered))} and all(
            arc.source[0] <= arc.source[1] <= words and covered[arc.tail] < covered[arc.head] <= words
            for arc in self.arcs
        )


@dataclass(frozen=True)
class Explanation:
    """What a system made of the chosen sentences, in their order; lattice: of the drawn one, if the system has any."""

    sentences: list[Explained]
    lattice: DrawnLattice | None = None

    @classmethod
    def load(cls, path: Path) -> "Explanation":
        """As ``explain_sentences`` wrote it; ``UserError`` for what it cannot have written."""
        content = read_described(path, "explanation")
        sentences, lattice = [Explained(**sentence) for sentence in content["sentences"]], content["lattice"]
        if lattice is not None:
            lattice = DrawnLattice(**lattice | {"arcs": [Arc(**arc) for arc in lattice["arcs"]]})
        if not all(one.fits() for one in (*sentences, *([lattice] if lattice else []))):
            raise UserError(f"{path}: is of words or nodes that are not there; {MAKE_AGAIN}")
        return cls(sentences, lattice)


def read_chosen(path: Path, text: Path, lines: Sequence[str]) -> tuple[list[int], int | None]:
    """The numbers that ``choose_sentences`` wrote, of all sentences and of the one to draw; lines: of ``text``."""
    content = read_described(path, "chosen")
    numbers, drawn = content["sentences"], content["drawn"]
    last = max(numbers, default=-1)
    if last >= len(lines):
        raise UserError(f"{path}: names line {last + 1}, but {text} has {len(lines)}; choose sentences again")
    if drawn not in (None, *numbers):
        raise UserError(f"{path}: names a line to draw that is not among the others; choose sentences again")
    return numbers, drawn


def choose_sentences(*, source: Path, systems: dict[str, Any], sentences: int, seed: int, output: Path) -> None:
    """Draw up to ``sentences`` lines that the systems translate differently, and one of them to draw; write (JSON)
    their numbers, from 0, as ``sentences``, and that of the one (or none) as ``drawn``.

    source: tokenised text; systems: name -> its translation of the text.
    """
    lines, texts = read_lines(source), _translations(systems, source)
    numbers = choose(list(texts.values()), sentences, np.random.default_rng(seed))
    lengths = {number: len(lines[number].split()) for number in numbers}
    drawn = min((n for n in numbers if lengths[n]), key=lambda n: abs(lengths[n] - DRAWN_WORDS), default=None)
    write_json(output, {"sentences": numbers, "drawn": drawn})


def choose(systems: Sequence[Sequence[str]], count: int, generator: np.random.Generator) -> list[int]:
    """Up to ``count`` line numbers (from 0), ascending, drawn from lines that the systems translate differently.

    With one system, or where they never differ, from all lines.
    """
    lines = list(zip(*systems, strict=True))
    differing = [number for number, texts in enumerate(lines) if len(set(texts)) > 1] or list(range(len(lines)))
    drawn = generator.choice(differing, size=min(count, len(differing)), replace=False)
    return sorted(drawn.tolist())


def _translations(systems: Mapping[str, str], source: Path) -> dict[str, list[str]]:
    count, texts = len(read_lines(source)), {name: read_lines(Path(path)) for name, path in systems.items()}
    for name, lines in texts.items():
        check_as_long(Path(systems[name]), source, len(lines), count, "translate it again")
    return texts


def show_translations(
    *,
    source: Path,
    reference: Path,
    systems: dict[str, Any],
    chosen: Path,
    output: Path,
    explanations: dict[str, Any] | None = None,
    languages: dict[str, Any] | None = None,
    about: str = "",
) -> None:
    """Write a page (HTML) with sentences that the systems translate differently.

    source, reference, systems (name -> file): texts with one sentence a line, the first system being the one that
    others are compared with; chosen: what ``choose_sentences`` wrote; explanations: name -> what ``explain_sentences``
    wrote; languages: codes of ``source`` and ``target``; about: Markdown.
    """
    sources, references = read_parallel(source, reference)
    texts, first = _translations(systems, source), next(iter(systems), "")
    numbers, _ = read_chosen(chosen, source, sources)
    explained = {name: Explanation.load(Path(path)).sentences for name, path in (explanations or {}).items()}
    for name, made in explained.items():
        if len(made) != len(numbers):
            counts = f"{len(made)} sentences where {chosen} has {len(numbers)}"
            raise UserError(f"{(explanations or {})[name]}: {counts}; {MAKE_AGAIN}")
    sentences = []
    for place, number in enumerate(numbers):
        shown = []
        for name, lines in texts.items():
            baseline = None if name == first else texts[first][number]
            phrases = phrase_boxes(explained[name][place]) if name in explained else []
            pieces = mark_differences(lines[number], references[number], baseline)
            shown.append({"name": name, "pieces": pieces, "phrases": phrases})
        texts_of = {"source": sources[number], "reference": references[number]}
        sentences.append({"number": number + 1, "systems": shown, **texts_of})
    write_page(
        output,
        "translations.html",
        title="Translations side by side",
        about=to_html(about),
        names=list(systems),
        sentences=sentences,
        languages={"source": "", "target": ""} | (languages or {}),
        shown=SHOWN,
    )


def differing(text: str, other: str) -> list[bool]:
    """Of each word of ``text`` whether it is not in its place in ``other``."""
    words = text.split()
    found = [True] * len(words)
    for block in SequenceMatcher(None, words, other.split(), autojunk=False).get_matching_blocks():
        found[block.a : block.a + block.size] = [False] * block.size
    return found


def mark_differences(text: str, reference: str, baseline: str | None = None) -> list[tuple[str, str]]:
    """Pieces of ``text``, each with its kind: with an r where words are not in place in ``reference``, with a b where
    they are not in place in ``baseline``.
    """
    words = text.split()
    against = [differing(text, reference), [False] * len(words) if baseline is None else differing(text, baseline)]
    kinds = [" ".join(compress("rb", flags)) for flags in zip(*against, strict=True)]
    groups = groupby(zip(kinds, words, strict=True), key=lambda pair: pair[0])
    return [(kind, " ".join(word for _, word in group)) for kind, group in groups]


def phrase_boxes(explained: Explained) -> list[dict[str, str]]:
    """How a translation was put together: of each phrase, or of each word of a network that writes word by word, its
    ``words``, and as ``note`` the source words it comes from after their positions, counted from 1.
    """
    source = {j: i for i, j in explained.links}
    single = [[source.get(j, 0), source[j] + 1 if j in source else 0, j, j + 1] for j in range(len(explained.target))]
    boxes = []
    for start, stop, begin, end in explained.phrases or single:
        positions = f"{start + 1}" if stop <= start + 1 else f"{start + 1}\u2013{stop}"
        note = f"{positions} {' '.join(explained.source[start:stop])}" if stop > start else "no word"
        boxes.append({"words": " ".join(explained.target[begin:end]), "note": note})
    return boxes
