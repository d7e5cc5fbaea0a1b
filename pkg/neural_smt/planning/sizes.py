"""How large an experiment's texts and tables are: counted where they are here, declared, or by measured ratios."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from neural_smt.corpus.archives import REFERENCE
from neural_smt.corpus.fetching import find, is_url
from neural_smt.corpus.languages import count_unsplit
from neural_smt.errors import UserError
from neural_smt.experiment.systems import POOLED, Systems, drawn_pairs
from neural_smt.io.arrays import read_meta
from neural_smt.io.files import read_pieces, read_yaml
from neural_smt.io.records import FILE

ROLES = ("train", "in_domain", "monolingual")
"""Of the texts that systems are built from; the pool has the role ``train``."""

GENERATED_WORDS = 9.0
"""Words of a generated sentence."""

RATIOS: dict[str, float] = read_yaml(Path(__file__).with_name("ratios.yaml"))
"""What follows from sizes, where nothing has been measured; ``measure_ratios`` has them of finished runs."""


class Text(NamedTuple):
    """Lines of a text, and the words of its sides."""

    lines: float = 0.0
    source: float = 0.0
    target: float = 0.0

    @property
    def both(self) -> float:
        """Words of both sides."""
        return self.source + self.target

    def part(self, lines: float, words: float) -> "Text":
        """The text that these fractions of lines and words leave."""
        return Text(self.lines * lines, self.source * words, self.target * words)

    @classmethod
    def of(cls, lines: float, words: Mapping[str, float], languages: Mapping[str, str]) -> "Text":
        """A text with its words by language; languages: of the experiment, by side."""
        return cls(lines, **{side: words.get(language, 0.0) for side, language in languages.items()})


def joined(texts: Iterable[Text]) -> Text:
    """Texts one after the other."""
    return Text(*map(sum, zip(Text(), *texts, strict=True)))


@dataclass
class Sizes:
    """Sizes of an experiment.

    sources: by name, tokenised; kept: after cleaning, by role (train, in_domain, monolingual); data: the training pairs
    of every choice of data (selected, all, random); extra: the further text of their language models; rows,
    sources_of_rows: of their phrase tables; ngrams: of their language models; types: distinct words by language.
    """

    sources: dict[str, Text] = field(default_factory=dict)
    kept: dict[str, Text] = field(default_factory=dict)
    data: dict[str, Text] = field(default_factory=dict)
    extra: dict[str, Text] = field(default_factory=dict)
    rows: dict[str, float] = field(default_factory=dict)
    sources_of_rows: dict[str, float] = field(default_factory=dict)
    ngrams: dict[str, float] = field(default_factory=dict)
    types: dict[str, float] = field(default_factory=dict)

    def language_model_words(self, data: str) -> float:
        """Words that the language model of a choice of data is estimated on."""
        return self.data[data].target + self.extra[data].target


def quantity(bytes_: float) -> str:
    """Bytes as people say it."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes_ >= size:
            return f"{bytes_ / size:.1f} {unit}"
    return f"{bytes_ / 1e3:.0f} kB"


