"""Phrase pairs to train on and to score, and the sizes of the networks that are measured with them."""

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.networks.encoder_decoder import EncoderDecoderConfig
from neural_smt.training.texts import Pairs

SIZES = {
    "embedded": EncoderDecoderConfig(3_000, 6_000, hidden=128, embedding=48, maxout=64, rank=48),
    "captions": EncoderDecoderConfig(11_251, 11_565, hidden=160, embedding=64, maxout=80, rank=40),
    "news": EncoderDecoderConfig(15_003, 15_003, hidden=256, embedding=100, maxout=128, rank=64),
    "paper": EncoderDecoderConfig(15_003, 15_003),
}
"""Name -> sizes: those of three experiments, and those of Cho et al. (2014)."""

LONGEST = 7


def random_pairs(config: EncoderDecoderConfig, count: int) -> Pairs:
    """``count`` pairs of spans: of each sentence all up to ``LONGEST`` words, every fourth translated a second way.

    Words are Zipfian, so that phrases share prefixes as those of a real table do.
    """
    random = np.random.default_rng(0)
    sources, targets = [], []
    while len(sources) < count:
        source, target = (
            (random.zipf(1.3, 12) + 2) % (words - 3) + 3 for words in (config.source_words, config.target_words)
        )
        for start in range(12):
            for end in range(start + 1, min(start + LONGEST, 12) + 1):
                sources.append(source[start:end])
                targets.append(target[start:end])
                if random.random() < 0.25:
                    sources.append(source[start:end])
                    targets.append(target[max(start - 1, 0) : end][:LONGEST])
    return Pairs(Ragged.from_lists(sources[:count]), Ragged.from_lists(targets[:count]))
