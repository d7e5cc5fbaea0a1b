"""The readers that are fuzzed: each writes an example of its format, reads it, and checks what is promised of it."""

import gzip
import importlib
import json
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import own_formats
import yaml
from aligned_texts import TABLES, assert_same_table
from fuzzer import Reader
from moses_folder import write_model
from moses_tables import read_moses
from ngram_tables import FOLDER
from published_archives import made

from neural_smt.alignment.pharaoh import read_aligned, read_marked_alignments
from neural_smt.corpus.archives import member_pieces, read_segments, verify
from neural_smt.decoding.features import Weights
from neural_smt.decoding.moses.compiled import OFF, load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.nbest import read_blocks, read_nbest
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.decoding.statistics import PartStatistics
from neural_smt.errors import UserError
from neural_smt.experiment.configuration import complete, read_configuration
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_bytes, read_lines, read_parallel
from neural_smt.io.streams import count_lines, stream_lines
from neural_smt.language_model.arpa import arpa_model, read_arpa
from neural_smt.phrases.moses_format import read_moses_text, write_moses
from neural_smt.phrases.primitives import find_phrase
from neural_smt.report.scores import read_runs
from neural_smt.vocabulary import RESERVED, Vocabulary

REPOSITORY = Path(__file__).parents[2]
EXAMPLES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text("utf-8"))
"""Reader -> ``files`` and what is in them, and ``read``, the function of the package that reads the only one."""


def example(name: str) -> Callable[[Path], None]:
    """What writes the files of ``EXAMPLES``: text, JSON, or archives of the kind that their names tell."""

    def write(folder: Path) -> None:
        for file, content in EXAMPLES[name]["files"].items():
            (folder / file).write_bytes(made(file, json.dumps(content) if file.endswith(".json") else content))

    return write


def copied(*files: Path, packed: bool = False) -> Callable[[Path], None]:
    """What copies files, gzipped or as they are."""

    def write(folder: Path) -> None:
        for file in files:
            data = file.read_bytes()
            (folder / f"{file.name}{'.gz' * packed}").write_bytes(gzip.compress(data, mtime=0) if packed else data)

    return write


def phrase_table(folder: Path) -> list[Any]:
    """A table that is read holds what its text says, and is the same once it is written and read again."""
    files = [next(folder.glob(f"{path.name}*")) for path in TABLES]
    text = read_moses_text(*files)
    table = text.table(*text.vocabularies)
    assert len(table) == len([line for line in read_bytes(files[0]).split(b"\n") if line])
    for name in ("scores", "counts", "reordering"):
        values = getattr(table, name)
        assert len(values) == len(table) and (values >= 0).all() and np.isfinite(values).all()
    for row, source in enumerate(table.entry_source.tolist()):
        words, target, links = table.source[source], table.target[row], table.alignment[row]
        assert find_phrase(table.lookup, words, 0, len(words)) == source
        assert (links < [len(words), len(target)]).all()
    again = folder / "again", folder / "again-reordering"
    write_moses(table, text.vocabularies, *again)
    written = read_moses(*again, *text.vocabularies)
    assert_same_table(written, table, "counts")
    np.testing.assert_allclose(written.scores, table.scores, rtol=1e-5, atol=1e-44)
    return [vars(table.source), vars(table.target), table.scores, table.reordering, table.counts]


def arpa(folder: Path, vocabulary: Vocabulary | None = None) -> list[Any]:
    """A model, over its own words or others, scores any words."""
    path = next(folder.glob("trigrams.arpa*"))
    tables, own = read_arpa(path, vocabulary)
    model = arpa_model(path, tables, own, own if vocabulary else Vocabulary([*RESERVED, "z", "b", "été"], [0] * 6))
    for table in tables:
        assert ((table.words >= 0) & (table.words < len(own))).all() and (table.log10_prob <= 0).all()
        assert np.isfinite(table.log10_prob).all() and np.isfinite(table.backoff).all()
    scores, state = [], model.begin_state
    for word in [3, 4, 0, 2, 4, 3, 1]:
        log10_prob, state = model.score_word(state, word)
        scores.append(log10_prob)
    assert np.isfinite(scores).all() and model.finite
    return [scores, [vars(table) for table in tables]]


