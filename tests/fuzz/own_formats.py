"""The readers of files that only this project writes. With checksums no damage passes. Of forged files, whose checksums
are right and whose arrays are anything, results may be others, but they are no fault either.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from attention_world import save_dictionary
from fuzzer import FORGED, Reader
from moses_folder import write_model
from network_cases import CPU
from recurrent_world import linked_lattices
from small_results import write_experiment
from test_networks_folder import MODELS
from tiny_models import SOURCE, TARGET, random_model, random_ngrams
from tuning_world import random_candidates

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.decoding.lattices.flat import FlatLattices, best_paths
from neural_smt.decoding.moses.compiled import load_model
from neural_smt.decoding.moses.ini import read_moses_ini
from neural_smt.decoding.reranking.aligned_lattices import AlignedLattices
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.errors import UserError
from neural_smt.experiment.system_folder import pack_system
from neural_smt.io.checkpoint import NAME, Checkpoint, load_checkpoint, save_checkpoint
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.model import NgramModel
from neural_smt.networks.folder import Trained
from neural_smt.phrases.compact import CompactTable
from neural_smt.phrases.table import PhraseTable, load_column, save_column
from neural_smt.translation.experiment import Experiment, open_system
from neural_smt.translation.steps import load_text_translator
from neural_smt.tuning.candidates import Candidates, LatticePool
from neural_smt.vocabulary import Vocabulary
from neural_smt.vocabulary_selection.candidates import CandidateSets

MODEL, WEIGHTS = random_model(5)
LATTICES, DECODER = linked_lattices(8)
FLAT, CANDIDATES = LATTICES.flat, random_candidates(1)
POOL = LatticePool(FLAT, random_candidates(2, sentences=len(FLAT), features=len(FLAT.features)))
SENTENCES = [["a", "b"], ["c", "new"], ["b", "a", "c", "a"]]


def translated(**parts: Any) -> list[Any]:
    """What a model with other parts makes of sentences."""
    found = Decoder(replace(MODEL, **parts), SearchSettings(stack_size=10, pop_limit=20), WEIGHTS).decode(SENTENCES, 2)
    return [[entry.tokens, entry.score] for one in found for entry in one.nbest]


def write_table(folder: Path) -> None:
    """A phrase table and its vocabularies."""
    MODEL.phrase_table.save(folder / "table")
    SOURCE.save(folder / "source")
    TARGET.save(folder / "target")


def write_compact(folder: Path) -> None:
    """The same as a compact table."""
    write_table(folder)
    CompactTable.of(MODEL.phrase_table, {}, (len(SOURCE), len(TARGET))).save(folder / "table")


def read_compact(folder: Path) -> list[Any]:
    """What is translated with it."""
    vocabularies = Vocabulary.load(folder / "source"), Vocabulary.load(folder / "target")
    return translated(phrase_table=CompactTable.load(folder / "table", vocabularies))


def read_table(folder: Path) -> list[Any]:
    """A table that is loaded translates."""
    table, _ = PhraseTable.load_checked(folder / "table", folder / "source", folder / "target")
    if table.scores.shape[1] != 4:
        raise UserError("arrays.safetensors: the weights are of four scores")
    return [table.digest, table.alignment.values, table.counts, translated(phrase_table=table)]


def write_models(folder: Path) -> None:
    """A language model with and without codes."""
    tables = random_ngrams(np.random.default_rng(3))
    for name in ("exact", "quantised"):
        NgramModel.from_tables(tables, TARGET, quantise=name == "quantised").save(folder / name)


def read_models(folder: Path) -> list[Any]:
    """Models that are loaded score words, and lead the search."""
    models = [NgramModel.load(folder / name, TARGET) for name in ("exact", "quantised")]
    if not all(model.finite for model in models):
        raise UserError("arrays.safetensors: the search refuses it")
    text = Ragged.from_lists([[3, 4, 0, 6], [], [5, 5, 3, 3, 4]])
    return [(*model.score_sentences(text), translated(language_models=(model,))) for model in models]


def read_lexical(folder: Path) -> list[Any]:
    """Probabilities, and the best translations of words."""
    table = LexicalTable.load(folder / "lexical")
    best = table.top_translations(2)
    return [vars(table), best.arrays, [table.pair(s, t) for s in range(len(SOURCE)) for t in range(len(TARGET))]]


def read_flat(folder: Path) -> list[Any]:
    """Lattices that are loaded have best paths."""
    flat = FlatLattices.load(folder / "lattices")
    paths, scores = best_paths(flat, np.ones(len(flat.features)))
    return [paths.arrays, scores, flat.translations(paths).arrays]


def read_aligned(folder: Path) -> list[Any]:
    """Lattices with links spell their words."""
    found = AlignedLattices.load(folder / "lattices")
    links = found.sets.positions.take(found.links)
    return [found.spell(found.flat.words.values), links.arrays, found.features.names, found.made_with]


def read_lists(folder: Path) -> dict[str, Any]:
    """The state of a tuning of lists."""
    return vars(Candidates.load(folder / "c"))


def read_pool(folder: Path) -> list[Any]:
    """The state of a tuning of lattices."""
    pool = LatticePool.load(folder / "pool", mapped=False)
    _, scores = best_paths(pool.lattices, np.ones(len(pool.lattices.features)))
    return [vars(pool.lattices), vars(pool.candidates), scores]


def write_sets(folder: Path) -> None:
    """Target vocabularies of sentences."""
    own = Ragged.from_lists([[3, 5], [], [4]])
    CandidateSets(own, np.array([0, 2], np.int32), 9, {"source": "x"}).save(folder / "sets")


def read_sets(folder: Path) -> list[Any]:
    """Their unions, and what they cover."""
    sets = CandidateSets.load(folder / "sets")
    if len(sets) != 3:
        raise UserError("arrays.safetensors: of other sentences")
    return [sets.union(np.arange(3)), sets.covered(Ragged.from_lists([[3], [0], [4, 5]])), dict(sets.origins)]


def read_column(folder: Path) -> np.ndarray:
    """A score of every phrase pair."""
    return load_column(folder / "column", MODEL.phrase_table)


def read_checkpoint(folder: Path) -> list[Any]:
    """A checkpoint that cannot be read is as none."""
    found = load_checkpoint(folder, "run")
    if found is None:
        raise UserError(f"{NAME}: starting afresh")
    return [found.progress, found.arrays]


def moses_beside(folder: Path) -> Path:
    """Where a model of Moses lies."""
    return folder.absolute().with_name("moses")


def compiled(folder: Path) -> list[Any]:
    """The compiled form of a model of Moses, which is made again where it is damaged."""
    model = load_model(read_moses_ini(moses_beside(folder) / "moses.ini"), str(folder / "compiled"))
    return [model.phrase_table.digest, model.phrase_table.scores, model.target_vocabulary.words]


def write_compiled(folder: Path) -> None:
    """The compiled form of a model of Moses, whose own files stay whole."""
    write_model(moses_beside(folder))
    compiled(folder)


def write_packed(folder: Path) -> None:
    """A packed system of the search."""
    (folder / "experiment").mkdir()
    config = write_experiment(folder / "experiment")
    pack_system(Experiment.load(str(config), folder=config.parent).open("baseline", 1), folder / "packed")
    shutil.rmtree(folder / "experiment")


def read_packed(folder: Path) -> list[Any]:
    """What it makes of text."""
    text = load_text_translator(open_system(str(folder / "packed")), True, "cpu", 1)
    return [[one.tokens, one.score] for found in text.translate(["a b c", "c new"]) for one in found.candidates]


def network(name: str, model: Trained) -> Reader:
    """A trained network of a kind; numbers of its ``config.json`` have no checksum."""

    def read(folder: Path) -> list[Any]:
        found = Trained.load(folder / "model", type(model.network), CPU)
        words = [vocabulary.words for vocabulary in found.vocabularies]
        return words + [tensor.numpy() for tensor in found.network.state_dict().values()]

    return Reader(f"network: {name}", lambda folder: model.save(folder / "model"), read)


def write_lexical(folder: Path) -> None:
    """Three words, one of them with two translations."""
    save_dictionary(folder / "lexical", [("a", "x"), ("b", "y"), ("a", "z")], SOURCE, TARGET)


def write_column(folder: Path) -> None:
    """Scores of the phrase table."""
    save_column(folder / "column", np.linspace(-9, 0, len(MODEL.phrase_table)), MODEL.phrase_table)


def write_checkpoint(folder: Path) -> None:
    """Of a run."""
    save_checkpoint(folder, "run", Checkpoint({"a": np.arange(40.0), "b": np.zeros((2, 3))}, {"updates": 3}))


ARRAYS = [
    ("phrase table, compiled", write_table, read_table),
    ("phrase table, compact", write_compact, read_compact),
    ("language model, compiled", write_models, read_models),
    ("lexical table", write_lexical, read_lexical),
    ("lattices", lambda folder: FLAT.save(folder / "lattices"), read_flat),
    ("lattices with links", lambda folder: LATTICES.save(folder / "lattices"), read_aligned),
    ("lists in tuning", lambda folder: CANDIDATES.save(folder / "c"), read_lists),
    ("lattices in tuning", lambda folder: POOL.save(folder / "pool"), read_pool),
    ("target vocabularies", write_sets, read_sets),
    ("score column", write_column, read_column),
    ("checkpoint", write_checkpoint, read_checkpoint),
    ("packed system", write_packed, read_packed),
]

READERS = [
    *(Reader(name, write, read, checked=True) for name, write, read in ARRAYS),
    *(Reader(f"{name}{FORGED}", write, read) for name, write, read in ARRAYS),
    Reader("compiled model of Moses", write_compiled, compiled, checked=True),
    *(network(name, model) for name, model in MODELS.items()),
]
