"""Representations as a joint model reads them: what it knows of the source when it predicts a word (section 5).

The vectors of R and T are tiny (their columns have length 1) and the paper does not say how the network reads them.
Here given vectors are multiplied by one number, so that an input f_t whose slots are all filled has the root mean
square length of the setting ``length`` in the training text: whatever the kind, its part of the network's sums stays
comparable with that of the hidden layer. (Validation perplexity with sentence vectors of 80 dimensions, two epochs on
4,000 captions: 25.6 at a length of 1, 23.7 at 2, 24.8 at 6.) Word vectors of T are first made equally long: their
lengths differ widely with the frequency of the words, and their meaning lies in the direction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse

from neural_smt.errors import UserError, required
from neural_smt.experiment.settings import Settings, complete_settings, load_schema
from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.files import atomic, read_json, write_json
from neural_smt.io.ragged import Ragged
from neural_smt.io.records import record_of
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, LinkSets
from neural_smt.representations.links import parse_window, window_rows
from neural_smt.representations.projection import Projection, feature_matrix, word_hashes
from neural_smt.vocabulary import Vocabulary

SENTENCE_KINDS = ("sentence_lsa", "projected_lsa")
"""Kinds with one vector for the whole sentence; others have one for each word of a window."""


def representation_settings(values: Mapping[str, Any]) -> Settings:
    """The settings of a representation (``input`` of a joint model in the schema), those left out by their defaults.

    Raises ``UserError`` for what is unknown, missing or out of range.
    """
    schema = load_schema()["$defs"]["recurrent"]["properties"]["input"]
    completed = complete_settings(values, schema, "representation").as_dict()
    settings = Settings({name: value for name, value in completed.items() if name != "network"})
    if settings.side == "target" and settings.kind != "sentence_lsa":
        raise UserError(f"a representation of kind {settings.kind} reads the source; set side: source")
    if settings.kind == "projected_lsa" and settings.rate == settings.held_out == 0:
        raise UserError("a projected representation's held_out is 0 and so is its rate; set one of them above 0")
    return settings


@dataclass(frozen=True)
class Representation:
    """What a joint model knows of the source: a vector for the whole sentence, or for each word of a window around the
    aligned source words.

    vectors: float32; of a sentence, which is linear in what is counted in it: ``[V, d]``, what each occurrence of a
    word adds (``sentence_lsa``), or ``[K, d]``, those of the ``features`` (int32 ``[K]``) of ``projected_lsa``; of
    words: ``[V + 1, d]``, zeros and then the vector of every word; None where the joint network learns it.
    """

    settings: Settings
    vocabulary: Vocabulary
    vectors: np.ndarray | None
    features: np.ndarray | None = None

    @property
    def of_sentences(self) -> bool:
        """Whether predictions of a sentence share its vector, whatever they are aligned to."""
        return self.settings.kind in SENTENCE_KINDS

    @property
    def slots(self) -> int:
        """f_t is so many vectors."""
        return 1 if self.of_sentences else parse_window(self.settings.window).slots

    @property
    def dimensions(self) -> int:
        """Numbers of a vector."""
        return self.settings.dimensions if self.vectors is None else self.vectors.shape[1]

    @property
    def input_rows(self) -> int:
        """Rows of the table of vectors where the joint network learns it, else 0."""
        return len(self.vocabulary) + 1 if self.vectors is None else 0

    def inputs(self, sentences: Sequence[Sequence[str]], links: LinkSets) -> AuxiliaryInputs:
        """The input of each set of links into tokenised sentences, in the order of the sets.

        Zeros where nothing is known of a sentence; slots beyond it, or beyond the aligned words, hold row 0. Raises
        ``ValueError`` for links that lie outside the sentences.
        """
        ids = self.vocabulary.encode(" ".join(tokens) for tokens in sentences)
        if not self.of_sentences:
            return AuxiliaryInputs(window_rows(ids, links, parse_window(self.settings.window)), self.vectors)
        if len(links) and not 0 <= links.sentences.min() <= links.sentences.max() < len(sentences):
            raise ValueError("links of sentences that are not there")
        table = np.zeros((len(sentences) + 1, self.dimensions), dtype=np.float32)
        if self.features is None:
            table[1:] = word_counts(ids, len(self.vocabulary)).astype(np.float32) @ self.vectors
        else:
            matrix = feature_matrix(ids, word_hashes(self.vocabulary), self.settings.bits)
            table[1:] = Projection(self.features, required(self.vectors)).project(matrix)
        return AuxiliaryInputs((links.sentences[:, None] + 1).astype(np.int32), table)


CONFIG, ARRAYS, VOCABULARY = "config.json", "vectors.safetensors", "vocabulary.tsv"

_ADVICE = "build the representation again"


class _OfSentences(NamedTuple):
    weights: Annotated[np.ndarray, "float32 [V, d]"]


class _OfFeatures(NamedTuple):
    weights: Annotated[np.ndarray, "float32 [K, d]"]
    features: Annotated[np.ndarray, "int32 [K]"]


class _OfWords(NamedTuple):
    table: Annotated[np.ndarray, "float32 [V+1, d]"]


_RECORDS = {"sentence_lsa": _OfSentences, "projected_lsa": _OfFeatures, "word_lsa": _OfWords, "word_rnn": _OfWords}
"""What is kept of each kind with vectors of its own, see ``Representation``."""


def save_representation(folder: Path, representation: Representation) -> None:
    """Write the folder, all or nothing."""
    vectors = "weights" if representation.of_sentences else "table"
    named = {vectors: representation.vectors, "features": representation.features}
    arrays = {name: np.ascontiguousarray(array) for name, array in named.items() if array is not None}
    with atomic(folder, directory=True) as temporary:
        write_arrays(temporary / ARRAYS, arrays)
        representation.vocabulary.save(temporary / VOCABULARY)
        description = {"settings": representation.settings.as_dict(), "vocabulary": representation.vocabulary.digest}
        write_json(temporary / CONFIG, description)


def load_representation(folder: Path) -> Representation:
    """Read what ``save_representation`` wrote.

    Raises ``UserError`` when a file is missing or broken, the vocabulary is another one, or the arrays do not fit.
    """
    folder = Path(folder)
    description = read_json(folder / CONFIG)
    try:
        settings = representation_settings(description["settings"])
        digest = description["vocabulary"]
    except (KeyError, TypeError, AttributeError, ValueError, UserError) as error:
        raise UserError(f"{folder / CONFIG}: not the settings of a representation ({error}); {_ADVICE}") from None
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    if vocabulary.digest != digest:
        raise UserError(f"{folder / VOCABULARY}: not the vocabulary that the representation was made with; {_ADVICE}")
    arrays, record = read_arrays(folder / ARRAYS, mapped=False, advice=_ADVICE), _RECORDS.get(settings.kind)
    return Representation(settings, vocabulary, *(record_of(record, arrays, V=len(vocabulary)) if record else [None]))


def word_counts(ids: Ragged, words: int) -> sparse.csr_matrix:
    """How often each word stands in each sentence ``[n, V]``."""
    ones = np.ones(len(ids.values))
    counts = sparse.csr_matrix((ones, ids.values.copy(), ids.offsets), shape=(len(ids), words))
    counts.sum_duplicates()
    return counts
