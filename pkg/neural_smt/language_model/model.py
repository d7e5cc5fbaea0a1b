"""A back-off n-gram model that can be queried, saved and mapped into memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from neural_smt.errors import UserError
from neural_smt.files import atomic, load_array, read_json, save_arrays, write_json
from neural_smt.language_model.automaton import build_automaton
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.language_model.primitives import Automaton, all_finite, score_sentences, score_word
from neural_smt.ragged import Ragged
from neural_smt.vocabulary import UNK, Vocabulary

_FILES = [name for name in Automaton._fields if name != "begin"]


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
        return all_finite(arrays.arcs) and bool(
            np.isfinite(arrays.unigram_log10).all() & np.isfinite(arrays.backoff).all()
        )

    @classmethod
    def from_tables(cls, tables: Sequence[NgramTable], vocabulary: Vocabulary) -> "NgramModel":
        """Build from the n-grams of orders 1, 2, ...; ``UserError`` when a context is missing."""
        automaton = build_automaton(tables, len(vocabulary))
        for name in _FILES:
            getattr(automaton, name).flags.writeable = False
        return cls(automaton, len(tables), tuple(len(table) for table in tables), vocabulary.digest)

    def save(self, folder: Path) -> None:
        """Write a folder of ``.npy`` arrays and ``meta.json``."""
        with atomic(folder, directory=True) as temporary:
            save_arrays(temporary, **{name: getattr(self.arrays, name) for name in _FILES})
            meta = {
                "order": self.order,
                "ngrams": list(self.ngrams),
                "begin": self.begin_state,
                "vocabulary": self.vocabulary_digest,
            }
            write_json(temporary / "meta.json", meta)

    @classmethod
    def load(cls, folder: Path, vocabulary: Vocabulary | None = None, mapped: bool = True) -> "NgramModel":
        """Read what ``save`` wrote, memory-mapped unless ``mapped`` is false.

        ``UserError`` when a file is missing, or when the model was made for another vocabulary than the one given.
        """
        folder = Path(folder)
        meta = read_json(folder / "meta.json")
        if vocabulary is not None and vocabulary.digest != meta["vocabulary"]:
            raise UserError(f"{folder}: made for another vocabulary; build the language model again")
        # The kernels are compiled once, for plain read-only arrays, whether mapped or not.
        arrays = [np.asarray(load_array(folder / f"{name}.npy", mapped)) for name in _FILES]
        for array in arrays:
            array.flags.writeable = False
        automaton = Automaton(*arrays, begin=np.int32(meta["begin"]))
        return cls(automaton, meta["order"], tuple(meta["ngrams"]), meta["vocabulary"])

    def score_word(self, state: int, word: int) -> tuple[float, int]:
        """log10 p(word | state) and the next state."""
        return score_word(self.arrays, state, word)

    def score_sentences(self, sentences: Ragged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log10 of each sentence including ``</s>``, its number of unknown words, and their share of the log10."""
        return score_sentences(self.arrays, sentences.values, sentences.offsets)
