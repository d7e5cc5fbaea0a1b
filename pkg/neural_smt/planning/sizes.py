"""How large an experiment's texts and tables are: counted where they are here, declared, or by measured ratios."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_pieces
from neural_smt.systems import drawn_pairs, resolve_data

GENERATED_WORDS = 9.0
"""Words of a generated sentence."""

RATIOS = {
    "kept lines": 0.98,
    "kept words": 0.95,
    "selected lines": 0.21,
    "selected words": 0.18,
    "rows per word": 2.2,
    "sources per row": 0.6,
    "n-grams per word": 1.6,
    "types": 40.0,
}
"""What follows from sizes, where nothing has been measured; ``measure_ratios`` has them of finished runs.

kept: by cleaning; selected: of the pool; rows: of the phrase table, for each target
word; n-grams: of a language model of order 5, for each word; types: k of distinct words = k n**0.5.
"""


@dataclass(frozen=True)
class Text:
    """Lines of a text, and the words of each of its sides, by language."""

    lines: float
    words: Mapping[str, float]

    @property
    def both(self) -> float:
        """Words of all sides."""
        return sum(self.words.values())

    def part(self, lines: float, words: float) -> "Text":
        """What is left with these shares."""
        return Text(self.lines * lines, {side: count * words for side, count in self.words.items()})


def joined(texts: Iterable[Text]) -> Text:
    """Texts one after the other."""
    lines, words = 0.0, {}
    for text in texts:
        lines += text.lines
        for side, count in text.words.items():
            words[side] = words.get(side, 0.0) + count
    return Text(lines, words)


@dataclass
class Sizes:
    """Sizes of an experiment.

    sources: by name, tokenised; pool, in_domain, monolingual: after cleaning; data: the training pairs of every choice
    of data (selected, all, random); extra: the further text of their language models; rows, sources_of_rows: of their
    phrase tables; ngrams: of their language models; types: distinct words by language.
    """

    source: str
    target: str
    sources: dict[str, Text] = field(default_factory=dict)
    pool: Text = field(default_factory=lambda: Text(0, {}))
    in_domain: Text = field(default_factory=lambda: Text(0, {}))
    monolingual: Text = field(default_factory=lambda: Text(0, {}))
    data: dict[str, Text] = field(default_factory=dict)
    extra: dict[str, Text] = field(default_factory=dict)
    rows: dict[str, float] = field(default_factory=dict)
    sources_of_rows: dict[str, float] = field(default_factory=dict)
    ngrams: dict[str, float] = field(default_factory=dict)
    types: dict[str, float] = field(default_factory=dict)

    def language_model_words(self, data: str) -> float:
        """Words that the language model of a choice of data is estimated on."""
        return self.data[data].words[self.target] + self.extra[data].words.get(self.target, 0.0)


def count_text(path: Path) -> tuple[int, int]:
    """Lines and words (separated by white space) of a text file, ``.gz`` or plain."""
    lines = words = 0
    for _, piece in read_pieces(Path(path)):
        lines += piece.count(b"\n") + (not piece.endswith(b"\n"))
        words += len(piece.split())
    return lines, words


def expect_sizes(
    config: Mapping[str, Any],
    ratios: Mapping[str, float],
    folder: Path,
    counted: Mapping[str, Text] | None = None,
) -> Sizes:
    """The sizes to be expected before anything has run.

    config: complete; ratios: see ``RATIOS``; folder: where ``results/`` of earlier runs may lie, whose tokenised texts
    are counted; counted: sources whose sizes are known already. Raises ``UserError`` for a text that is not here and
    whose size nobody declares.
    """
    source, target = config["languages"]["source"], config["languages"]["target"]
    corpus, selection = config["corpus"], config["selection"]
    plan = config["plan"]
    sizes = Sizes(source, target)
    counter = _Counter(config, folder, counted or {})
    named = [*corpus["train"], *corpus["in_domain"], corpus["dev"], *corpus["test"], *corpus["gold"]]
    for name in named:
        sizes.sources[name] = counter.text(name, [source, target])
    for name in corpus["monolingual"]:
        sizes.sources.setdefault(name, counter.text(name, [target]))
    kept = (ratios["kept lines"], ratios["kept words"])
    sizes.pool = joined(sizes.sources[name] for name in corpus["train"]).part(*kept)
    sizes.in_domain = joined(sizes.sources[name] for name in corpus["in_domain"]).part(*kept)
    extra = joined(Text(text.lines, {target: text.words[target]}) for text in _named(sizes, corpus["monolingual"]))
    sizes.monolingual = extra.part(*kept)

    pairs, text = plan.get("selected_pairs"), plan.get("selected_text")
    share = (pairs, pairs) if pairs else (ratios["selected lines"], ratios["selected words"])
    share_of_text = (text, text) if text else (ratios["selected lines"], ratios["selected words"])
    shares = {
        "selected": (1, 1) if selection["method"] == "none" else share,
        "random": share,
        "all": (1, 1),
    }
    whole = joined([sizes.in_domain, sizes.pool])
    for name in config["systems"]:
        data = resolve_data(config["systems"], name)
        drawn = drawn_pairs(data)
        if drawn is not None and whole.lines:
            shares[data] = (drawn / whole.lines, drawn / whole.lines)
    for data, chosen in shares.items():
        drawn = drawn_pairs(data) is not None
        sizes.data[data] = whole.part(*chosen) if drawn else joined([sizes.in_domain, sizes.pool.part(*chosen)])
        of_text = (1, 1) if data == "all" or selection["monolingual_method"] == "none" else share_of_text
        sizes.extra[data] = sizes.monolingual.part(*of_text)
        _expect_tables(sizes, data, ratios)
    further = {source: [], target: corpus["monolingual"]}
    for language in (source, target):
        words = joined([sizes.pool, sizes.in_domain, sizes.monolingual]).words.get(language, 0.0)
        counted = counter.types(language, [*corpus["train"], *corpus["in_domain"], *further[language]])
        sizes.types[language] = counted or ratios["types"] * words**0.5
    return sizes


def _named(sizes: Sizes, names: Iterable[str]) -> list[Text]:
    return [sizes.sources[name] for name in names]


def _expect_tables(sizes: Sizes, data: str, ratios: Mapping[str, float]) -> None:
    sizes.rows[data] = ratios["rows per word"] * sizes.data[data].words[sizes.target]
    sizes.sources_of_rows[data] = ratios["sources per row"] * sizes.rows[data]
    sizes.ngrams[data] = ratios["n-grams per word"] * sizes.language_model_words(data)


_TOKEN = re.compile(r"\w+'?|[^\w\s]")


def count_words(path: Path, tokenised: bool) -> tuple[int, int, set[str]]:
    """Lines, words and distinct words of a text; of one that is not tokenised nearly those that it will have."""
    lines = words = 0
    distinct: set[str] = set()
    for _, piece in read_pieces(Path(path)):
        text = piece.decode("utf-8")
        found = text.split() if tokenised else _TOKEN.findall(text)
        lines += text.count("\n") + (not text.endswith("\n"))
        words += len(found)
        distinct.update(found)
    return lines, words, distinct


class _Counter:
    """Sizes of sources, from the nearest place that tells them."""

    def __init__(self, config: Mapping[str, Any], folder: Path, counted: Mapping[str, Text]) -> None:
        self.config = config
        self.counted = counted
        self.tokenised = Path(folder) / "results" / config["experiment"] / "corpus" / "tokenised"
        self.distinct: dict[tuple[str, str], set[str]] = {}

    def types(self, language: str, names: Iterable[str]) -> int:
        """Distinct words of sources that were all counted; 0 else."""
        found = [self.distinct.get((name, language)) for name in names]
        return len(set().union(*filter(None, found))) if all(words is not None for words in found) else 0

    def text(self, name: str, languages: Sequence[str]) -> Text:
        """The size of a source."""
        if name in self.counted:
            return self.counted[name]
        source = self.config["corpus"]["sources"][name]
        done = {language: self.tokenised / f"{name}.{language}" for language in languages}
        if all(path.is_file() for path in done.values()):
            return self._count(name, done, True)
        if "join" in source:
            return joined(self.text(part, languages) for part in source["join"])
        if "part" in source:
            count = self._generated(source["part"])
            return Text(count, dict.fromkeys(languages, count * GENERATED_WORDS))
        here = {language: self._published(source[language]) for language in languages}
        if all(here.values()):
            return self._count(name, {language: path for language, path in here.items() if path}, source["tokenised"])
        if "size" in source:
            return Text(source["size"]["sentences"], dict.fromkeys(languages, source["size"]["words"]))
        raise UserError(
            f"corpus.sources.{name}: its text is not here and nothing tells its size; give the source "
            "size: {sentences: ..., words: ...}, or set data_mirror to the folder that holds it"
        )

    def _generated(self, part: str) -> float:
        generator = self.config["corpus"]["generator"]
        return generator["pairs" if part == "train" else part]

    def _published(self, side: Mapping[str, Any]) -> Path | None:
        if "member" in side:
            return None
        below = side.get("mirror_path") or side.get("path") or side["url"].rsplit("/", 1)[-1]
        places = [Path(self.config["data_mirror"] or ".") / below]
        places += [Path(side["path"])] if "path" in side else []
        return next((place for place in places if place.is_file()), None)

    def _count(self, name: str, paths: Mapping[str, Path], tokenised: bool) -> Text:
        counts = {language: count_words(path, tokenised) for language, path in paths.items()}
        for language, (_, _, distinct) in counts.items():
            self.distinct[name, language] = distinct
        lines = max(lines for lines, _, _ in counts.values())
        return Text(lines, {language: words for language, (_, words, _) in counts.items()})


def _counted(paths: Mapping[str, Path]) -> Text:
    counts = {language: count_text(path) for language, path in paths.items()}
    lines = max(lines for lines, _ in counts.values())
    return Text(lines, {language: words for language, (_, words) in counts.items()})


def measure_sizes(folder: Path, config: Mapping[str, Any]) -> Sizes:
    """The sizes that a finished run has: folder: that of its results. What it did not make is 0 or missing."""
    folder = Path(folder)
    source, target = config["languages"]["source"], config["languages"]["target"]
    sizes = Sizes(source, target)
    for name in config["corpus"]["sources"]:
        paths = {language: folder / "corpus" / "tokenised" / f"{name}.{language}" for language in (source, target)}
        found = {language: path for language, path in paths.items() if path.is_file()}
        if found:
            sizes.sources[name] = _counted(found)
    sizes.pool = _pair(folder / "corpus", "train", (source, target))
    sizes.in_domain = _pair(folder / "corpus", "in_domain", (source, target))
    sizes.monolingual = _pair(folder / "corpus", "monolingual", (target,))
    for data in ("selected", *sorted(path.name for path in folder.glob("data/*"))):
        place = folder if data == "selected" else folder / "data" / data
        if not (place / "selection" / f"train.{source}").is_file():
            continue
        sizes.data[data] = _pair(place / "selection", "train", (source, target))
        sizes.extra[data] = _pair(place / "selection", "monolingual", (target,))
        table = _meta(place / "phrases" / "table")
        sizes.rows[data], sizes.sources_of_rows[data] = table.get("rows", 0), table.get("sources", 0)
        sizes.ngrams[data] = sum(_meta(place / "language_model" / "model").get("ngrams", []))
    for language in (source, target):
        vocabulary = folder / "corpus" / f"vocabulary.{language}.tsv"
        sizes.types[language] = count_text(vocabulary)[0] if vocabulary.is_file() else 0
    return sizes


def _pair(folder: Path, name: str, languages: Iterable[str]) -> Text:
    paths = {language: folder / f"{name}.{language}" for language in languages}
    return _counted(paths) if all(path.is_file() for path in paths.values()) else Text(0, {})


def _meta(folder: Path) -> dict[str, Any]:
    path = folder / "meta.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
