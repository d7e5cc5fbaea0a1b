"""Minibatches of sentence pairs for an attention network, and the target vocabulary of a minibatch."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neural_smt.io.ragged import Ragged
from neural_smt.networks.packing import Packed, PairBatch, pack, pack_pairs
from neural_smt.vocabulary import EOS, UNK


@dataclass(frozen=True)
class SourceLayout:
    """Where the words of packed source sentences stand when read backwards, and in rows of equal width.

    mirror: int64 ``[N]``, for each packed position the one at the same distance from the other end of its sentence;
    positions: int64 ``[B, L]``, the packed position of each word of each row, 0 on padding; padding: bool ``[B, L]``.
    """

    mirror: Tensor
    positions: Tensor
    padding: Tensor

    @classmethod
    def of(cls, source: Packed, pairing: Tensor | None = None) -> "SourceLayout":
        """Of packed sentences; pairing: int64, the row of ``source`` that each row shall hold (as they are if None)."""
        device = source.words.device
        sizes = torch.tensor(source.sizes)
        starts = torch.cumsum(sizes, 0) - sizes
        lengths = (torch.arange(source.sizes[0]) < sizes[:, None]).sum(0)
        steps = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        rows = source.rows.cpu()
        mirror = starts[lengths[rows] - 1 - steps] + rows
        chosen = torch.arange(source.sizes[0]) if pairing is None else pairing.cpu()
        padding = torch.arange(len(sizes)) >= lengths[chosen, None]
        positions = (starts + chosen[:, None]).masked_fill(padding, 0)
        return cls(*(tensor.to(device) for tensor in (mirror, positions, padding)))


@dataclass(frozen=True)
class BatchVocabulary:
    """The target words ``V_o`` that a minibatch is predicted from (Mi et al. 2016, section 3).

    ids: int64 ``[n]``, distinct and rising, UNK and EOS among them; words: int64 ``[N]``, the position in ``ids`` of
    the word to predict at each target position; allowed: bool ``[B, n]``, the words of each target row's own set, or
    None where the rows share them all. A word to predict that is outside counts as UNK: nothing else can be written.
    """

    ids: Tensor
    words: Tensor
    allowed: Tensor | None = None


@dataclass(frozen=True)
class AttentionBatch:
    """Sentence pairs, each side in its own order of falling length; layout: of the sources, a row for each target row;
    vocabulary: None for all target words.
    """

    pairs: PairBatch
    layout: SourceLayout
    vocabulary: BatchVocabulary | None = None


def pack_sentences(source: Ragged, device: torch.device) -> tuple[Packed, SourceLayout, np.ndarray]:
    """Source sentences alone (to translate): packed, their layout, and int64 ``[B]``, the sentence in each row."""
    packed, order = pack(source, device)
    return packed, SourceLayout.of(packed), order


def pack_batch(
    source: Ragged,
    target: Ragged,
    device: torch.device,
    ids: np.ndarray | None = None,
    allowed: np.ndarray | None = None,
) -> AttentionBatch:
    """Pack pair i = (source i, target i) of ids without end symbols.

    ids: int ``[n]``, distinct and rising, the words to predict from, UNK and EOS among them; None: all target words;
    allowed: bool ``[pairs, n]``, those of each pair alone (``membership``), None: all of ``ids``.
    """
    pairs = pack_pairs(source, target, device)
    layout = SourceLayout.of(pairs.source, pairs.pairing)
    return AttentionBatch(pairs, layout, None if ids is None else _vocabulary(pairs, ids, allowed))


def _vocabulary(pairs: PairBatch, ids: np.ndarray, allowed: np.ndarray | None) -> BatchVocabulary:
    if not np.isin((UNK, EOS), ids).all():
        raise ValueError("the unknown word and the end symbol must be among the words to predict from")
    device = pairs.order.device
    if allowed is not None:
        allowed = allowed[pairs.order.cpu().numpy()]
    wanted = pairs.target.words.cpu().numpy()
    places = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    found = ids[places] == wanted
    if allowed is not None:
        found &= allowed[pairs.target.rows.cpu().numpy(), places]
    # UNK is the smallest id, so it stands first.
    arrays = ids.astype(np.int64), np.where(found, places, 0)
    tensors = [torch.from_numpy(array).to(device) for array in arrays]
    return BatchVocabulary(*tensors, None if allowed is None else torch.from_numpy(allowed).to(device))


def membership(ids: np.ndarray, own: Ragged, common: np.ndarray) -> np.ndarray:
    """bool ``[sentences, n]``: which of ``ids`` (distinct and rising) each sentence may be predicted from.

    own: lists of ids, one for each sentence; common: ids that all sentences have besides. All must be among ``ids``.
    """
    allowed = np.zeros((len(own), len(ids)), dtype=bool)
    allowed[np.repeat(np.arange(len(own)), own.lengths), np.searchsorted(ids, own.values)] = True
    allowed[:, np.searchsorted(ids, common)] = True
    return allowed
