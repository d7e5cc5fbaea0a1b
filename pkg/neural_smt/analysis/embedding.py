"""Points in the plane for words and phrases: Barnes-Hut t-SNE of what the encoder makes of them (section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, write_csv
from neural_smt.io.ragged import Ragged

if TYPE_CHECKING:
    from neural_smt.networks.encoder_decoder import EncoderDecoder

HEADER = ("text", "count", "x", "y")
NEIGHBOURS = 24
"""Points that a zoomed region is built around."""


class Point(NamedTuple):
    """A word or phrase, its running count, and where it lies."""

    text: str
    count: int
    x: float
    y: float


class Region(NamedTuple):
    """A square of the plane: its lower left corner and its side."""

    x: float
    y: float
    side: float


def summaries(network: EncoderDecoder, phrases: Ragged, batch: int = 1024) -> np.ndarray:
    """c of every source phrase (int32 shortlist ids): float32 ``[n, H]``."""
    # PyTorch takes a second to load, and pictures of points need none of it.
    import torch

    from neural_smt.networks.packing import pack

    output = np.empty((len(phrases), network.config.hidden), dtype=np.float32)
    with torch.no_grad():
        for start in range(0, len(phrases), batch):
            rows = np.arange(start, min(start + batch, len(phrases)))
            packed, order = pack(phrases.take(rows), network.output.weight.device)
            output[rows[order]] = network.encode(packed).float().cpu().numpy()
    return output


def project(vectors: np.ndarray, perplexity: float, seed: int) -> np.ndarray:
    """Barnes-Hut t-SNE (van der Maaten 2013) of ``[n, d]`` to the plane: float64 ``[n, 2]``.

    Perplexity is lowered to a third of n - 1 where it would be higher.
    """
    from sklearn.manifold import TSNE  # a second to import, needed here only

    if len(vectors) < 5:
        raise UserError(f"t-SNE was given {len(vectors)} points; lower the limits under analysis, or take more text")
    chosen = min(perplexity, (len(vectors) - 1) / 3)
    # vectors that are quite equal would give distances of 0 to each other only
    model = TSNE(perplexity=chosen, init="pca", learning_rate="auto", method="barnes_hut", random_state=seed, n_jobs=1)
    return model.fit_transform(np.ascontiguousarray(vectors, dtype=np.float32)).astype(np.float64)


def write_points(path: Path, texts: Sequence[str], counts: np.ndarray, places: np.ndarray) -> None:
    """Write points as CSV, most frequent first."""
    order = np.argsort(-counts, kind="stable")
    rows = ((texts[i], int(counts[i]), f"{places[i, 0]:.4f}", f"{places[i, 1]:.4f}") for i in order.tolist())
    write_csv(path, HEADER, rows)


def read_points(path: Path) -> list[Point]:
    """Inverse of ``write_points``."""
    return [Point(row["text"], int(row["count"]), float(row["x"]), float(row["y"])) for row in read_csv(path)]


def densest_regions(places: np.ndarray, count: int, neighbours: int = NEIGHBOURS) -> list[Region]:
    """Squares around the densest places of ``[n, 2]`` points, which do not overlap.

    The centre of each is the point with the nearest ``neighbours``-th neighbour among those from which no earlier
    square can be touched; the square just holds these neighbours, and has at least a fortieth of the picture's side.
    """
    from scipy.spatial import cKDTree

    neighbours = min(neighbours, len(places) - 1)
    distances, nearest = cKDTree(places).query(places, neighbours + 1)
    smallest = float(np.ptp(places, axis=0).max()) / 40
    regions: list[Region] = []
    for number in np.argsort(distances[:, -1], kind="stable").tolist():
        if len(regions) == count:
            break
        members = places[nearest[number]]
        low, high = members.min(axis=0), members.max(axis=0)
        side = max(1.1 * float((high - low).max()), smallest)
        corner = (low + high - side) / 2
        region = Region(float(corner[0]), float(corner[1]), side)
        if not any(_touch(region, other) for other in regions):
            regions.append(region)
    return regions


def _touch(first: Region, second: Region) -> bool:
    apart = max(first.side, second.side)  # a little room between them, so that they show different things
    return all(
        first[axis] < second[axis] + second.side + apart and second[axis] < first[axis] + first.side + apart
        for axis in (0, 1)
    )
