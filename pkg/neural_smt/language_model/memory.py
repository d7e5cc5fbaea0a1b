"""Estimation within so much memory: in memory where the text is small enough, on disk otherwise, with one outcome."""

import os
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.language_model.estimation import estimate
from neural_smt.language_model.estimation_on_disk import estimate_on_disk
from neural_smt.language_model.kneser_ney import Estimate

_UNITS = {"b": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([%bKMGT])")

_BYTES_A_TOKEN = 34
"""Of each order, at the peak of estimation in memory (measured at order 5: 170 bytes, 107 for text eight times as long,
whose n-grams repeat themselves)."""

_BYTES_A_ROW = 160
"""Of each position or n-gram of a block, at the peak of estimation on disk (measured: 130 bytes)."""

_SMALLEST_BLOCK = 1 << 16


def parse_memory(size: str) -> int:
    """Bytes of a size as lmplz takes it: a number and b, K, M, G, T, or % of the machine's memory (``UserError``)."""
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UserError(f"language_model.memory is {size!r}; give a number and one of b, K, M, G, T and %, such as 4G")
    unit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 100 if match[2] == "%" else _UNITS[match[2]]
    return int(float(match[1]) * unit)


def estimate_within(
    sentences: Iterable[Ragged],
    order: int,
    prune: Sequence[int],
    memory: int,
    folder: Path,
    vocabulary_size: int | None = None,
) -> Estimate:
    """Estimate a model of sentences that come in parts, with about ``memory`` bytes of working memory.

    prune, vocabulary_size: as for ``estimate``. The n-grams are those of ``estimate`` either way. Text that would need
    more is worked through on disk, in ``folder``, which must be kept as long as the tables are used. What each word of
    the vocabulary and the reading of one part take is not counted, and no less than about 10 MB are used.
    """
    parts, held, tokens = iter(sentences), [Ragged.from_lists([])], 0
    for part in parts:
        held.append(part)
        tokens += len(part.values) + 2 * len(part)
        if tokens * _BYTES_A_TOKEN * order > memory:
            block = max(_SMALLEST_BLOCK, memory // _BYTES_A_ROW)
            return estimate_on_disk(chain(held, parts), order, prune, vocabulary_size, folder=folder, block=block)
    return estimate(Ragged.concatenate(held), order, prune, vocabulary_size)
