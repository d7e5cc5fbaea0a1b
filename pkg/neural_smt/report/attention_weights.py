"""What an attention network looks at while it writes a given translation."""

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.batches import pack_batch
from neural_smt.networks.attention.folder import TrainedAttention
from neural_smt.vocabulary_selection.sources import encode_words


def attention_weights(model: TrainedAttention, source: list[str], words: np.ndarray) -> list[list[float]]:
    """alpha, a row for each word (int32 ``[t]``, target ids) and the end symbol, a column for each source word and its
    end symbol, with three digits.
    """
    place = model.network.output.weight.device
    sources = encode_words(model.source, [" ".join(source)])
    batch = pack_batch(sources, Ragged.from_lists([words.tolist()]), place)
    (alphas,) = model.network.alignments(batch)
    return [[round(float(value), 3) for value in row] for row in alphas]
