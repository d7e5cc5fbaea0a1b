"""Sizes of networks and lengths of trainings that suit a corpus."""

from dataclasses import dataclass

from neural_smt.planning.sizes import RATIOS

BATCH = 128
"""Phrase pairs of an update."""

NGRAMS = 512
"""N-grams of an update of the CSLM."""


@dataclass(frozen=True)
class Networks:
    """Units of an encoder-decoder and of a CSLM for corpora of up to so many pairs (inf: of any number).

    most_updates: of the encoder-decoder; larger text is not gone through once. units, epochs: of an attention network.
    """

    pairs: float
    encoder_decoder: dict[str, int]
    projection: int
    layers: tuple[int, int]
    most_updates: int
    units: int
    epochs: int


NETWORKS = (
    Networks(5_000, {"hidden": 64, "embedding": 32, "maxout": 32, "rank": 24}, 32, (96, 32), 4000, 128, 20),
    Networks(100_000, {"hidden": 160, "embedding": 64, "maxout": 80, "rank": 40}, 64, (256, 64), 9000, 256, 12),
    Networks(1_000_000, {"hidden": 256, "embedding": 96, "maxout": 128, "rank": 64}, 96, (384, 96), 20_000, 256, 6),
    Networks(
        float("inf"), {"hidden": 500, "embedding": 100, "maxout": 250, "rank": 100}, 256, (768, 256), 100_000, 500, 3
    ),
)
"""Such as two cores train in minutes to hours; the paper has 1,000 units and, for the CSLM, 512 and [1536, 1024]."""

EFLOMAL_PAIRS = 1_000_000
"""Pairs up to which the better aligner is quick enough."""

SHARD_PAIRS = 500_000
"""Pairs whose tables fit into the memory that a job asks for."""


@dataclass(frozen=True)
class Settings:
    """What an experiment on a corpus of that size is set to."""

    aligner: str
    shards: int
    runs: int
    networks: Networks
    updates: int
    validation_pairs: int
    cslm_updates: int
    held_out: float


def suit(pairs: int, words: int) -> Settings:
    """Settings for a training text of so many pairs, with so many words on the target side."""
    networks = next(networks for networks in NETWORKS if pairs <= networks.pairs)
    rows = RATIOS["rows per word"] * words
    return Settings(
        aligner="eflomal" if pairs <= EFLOMAL_PAIRS else "fast_align",
        shards=1 + pairs // (2 * SHARD_PAIRS),
        runs=3,
        networks=networks,
        updates=_rounded(1.5 * rows / BATCH, 500, networks.most_updates),
        validation_pairs=int(min(max(rows // 20, 100), 2000)),
        cslm_updates=_rounded(5 * words / NGRAMS, 500, networks.most_updates),
        held_out=0.01 if pairs < 100_000 else 0.002,
    )


def _rounded(updates: float, least: int, most: int) -> int:
    """Updates in whole hundreds, within limits."""
    return int(min(max(round(updates, -2), least), most))
