"""The text that a recurrent model is trained on or measured with, and what each prediction knows of the source."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs
from neural_smt.representations.links import training_links
from neural_smt.representations.representation import Representation
from neural_smt.vocabulary import BOS, EOS, RESERVED, UNK, Vocabulary


def words_seen_twice(sentences: Ragged, vocabulary: Vocabulary) -> Vocabulary:
    """The words of sentences of ids but those that occur once (Auli et al. 2013, section 4.1)."""
    counts = np.bincount(sentences.values, minlength=len(vocabulary))
    kept = [number for number in np.flatnonzero(counts > 1).tolist() if number >= len(RESERVED)]
    return Vocabulary.from_counts(Counter({vocabulary.words[number]: int(counts[number]) for number in kept}))


@dataclass(frozen=True)
class JointText:
    """sentences: int32, ids without boundaries; rows: int32 ``[tokens, slots]``, the vectors of f of each prediction
    (words and ends, sentence by sentence; see ``AuxiliaryInputs``), or None without auxiliary input.
    """

    sentences: Ragged
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and len(self.rows) != self.tokens:
            raise ValueError(f"{len(self.rows)} inputs for {self.tokens} predictions")

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def tokens(self) -> int:
        """Predictions: words and ends of sentences."""
        return len(self.sentences.values) + len(self.sentences)

    def take(self, chosen: np.ndarray) -> "JointText":
        """The sentences numbered ``chosen``, in that order."""
        sentences = self.sentences.take(chosen)
        if self.rows is None:
            return JointText(sentences)
        offsets = self.sentences.offsets + np.arange(len(self) + 1)
        return JointText(sentences, Ragged(self.rows, offsets).take(chosen).values)


def without_boundaries(sentences: Ragged) -> Ragged:
    """Sentences in which words spelt like a boundary of sentences are unknown words."""
    values = sentences.values
    return Ragged(np.where((values == BOS) | (values == EOS), np.int32(UNK), values), sentences.offsets)


def predicted_counts(sentences: Ragged, words: int) -> np.ndarray:
    """int64 ``[words]``: how often each word is predicted, ``UNK`` and the end of a sentence included."""
    counts = np.bincount(sentences.values, minlength=words).astype(np.int64)
    counts[EOS] += len(sentences)
    return counts


def unknown_words(sentences: Ragged) -> int:
    """Running words that are ``UNK``."""
    return int((sentences.values == UNK).sum())


def read_texts(paths: Sequence[Path]) -> list[str]:
    """The lines of all texts."""
    return [line for path in paths for line in read_lines(path)]


def read_inputs(
    representation: Representation,
    target: Sequence[str],
    texts: Sequence[Path],
    sources: Sequence[Path],
    alignment: Path | None,
) -> tuple[AuxiliaryInputs, np.ndarray]:
    """The inputs f of a text and int32 ``[tokens]``, the number of that of each prediction.

    target: the lines of ``texts``; sources: parallel to them; alignment: of all of them, one after the other, a line
    for each. Raises ``UserError`` for files that do not go together.
    """
    if alignment is None or not sources:
        raise UserError("a joint model needs the source and the alignment of its text; give sources and alignment")
    links = read_alignments(alignment)
    source = read_texts(sources)
    for lines, paths in ((source, sources), (links, [alignment])):
        if len(lines) != len(target):
            raise UserError(
                f"{', '.join(map(str, paths))}: {len(lines)} lines, but {', '.join(map(str, texts))} has "
                f"{len(target)}; give files made from the same sentences"
            )
    lengths = np.array([len(line.split()) for line in target], dtype=np.int64)
    try:
        sets, numbers = training_links(links, lengths)
    except ValueError as error:
        raise UserError(f"{alignment}: not an alignment of these texts ({error}); align them again") from None
    read = target if representation.side == "target" else source
    return representation.inputs([line.split() for line in read], sets), numbers
