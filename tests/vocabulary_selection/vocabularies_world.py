"""A small aligned text, and the tables that target vocabularies are drawn from, in memory and as files."""

from pathlib import Path
from typing import Any

from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.experiment.settings import Settings
from neural_smt.io.files import read_yaml, write_lines
from neural_smt.phrases.steps import build_phrase_table
from neural_smt.phrases.table import PhraseTable
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import Vocabulary
from neural_smt.vocabulary_selection.building import Sources, load_sources

CASES: dict[str, list[Any]] = read_yaml(Path(__file__).with_name("world.yaml"))
TEXTS = ("source", "target", "alignment")
SOURCE, TARGET, _ = (CASES[name] for name in TEXTS)


def sizes(dictionary: int = 10, phrases: int = 10, frequent: int = 2000, max_length: int = 0) -> Settings:
    """Sizes of the parts of sets."""
    return Settings({"dictionary": dictionary, "phrases": phrases, "frequent": frequent, "max_length": max_length})


def write_world(folder: Path, size: int) -> dict[str, Path]:
    """The files that ``load_sources`` takes; size: words of the network vocabulary."""
    paths = {name: folder / name for name in TEXTS}
    for name, path in paths.items():
        write_lines(path, CASES[name])
    vocabularies = [Vocabulary.from_sentences(lines) for lines in (SOURCE, TARGET)]
    names = ("source_vocabulary", "target_vocabulary", "network_vocabulary", "lexical", "phrase_table")
    made = {name: folder / name for name in names}
    for name, vocabulary in zip(names, (*vocabularies, most_frequent(vocabularies[1], size)), strict=False):
        vocabulary.save(made[name])
    encoded = [vocabulary.encode(lines) for vocabulary, lines in zip(vocabularies, (SOURCE, TARGET), strict=True)]
    lexical_table([(*encoded, read_alignments(paths["alignment"]))], *map(len, vocabularies)).save(made["lexical"])
    inputs = {name: made[name] for name in ("source_vocabulary", "target_vocabulary", "lexical")}
    build_phrase_table(**paths, **inputs, max_length=3, smoothing=0.5, output=made["phrase_table"])
    return made


def load_world(folder: Path, size: int = 100) -> Sources:
    """The world's tables with a network vocabulary of its ``size`` most frequent target words."""
    return load_sources(**write_world(folder, size))


def brute_dictionary(table: LexicalTable, sources: Sources, word: str, count: int) -> list[str]:
    """D(x): words that the network knows by falling w(t|s), then by id."""
    if word not in sources.source:
        return []
    source = sources.source.index[word]
    known = [t for t in range(3, len(sources.target)) if sources.target.words[t] in sources.network]
    linked = [t for t in known if table.pair(source, t)[1] > 0]
    ranked = sorted(linked, key=lambda t: (-table.pair(source, t)[1], t))
    return [sources.target.words[t] for t in ranked[:count]]


def brute_phrase(table: PhraseTable, sources: Sources, words: tuple[str, ...], count: int) -> set[str]:
    """P(x_i .. x_j): words that the network knows of the entries with the highest p(e|f), then of lowest row."""
    found = set()
    for number, phrase in enumerate(table.source):
        if tuple(sources.source.words[word] for word in phrase) == words:
            rows = range(int(table.entry_offsets[number]), int(table.entry_offsets[number + 1]))
            for row in sorted(rows, key=lambda row: (-table.scores[row, 2], row))[:count]:
                found |= {sources.target.words[word] for word in table.target[row]}
    return {word for word in found if word in sources.network}
