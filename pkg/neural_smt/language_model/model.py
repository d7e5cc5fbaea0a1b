"""A back-off n-gram model that can be queried, saved and mapped into memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import atomic, load_array, read_object, save_arrays, write_json
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.automaton import NOT_CODED, build_automaton
from neural_smt.language_model.coded import BITS, build_coded_automaton
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.language_model.primitives import Automaton, CodedArcs, all_finite, score_sentences, score_word
from neural_smt.vocabulary import UNK, Vocabulary

_FILES = [name for name in Automaton._fields if name not in ("begin", "coded")]


@dataclass(frozen=True)
class NgramModel:
    """An n-gram model over the ids of one vocabulary.

    ``arrays`` is what the kernels of ``primitives`` take; they are read-only. All scores are log10.
    """

    arrays: Automaton
    order: int
    ngrams: tuple[int, ...]
    """Number of n-grams of each order."""
    vocabulary_digest: str

    @property
    def begin_state(self) -> int:
        """The state after ``<s>``."""
        return int(self.arrays.begin)

    @property
    def null_state(self) -> int:
        """The state that knows no word before."""
        return 0

    @property
    def known_words(self) -> int:
        """Number of words the model knows, with ``<unk>`` and ``</s>`` and without ``<s>``."""
        return int((self.arrays.lexicon != UNK).sum()) + 1

    @cached_property
    def finite(self) -> bool:
        """Whether all scores are finite numbers; looks at all of them once."""
        arrays = self.arrays
        coded = arrays.coded
        rest = arrays.unigram_log10, arrays.backoff, coded.prob_centres, coded.backoff_centres
        return all_finite(arrays.arcs) and all(bool(np.isfinite(values).all()) for values in rest)

    @property
    def quantised(self) -> bool:
        """Whether scores of n-grams of two words and more are those of codes."""
        return len(self.arrays.arcs) == 0

    @classmethod
    def from_tables(cls, tables: Sequence[NgramTable], vocabulary: Vocabulary, quantise: bool = False) -> "NgramModel":
        """Build from the n-grams of orders 1, 2, ...; ``UserError`` when a context is missing.

        quantise: keep a code of 8 bits of each probability and back-off weight (see ``coded``), a third of the memory.
        """
        automaton = (build_coded_automaton if quantise else build_automaton)(tables, len(vocabulary))
        for array in (*(getattr(automaton, name) for name in _FILES), *automaton.coded):
            array.flags.writeable = False
        return cls(automaton, len(tables), tuple(len(table) for table in tables), vocabulary.digest)

    def save(self, folder: Path) -> None:
        """Write a folder of ``.npy`` arrays and ``meta.json``."""
        with atomic(folder, directory=True) as temporary:
            save_arrays(temporary, **{name: getattr(self.arrays, name) for name in _FILES})
            if self.quantised:
                save_arrays(temporary, **self.arrays.coded._asdict())
            meta = {
                "order": self.order,
                "ngrams": list(self.ngrams),
                "begin": self.begin_state,
                "vocabulary": self.vocabulary_digest,
            }
            if self.quantised:
                meta["quantise"] = BITS
            write_json(temporary / "meta.json", meta)

    @classmethod
    def load(cls, folder: Path, vocabulary: Vocabulary | None = None, mapped: bool = True) -> "NgramModel":
        """Read what ``save`` wrote, memory-mapped unless ``mapped`` is false.

        ``UserError`` when a file is missing, or when the model was made for another vocabulary than the one given.
        """
        folder = Path(folder)
        meta = read_object(folder / "meta.json")
        if vocabulary is not None and vocabulary.digest != meta["vocabulary"]:
            raise UserError(f"{folder}: made for another vocabulary; build the language model again")
        # The kernels are compiled once, for plain read-only arrays, whether mapped or not.
        names = [*_FILES, *CodedArcs._fields] if "quantise" in meta else _FILES
        arrays = [np.asarray(load_array(folder / f"{name}.npy", mapped)) for name in names]
        for array in arrays:
            array.flags.writeable = False
        exact = len(_FILES)
        coded = CodedArcs(*arrays[exact:]) if arrays[exact:] else NOT_CODED
        automaton = Automaton(*arrays[:exact], begin=np.int32(meta["begin"]), coded=coded)
        return cls(automaton, meta["order"], tuple(meta["ngrams"]), meta["vocabulary"])

    def score_word(self, state: int, word: int) -> tuple[float, int]:
        """log10 p(word | state) and the next state."""
        return score_word(self.arrays, state, word)

    def score_sentences(self, sentences: Ragged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log10 of each sentence including ``</s>``, its number of unknown words, and their share of the log10."""
        return score_sentences(self.arrays, sentences.values, sentences.offsets)
