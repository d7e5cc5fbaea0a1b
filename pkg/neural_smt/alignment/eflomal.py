"""eflomal: Bayesian word alignment by Gibbs sampling (Östling and Tiedemann 2016), through its Python package.

eflomal draws its seed from the system and offers no way to set it: two runs give slightly different links.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged


@dataclass(frozen=True)
class EflomalSettings:
    """Defaults of the tool."""

    model: int = 3
    """1: IBM model 1, 2: and HMM, 3: and fertility"""
    samplers: int = 3
    """independent Gibbs samplers whose votes are summed"""
    length: float = 1.0
    """number of sampling iterations, relative to the tool's choice for the size of the text"""
    null_prior: float = 0.2
    """prior probability of NULL"""


@contextmanager
def _openmp_threads(threads: int) -> Iterator[None]:
    """Let OpenMP programs started in this block use ``threads`` threads."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def eflomal_align(
    source: list[str],
    target: list[str],
    settings: EflomalSettings | None = None,
    backward: bool = False,
    threads: int = 1,
) -> Ragged:
    """Align tokenised sentences in one direction; int16 ``[links, 2]`` (source, target) per pair.

    Forward, every target word has at most one link; with ``backward`` every source word. The package lowercases
    words and leaves sentences of 1,024 words or more unaligned. Raises ``UserError`` when eflomal is missing or fails.
    """
    settings = settings or EflomalSettings()
    try:
        import eflomal
    except ImportError:
        raise UserError(
            "the aligner eflomal is not installed; pip install eflomal, or set aligner: fast_align"
        ) from None
    aligner = eflomal.Aligner(
        model=settings.model,
        n_samplers=settings.samplers,
        rel_iterations=settings.length,
        null_prior=settings.null_prior,
    )
    with tempfile.TemporaryDirectory(prefix="eflomal.") as folder, _openmp_threads(threads):
        path = Path(folder) / "links"
        try:
            aligner.align(source, target, **{"links_filename_rev" if backward else "links_filename_fwd": str(path)})
        except SystemExit:
            raise UserError("the program of the package eflomal is missing; install eflomal again") from None
        # The package ignores the exit status of its program, so a crash shows only in what was written.
        links = read_alignments(path) if path.exists() else None
    if links is None or len(links) != len(source):
        raise UserError(
            f"eflomal aligned {0 if links is None else len(links)} of {len(source)} sentence pairs and stopped; "
            "install it again on this machine (it is compiled for the processor it was installed on)"
        )
    return links
