"""Words that a batch is predicted from in place of a large vocabulary: its own, and others drawn at random.

After Jean et al. (2015, section 3), who take parts of the text in turn; here a batch of short phrases has few words of
its own, and how likely each word was to be among them is known, so that normalisers are estimated without bias. Their
logarithms are not: a word that is seldom drawn is held down as seldom, however likely the network thinks it, and with
samples alone some words run away after an epoch (held-out perplexity of captions 8 after one, 45,993 after four).
Now and then an update is predicted from all words, which holds them.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from neural_smt.io.files import release
from neural_smt.io.ragged import PIECE, Ragged
from neural_smt.networks.device import MULTIPLE
from neural_smt.networks.packing import close
from neural_smt.networks.softmax import Sample

EXACT = 16
"""One in so many updates is predicted from all words."""


@dataclass
class WordSampler:
    """Draws words in proportion to the square roots of their counts.

    counts: int64 ``[V]``, how often each word is predicted in the text; draws: how many are drawn for a batch, with
    replacement; what is drawn depends on the seed and the number of the update alone. A few of them are given back, so
    that there are ``MULTIPLE`` of words or a multiple of it.
    """

    counts: np.ndarray
    draws: int
    seed: int

    @classmethod
    def of(cls, text: Ragged, words: int, draws: int, seed: int) -> Self | None:
        """For a text of ids below ``words``, each sequence of which ends with the end symbol; None for no draws."""
        if not draws:
            return None
        counts = np.zeros(words, dtype=np.int64)
        for first in range(0, len(text), PIECE):
            counts += np.bincount(close(text.part(first, first + PIECE)), minlength=words)
            release(text.values)
        return cls(counts, draws, seed)

    def __post_init__(self) -> None:
        roots = np.sqrt(self.counts)
        self._cumulative = np.cumsum(roots) / roots.sum()
        with np.errstate(divide="ignore"):
            # log chance of a word of not being the next word of the text, of not being the next one drawn
            self._absent = np.log1p(-self.counts / self.counts.sum()), np.log1p(-roots / roots.sum())

    def sample(self, update: int, words: np.ndarray, positions: torch.Tensor) -> Sample | None:
        """For an update: words, int ``[n]``, all words that it predicts; positions: int64 ``[N]``, those of a share.
        None for one that is predicted from all words.
        """
        if update % EXACT == 0:
            return None
        random = np.random.default_rng([self.seed, update])
        drawn = np.searchsorted(self._cumulative, random.random(self.draws), side="right")
        own = np.unique(words)
        others = np.setdiff1d(drawn.clip(max=len(self.counts) - 1), own)
        kept = max(len(others) - (len(own) + len(others)) % MULTIPLE, 0)
        ids = np.sort(np.concatenate((own, random.permutation(others)[:kept])))
        drawn_chance = -np.expm1(self.draws * self._absent[1][ids]) * kept / max(len(others), 1)
        chances = torch.from_numpy(-np.expm1(len(words) * self._absent[0][ids] + np.log1p(-drawn_chance)))
        known = torch.from_numpy(ids.astype(np.int64))
        return Sample(known, torch.searchsorted(known, positions), chances.float())