def moses(folder: Path) -> list[Any]:
    """A model of Moses translates, with stacks that take no minutes."""
    ini = read_moses_ini(folder / "moses.ini")
    small = {name: min(getattr(ini.settings, name), 50) for name in ("stack_size", "pop_limit")}
    decoder = Decoder(load_model(ini, OFF), SearchSettings(**ini.settings.as_dict() | small), ini.weights)
    translation = decoder.decode([["a", "b"]], 3)[0]
    assert np.isfinite(translation.score)
    return [ini.names, ini.threads, ini.max_phrase_length, translation.tokens, translation.score]


def nbest(folder: Path) -> list[Any]:
    """Blocks hold the same as the whole list."""
    entries = read_nbest(folder / "list.gz")
    assert entries == [entry for block in read_blocks(folder / "list.gz") for entry in block]
    return entries


def alignment(folder: Path) -> list[Any]:
    """Links are inside their sentences, and the same in a gold alignment."""
    source, target, path = folder / "source", folder / "target", folder / "links"
    marked, sure = read_marked_alignments(path)
    vocabulary = Vocabulary([*RESERVED, "a", "b", "c"], [0] * 6)
    sides = read_aligned(source, target, path, (vocabulary, vocabulary))
    assert sure.all() and np.array_equal(marked.values, sides[2].values)
    return [vars(side) for side in sides]


def experiment(folder: Path) -> dict[str, Any]:
    """A configuration; its faults name the setting."""
    config = read_configuration([folder / "tiny.yaml"])
    try:
        return complete(config)
    except UserError as error:
        raise UserError(f"tiny.yaml: {error}") from None


def system(folder: Path) -> list[Any]:
    """The description of a system, what it is made of, its search and its weights."""
    made_of = System.load(folder)
    files = [str(path) for path in made_of.all_files(1)]
    weights = Weights.load(folder / "weights.json").values
    return [made_of["languages"], made_of.features, files, vars(SearchSettings(**made_of.search)), weights]


def statistics(folder: Path) -> list[Any]:
    """Those of two shards, joined."""
    joined = PartStatistics.join([PartStatistics.load(folder / f"{number}.json") for number in (1, 2)])
    return [vars(joined), joined.summarise()]


def evaluation(folder: Path) -> dict[str, Any]:
    """Scores of a run."""
    return read_runs({"system": {"dev": [folder / "e.json"]}}).to_dict("list")


def text(folder: Path) -> list[Any]:
    """All ways of reading lines give the same."""
    for path in (folder / "text.gz", folder / "text"):
        lines = read_lines(path)
        assert lines == list(stream_lines(path)) and len(lines) == count_lines(path)
    return read_parallel(folder / "text.gz", folder / "text")


def archives(folder: Path) -> list[Any]:
    """The members of archives, and segments of SGML."""
    found = [read_segments((folder / "a.sgm").read_bytes(), "a.sgm")]
    for path in sorted(set(folder.iterdir()) - {folder / "a.sgm"}):
        verify(path, path.name)
        found.append(b"".join(member_pieces(path, "d/a.fr")).decode("latin-1"))
    return found


def loaded(name: str) -> Reader:
    """The reader of the files of one of ``EXAMPLES``, by a function of the package."""
    files, arguments = EXAMPLES[name]["files"], EXAMPLES[name].get("arguments", ())
    module, _, function = EXAMPLES[name]["read"].partition(":")
    load = attrgetter(function)(importlib.import_module(f"neural_smt.{module}"))
    return Reader(name, example(name), lambda folder: load(*(folder / file for file in files), *arguments))


TRIGRAMS, OTHER_WORDS = FOLDER / "trigrams.arpa", Vocabulary([*RESERVED, "b", "z"], [0] * 5)
OF_EXAMPLES = [alignment, system, statistics, text, archives, evaluation]
"""Readers of the files of ``EXAMPLES`` of the same name."""

READERS = [
    Reader("phrase table", copied(*TABLES), phrase_table),
    Reader("phrase table, gzipped", copied(*TABLES, packed=True), phrase_table),
    Reader("ARPA", copied(TRIGRAMS), arpa),
    Reader("ARPA, gzipped", copied(TRIGRAMS, packed=True), arpa),
    Reader("ARPA over other words", copied(TRIGRAMS), partial(arpa, vocabulary=OTHER_WORDS)),
    Reader("model of Moses", write_model, moses),
    Reader("n-best list", example("n-best list"), nbest),
    Reader("experiment", copied(REPOSITORY / "experiments/tiny.yaml"), experiment),
    *(Reader(read.__name__, example(read.__name__), read) for read in OF_EXAMPLES),
    *(loaded(name) for name, one in EXAMPLES.items() if "read" in one),
    *own_formats.READERS,
]
