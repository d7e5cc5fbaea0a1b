"""Score columns: one more number per entry of a phrase table, in a file that knows to which table it belongs.

A column is row-aligned with its table, so the scores of another table, or of the same one extracted anew, would be
silently wrong. The file (safetensors) carries the digest of the table's rows.
"""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from neural_smt.errors import UserError
from neural_smt.files import atomic
from neural_smt.phrases.table import PhraseTable

SCORES, DIGEST = "scores", "phrase_table"
"""The name of the array, and that of the table's digest in the metadata."""


def save_column(path: Path, scores: np.ndarray, table: PhraseTable) -> None:
    """Write the score of every entry of ``table`` (``[E]``, natural log, stored as float32)."""
    with atomic(path) as temporary:
        save_file({SCORES: np.ascontiguousarray(scores, dtype=np.float32)}, temporary, {DIGEST: table.digest})


def load_column(path: Path, table: PhraseTable) -> np.ndarray:
    """Read what ``save_column`` wrote: float32 ``[E]``.

    Raises ``UserError`` when the file is no column, belongs to another table or holds a number that is not finite.
    """
    advice = "run the rescoring stage again"
    try:
        with safe_open(path, framework="np") as file:
            digest = (file.metadata() or {}).get(DIGEST)
            scores = file.get_tensor(SCORES)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {advice}") from None
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: not a score column ({str(error).splitlines()[0]}); {advice}") from None
    if digest != table.digest or scores.shape != (len(table),):
        raise UserError(f"{path}: the scores of another phrase table than the one given; {advice}")
    if not np.isfinite(scores).all():
        raise UserError(f"{path}: a score is not a finite number; {advice}")
    return scores