def disk_use(path: Path) -> float:
    """Bytes of a file, or of all files below a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return float(sum(file.stat().st_size for file in files if file.is_file()))


class Counts(NamedTuple):
    """Of a text: lines, words between white space, characters, those of them that ``count_unsplit`` counts, and lines
    with a character reference of XML.
    """

    lines: int = 0
    words: int = 0
    characters: int = 0
    unsplit: int = 0
    escaped: int = 0


def count_text(path: Path, nul: bool = False, split: Callable[[str], list[str]] = str.split) -> Counts:
    """What there is of a text file, ``.gz`` or plain; nul: allow NUL bytes; split: into words."""
    found = Counts()
    for _, piece in read_pieces(Path(path), nul=nul):
        text = piece.decode()
        # three bytes a character; the pattern would take longer than all the rest
        unsplit = count_unsplit(text) if len(piece) > 1.5 * len(text) else 0
        escaped = len(_ESCAPED.findall(text)) if "&" in text else 0
        lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
        found = Counts(*map(sum, zip(found, (lines, len(split(text)), len(text), unsplit, escaped), strict=True)))
    return found


_ESCAPED = re.compile(REFERENCE.pattern + r"[^\n]*")
"""A line from its first character reference on."""

_TOKEN = re.compile(r"\w+'?|[^\w\s]")


def text_files(path: Path) -> list[Path]:
    """The files of a text: itself, or its shards where all of them are there."""
    if path.is_file():
        return [path]
    shards = sorted(path.parent.glob(f"{path.name}.*-of-*"))
    return shards if shards and shards[0].name.endswith(f"-of-{len(shards)}") else []


def count_words(path: Path, tokenised: bool) -> tuple[int, int, set[str]]:
    """Lines, words and distinct words of a text; of one that is not tokenised nearly those that it will have."""
    distinct: set[str] = set()

    def split(text: str) -> list[str]:
        words = text.split() if tokenised else _TOKEN.findall(text)
        distinct.update(words)
        return words

    return *count_text(path, split=split)[:2], distinct


def expect_sizes(
    config: Mapping[str, Any], ratios: Mapping[str, float], folder: Path, counted: Mapping[str, Text] | None = None
) -> Sizes:
    """The sizes to be expected before anything has run.

    config: complete; ratios: see ``RATIOS``; folder: where ``results/`` of earlier runs may lie, whose tokenised texts
    are counted; counted: sources whose sizes are known already. Raises ``UserError`` for a text that is not here and
    whose size nobody declares.
    """
    corpus, selection, plan = config["corpus"], config["selection"], config["plan"]
    source, target = config["languages"]["source"], config["languages"]["target"]
    sizes, counter = Sizes(), _SourceCounter(config, folder, counted or {})
    compared = selection.get("compare_with", [])
    for name in [*corpus["train"], *corpus["in_domain"], *compared, corpus["dev"], *corpus["test"], *corpus["gold"]]:
        sizes.sources[name] = counter.text(name, [source, target])
    for name in corpus["monolingual"]:
        sizes.sources.setdefault(name, counter.text(name, [target]))
    for role in ROLES:
        text = joined(sizes.sources[name] for name in corpus[role])
        sizes.kept[role] = text.part(ratios["kept lines"], ratios["kept words"])
    pool, in_domain, monolingual = (sizes.kept[role] for role in ROLES)
    sizes.kept["monolingual"] = monolingual = monolingual._replace(source=0.0)

    measured = ratios["selected lines"], ratios["selected words"]
    wanted = {
        "selected_pairs": (selection["words"], pool),
        "selected_text": (selection["monolingual_words"], monolingual),
    }
    fractions = [min(words / max(text.target, 1), 1) or plan.get(key) for key, (words, text) in wanted.items()]
    of_pairs, of_text = ((own, own) if own else measured for own in fractions)
    whole = joined([in_domain, pool])
    for data in {"selected", "random", "all", *Systems(config).variants}:
        drawn = drawn_pairs(data)
        chosen = (1, 1) if data == "all" or (data, selection["method"]) == ("selected", "none") else of_pairs
        if drawn is not None:
            chosen = (drawn / max(pool.lines, 1),) * 2
        sizes.data[data] = joined([in_domain, pool.part(*chosen)])
        takes_all = data == "all" or selection["monolingual_method"] == "none"
        sizes.extra[data] = monolingual.part(*((1, 1) if takes_all else of_text))
        sizes.rows[data] = ratios["rows per word"] * sizes.data[data].target
        sizes.sources_of_rows[data] = ratios["sources per row"] * sizes.rows[data]
        sizes.ngrams[data] = ratios["n-grams per word"] * sizes.language_model_words(data)
    words = joined([whole, monolingual])
    for language, count, further in ((source, words.source, []), (target, words.target, corpus["monolingual"])):
        types = counter.types(language, [*corpus["train"], *corpus["in_domain"], *further])
        sizes.types[language] = types or ratios["types"] * count**0.5
    return sizes


class _SourceCounter:
    """Sizes of sources, from the nearest place that tells them."""

    def __init__(self, config: Mapping[str, Any], folder: Path, counted: Mapping[str, Text]) -> None:
        self.config, self.counted = config, counted
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
        source, generator = self.config["corpus"]["sources"][name], self.config["corpus"]["generator"]
        done = {language: text_files(self.tokenised / f"{name}.{language}") for language in languages}
        if all(done.values()):
            return self._count(name, done, True)
        if "join" in source:
            return joined(self.text(part, languages) for part in source["join"])
        if part := source.get("part"):
            count = generator["pairs" if part == "train" else part]
            return self._declared(count, count * GENERATED_WORDS, languages)
        declared = {language: source[language] for language in languages if "member" not in source[language]}
        places = {language: find(dict(side), self.config["data_mirror"]) for language, side in declared.items()}
        here = {language: [Path(place)] for language, place in places.items() if place and not is_url(place)}
        if len(here) == len(languages):
            return self._count(name, here, source["tokenised"])
        if "size" in source:
            return self._declared(source["size"]["sentences"], source["size"]["words"], languages)
        raise UserError(
            f"corpus.sources.{name}: its text is not here and nothing tells its size; give the source "
            "size: {sentences: ..., words: ...}, or set data_mirror to the folder that holds it"
        )

    def _declared(self, lines: float, words: float, languages: Iterable[str]) -> Text:
        return Text.of(lines, dict.fromkeys(languages, words), self.config["languages"])

    def _count(self, name: str, files: Mapping[str, list[Path]], tokenised: bool) -> Text:
        counts = {language: [count_words(path, tokenised) for path in paths] for language, paths in files.items()}
        for language, found in counts.items():
            self.distinct[name, language] = set().union(*(distinct for _, _, distinct in found))
        return _total(counts, self.config["languages"])


def _total(counts: Mapping[str, Sequence[tuple[Any, ...]]], languages: Mapping[str, str]) -> Text:
    """The size of a text out of lines and words of the files of each language."""
    lines = max((sum(one[0] for one in found) for found in counts.values()), default=0)
    return Text.of(lines, {language: sum(one[1] for one in found) for language, found in counts.items()}, languages)


def measure_sizes(folder: Path, config: Mapping[str, Any]) -> Sizes:
    """The sizes that a finished run has: folder: that of its results. What it did not make is 0 or missing."""
    folder, sizes, languages = Path(folder), Sizes(), config["languages"]

    def measure(place: Path, name: str) -> Text:
        files = {language: text_files(place / f"{name}.{language}") for language in languages.values()}
        return _total({language: [count_text(path) for path in paths] for language, paths in files.items()}, languages)

    texts = {name: measure(folder / "corpus" / "tokenised", name) for name in config["corpus"]["sources"]}
    sizes.sources = {name: text for name, text in texts.items() if text.lines}
    sizes.kept = {role: measure(folder / "corpus", role) for role in ROLES}
    for data in ("selected", *sorted(path.name for path in folder.glob("data/*"))):
        place = folder if data == "selected" else folder / "data" / data
        text = measure(place / "selection", "train")
        if text.lines:
            sizes.data[data], sizes.extra[data] = text, measure(place / "selection", "monolingual")
            table = _meta(place / "phrases" / "table")
            sizes.rows[data], sizes.sources_of_rows[data] = table.get("rows", 0), table.get("sources", 0)
            models = place / "language_model"
            pooled = [models / POOLED] if (models / POOLED).exists() else sorted(models.glob("*/"))
            sizes.ngrams[data] = sum(sum(_meta(model).get("ngrams", [])) for model in pooled)
    tables = {language: folder / "corpus" / f"vocabulary.{language}.tsv" for language in languages.values()}
    sizes.types = {language: count_text(path)[0] if path.is_file() else 0 for language, path in tables.items()}
    return sizes


def _meta(folder: Path) -> dict[str, Any]:
    return read_meta(folder / FILE) if (folder / FILE).is_file() else {}
