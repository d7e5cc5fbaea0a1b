"""The texts that recurrent language models and joint models (Auli et al. 2013) are trained on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.experiment.settings import Settings
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import count_words, stream_texts
from neural_smt.representations.links import training_links
from neural_smt.representations.representation import Representation
from neural_smt.selection.origins import lines_of_sources
from neural_smt.shortlist import repeated_words, shortlist_ids
from neural_smt.training.texts import draw_lines, draw_sentences
from neural_smt.vocabulary import Vocabulary


@dataclass(frozen=True)
class JointText:
    """sentences: int32, ids without boundaries; rows: int32 ``[tokens, slots]``, the vectors of f of each prediction
    (words and ends, sentence by sentence; see ``AuxiliaryInputs``), or None without auxiliary input; table: float32
    ``[R, dimensions]``, what rows mean, on the network's device, or None where the network learns it.
    """

    sentences: Ragged
    rows: np.ndarray | None = None
    table: Tensor | None = None

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def lengths(self) -> np.ndarray:
        """int64 ``[n]``: words of each sentence."""
        return self.sentences.lengths

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
        return replace(self, sentences=sentences, rows=Ragged(self.rows, offsets).take(chosen).values)


def read_inputs(
    representation: Representation | None,
    sentences: Ragged,
    lines: list[str],
    texts: Sequence[Path],
    sources: Sequence[Path],
    alignment: Path | None,
    place: torch.device,
    chosen: np.ndarray | None = None,
) -> JointText:
    """A text with what a joint model knows of its source, where there is a representation.

    sentences, lines: the text, as ids and as it stands in ``texts``; sources: parallel to them; alignment: of all of
    them, one after the other, a line for each; place: of the vectors; chosen: which lines of all these files the text
    is, bool, None for all. Raises ``UserError`` for files that do not go together.
    """
    if representation is None:
        return JointText(sentences)
    if alignment is None or not sources:
        raise UserError("a joint model needs the source and the alignment of its text; give sources and alignment")
    links, source = read_alignments(alignment), list(stream_texts(sources))
    count = len(lines) if chosen is None else len(chosen)
    for found, paths in ((source, sources), (links, [alignment])):
        if len(found) != count:
            raise UserError(
                f"{', '.join(map(str, paths))}: {len(found)} lines, but {', '.join(map(str, texts))} has "
                f"{count}; give files made from the same sentences"
            )
    if chosen is not None:
        source, links = list(compress(source, chosen)), links.take(np.flatnonzero(chosen))
    try:
        sets, numbers = training_links(links, sentences.lengths)
        read = lines if representation.settings.side == "target" else source
        inputs = representation.inputs([line.split() for line in read], sets)
    except ValueError as error:
        raise UserError(f"{alignment}: not an alignment of these texts ({error}); align them again") from None
    table = None if inputs.table is None else torch.from_numpy(inputs.table).to(place)
    return JointText(sentences, inputs.rows[numbers], table)


def choose_lines(
    texts: Sequence[Path], settings: Settings, origins: Sequence[Sequence[str]], seed: int
) -> np.ndarray | None:
    """bool ``[lines]``: the lines of texts that a network is trained and validated on; None for all of them.

    settings: sources, words, validation, validation_words; origins: of the texts, see ``lines_of_sources``. Texts may
    be long: their lines are counted one by one.
    """
    if not (settings.sources or settings.words):
        return None
    lengths = count_words(stream_texts(texts))
    among = lines_of_sources(origins, settings.sources) if settings.sources else np.ones(len(lengths), dtype=bool)
    if len(among) != len(lengths):
        raise UserError(
            f"{', '.join(map(str, texts))}: {len(lengths)} lines, but origins tell of {len(among)}; give the tables of "
            "cleaning and the scores of selection that belong to these texts"
        )
    if not settings.words:
        return among
    held_out = settings.validation_words or round(settings.words * settings.validation / (1 - settings.validation))
    return draw_lines(lengths, settings.words + held_out, seed, among)


def read_texts(
    texts: Sequence[Path],
    chosen: np.ndarray | None,
    settings: Settings,
    representation: Representation | None,
    sources: Sequence[Path],
    alignment: Path | None,
    place: torch.device,
    seed: int,
) -> tuple[Vocabulary, JointText, JointText]:
    """The words of a network, the text that it is trained on, and the one held out; for the arguments see ``prepare``
    and ``read_inputs``.
    """
    lines = list(stream_texts(texts) if chosen is None else compress(stream_texts(texts), chosen))
    everything = Vocabulary.from_sentences(lines)
    encoded = everything.encode(lines)
    if len(encoded.values) == 0:
        raise UserError(f"{', '.join(map(str, texts))}: no words to train on; check the selection stage")
    drawn = draw_sentences(encoded, settings.validation, seed, settings.validation_words)
    kept = np.flatnonzero(~drawn)
    vocabulary = repeated_words(lines[number] for number in kept.tolist())
    known = Ragged(shortlist_ids(everything, vocabulary)[encoded.values], encoded.offsets)
    whole = read_inputs(representation, known, lines, texts, sources, alignment, place, chosen)
    return vocabulary, whole.take(kept), whole.take(np.flatnonzero(drawn))
