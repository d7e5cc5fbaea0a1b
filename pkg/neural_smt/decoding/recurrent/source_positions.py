"""The source words behind the target words of options, wherever these stand in a sentence."""

import numpy as np

from neural_smt.decoding.model import TranslationModel
from neural_smt.decoding.options import UNKNOWN_ROW, WeightedSentences
from neural_smt.io.ragged import Ragged
from neural_smt.representations.links import aligned_positions


def source_positions(
    weighted: WeightedSentences, model: TranslationModel, options: np.ndarray, starts: np.ndarray
) -> Ragged:
    """int32 ``Ragged`` of all words of n options in a row: their source positions within the sentence, rising.

    options, starts: int ``[n]``, the option and the first source word that it covers.
    """
    distinct, option_of = np.unique(options, return_inverse=True)
    lengths = np.diff(weighted.options.word_offsets)[distinct]
    positions = aligned_positions(_alignments(weighted.prepared.rows[weighted.rows[distinct]], model), lengths)
    first = np.concatenate([[0], np.cumsum(lengths)])
    added = lengths[option_of]
    before = np.cumsum(added) - added
    words = positions.take(np.arange(added.sum()) + np.repeat(first[option_of] - before, added))
    shifts = np.repeat(np.repeat(starts, added), words.lengths)
    return Ragged((words.values + shifts).astype(np.int32), words.offsets)


def _alignments(rows: np.ndarray, model: TranslationModel) -> Ragged:
    """(source, target) positions of phrase pairs; a copied word is aligned to the one it copies."""
    found = rows != UNKNOWN_ROW
    alignment = model.phrase_table.alignment.take(np.where(found, rows, 0))
    values = np.asarray(alignment.values, dtype=np.int32).reshape(-1, 2)
    lengths = np.where(found, alignment.lengths, 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    joined = np.zeros((offsets[-1], 2), dtype=np.int32)
    joined[np.repeat(found, lengths)] = values[np.repeat(found, alignment.lengths)]
    return Ragged(joined, offsets)
