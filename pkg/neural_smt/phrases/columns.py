"""Score columns: one more number per entry of a phrase table, in a file that knows to which table it belongs.

A column is row-aligned with its table, so the scores of another table, or of the same one extracted anew, would be
silently wrong. The file (safetensors) carries the digest of the table's rows.
"""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from neural_smt.errors import UserError
from neural_smt.io.files import atomic
from neural_smt.phrases.table import PhraseTable

SCORES, ROWS, DIGEST = "scores", "rows", "phrase_table"
"""The names of the arrays, and that of the table's digest in the metadata."""

ADVICE = "run the rescoring stage again"


def save_column(path: Path, scores: np.ndarray, table: PhraseTable) -> None:
    """Write the score of every entry of ``table`` (``[E]``, natural log, stored as float32)."""
    with atomic(path) as temporary:
        save_file({SCORES: np.ascontiguousarray(scores, dtype=np.float32)}, temporary, {DIGEST: table.digest})


def load_column(path: Path, table: PhraseTable) -> np.ndarray:
    """Read what ``save_column`` wrote: float32 ``[E]``.

    Raises ``UserError`` when the file is no column, belongs to another table or holds a number that is not finite.
    """
    digest, (scores,) = _read(path, SCORES)
    if digest != table.digest or scores.shape != (len(table),):
        raise UserError(f"{path}: the scores of another phrase table than the one given; {ADVICE}")
    if not np.isfinite(scores).all():
        raise UserError(f"{path}: a score is not a finite number; {ADVICE}")
    return scores


def save_part(path: Path, rows: np.ndarray, scores: np.ndarray, table: PhraseTable) -> None:
    """Write the scores (float32 ``[n]``) of some rows (int64 ``[n]``) of ``table``."""
    arrays = {SCORES: np.ascontiguousarray(scores, dtype=np.float32), ROWS: np.ascontiguousarray(rows, dtype=np.int64)}
    with atomic(path) as temporary:
        save_file(arrays, temporary, {DIGEST: table.digest})


def load_part(path: Path, table: PhraseTable) -> tuple[np.ndarray, np.ndarray]:
    """Read what ``save_part`` wrote: rows and scores; ``UserError`` when it is no part of a column of ``table``."""
    digest, (rows, scores) = _read(path, ROWS, SCORES)
    if digest != table.digest or rows.shape != scores.shape:
        raise UserError(f"{path}: scores of another phrase table than the one given; {ADVICE}")
    return rows, scores


def _read(path: Path, *names: str) -> tuple[str | None, list[np.ndarray]]:
    """The digest and the arrays of a file."""
    try:
        with safe_open(path, framework="np") as file:
            return (file.metadata() or {}).get(DIGEST), [file.get_tensor(name) for name in names]
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {ADVICE}") from None
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: not a score column ({str(error).splitlines()[0]}); {ADVICE}") from None
