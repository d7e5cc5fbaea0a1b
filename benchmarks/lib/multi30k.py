"""The phrase-based system of Multi30k English-French that the classic tools were measured with, built here.

Text tokenised by sacremoses, aligned by fast_align both ways and grow-diag-final-and, phrases of up to seven words, a
5-gram model of the French side: the same tables as Moses', so that its tuned weights can be used as they are.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lib import RESULTS, SHARED
from neural_smt.alignment.fast_align import fast_align
from neural_smt.alignment.lexical import lexical_table
from neural_smt.alignment.pharaoh import read_alignments, write_alignments
from neural_smt.alignment.symmetrisation import symmetrise_alignments
from neural_smt.corpus.tokenisation import tokenise_lines
from neural_smt.decoding.model import TranslationModel
from neural_smt.experiment.settings import section_settings
from neural_smt.experiment.system_folder import System
from neural_smt.io.files import read_lines, read_parallel, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.arpa import write_arpa
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.model import NgramModel
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.scoring import score_pairs
from neural_smt.vocabulary import Vocabulary

FOLDER = RESULTS / "multi30k"
MAX_LENGTH = 7
SMOOTHING = 0.5
ORDER = 5
SETS = ("train", "val", "test_2016_flickr")


@dataclass(frozen=True)
class Captions:
    """The training text: files, and its words."""

    source: Path
    target: Path
    alignment: Path
    vocabularies: tuple[Vocabulary, Vocabulary]

    def encode(self) -> tuple[Ragged, Ragged]:
        """Both sides as word ids."""
        lines = read_parallel(self.source, self.target)
        source, target = (v.encode(side) for v, side in zip(self.vocabularies, lines, strict=True))
        return source, target


def available() -> bool:
    """Whether the reference data is there; says so when it is not."""
    there = (SHARED / "data" / "multi30k").is_dir()
    if not there:
        print(f"skipped: no data/multi30k at {SHARED}; set NEURAL_SMT_SHARED")
    return there


def captions() -> Captions:
    """Tokenised and aligned training text, made when it is not there yet."""
    paths = FOLDER / "train.en", FOLDER / "train.fr", FOLDER / "train.align"
    for language, path in zip(("en", "fr"), paths[:2], strict=True):
        _tokenise("train", language, path)
    lines = read_parallel(*paths[:2])
    source_vocabulary, target_vocabulary = (Vocabulary.from_sentences(side) for side in lines)
    text = Captions(*paths, (source_vocabulary, target_vocabulary))
    if not paths[2].exists():
        source, target = text.encode()
        sizes = len(source_vocabulary), len(target_vocabulary)
        forward = fast_align(source, target, *sizes, section_settings("alignment.fast_align", {}))
        reverse = fast_align(target, source, *reversed(sizes), section_settings("alignment.fast_align", {}))
        reverse = Ragged(np.ascontiguousarray(reverse.values[:, ::-1]), reverse.offsets)
        write_alignments(paths[2], [symmetrise_alignments(forward, reverse, "grow-diag-final-and")])
    return text


def _tokenise(name: str, language: str, path: Path) -> None:
    if not path.exists():
        print(f"tokenising {path.name} (once) ...", flush=True)
        lines = read_lines(SHARED / "data" / "multi30k" / f"{name}.{language}.gz")
        write_lines(path, tokenise_lines(lines, language, threads=2))


def sentences(name: str, language: str) -> list[list[str]]:
    """The tokens of ``val`` or ``test_2016_flickr``."""
    path = FOLDER / f"{name}.{language}"
    _tokenise(name, language, path)
    return [line.split() for line in read_lines(path)]


def model(arpa: Path | None = None) -> TranslationModel:
    """The translation model, built once and then mapped from ``FOLDER``; with ``arpa`` its language model as text."""
    text = captions()
    source, target = FOLDER / "vocabulary.en.tsv", FOLDER / "vocabulary.fr.tsv"
    if not (FOLDER / "language_model").is_dir() or (arpa is not None and not arpa.exists()):
        words = text.encode()
        for vocabulary, path in zip(text.vocabularies, (source, target), strict=True):
            vocabulary.save(path)
        alignments = read_alignments(text.alignment)
        lexical = lexical_table([(*words, alignments)], *map(len, text.vocabularies))
        pairs = extract_pairs(*words, alignments, MAX_LENGTH, 2)
        score_pairs(pairs, lexical, *text.vocabularies, MAX_LENGTH, SMOOTHING, 2).save(FOLDER / "table")
        tables = estimate(words[1], ORDER).tables
        if arpa is not None:
            write_arpa(arpa, tables, text.vocabularies[1])
        NgramModel.from_tables(tables, text.vocabularies[1]).save(FOLDER / "language_model")
    files = {
        "phrase_table": FOLDER / "table",
        "language_models": [FOLDER / "language_model"],
        "source_vocabulary": source,
        "target_vocabulary": target,
        "columns": {},
        "features": ["phrase", "language_model", "reordering"],
    }
    return TranslationModel.load(System(FOLDER / "system.json", files))
