"""Estimation by KenLM's lmplz, the reference: it sorts on disk, with several threads."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from neural_smt.errors import UserError
from neural_smt.io.files import open_text, read_lines
from neural_smt.language_model.arpa import read_arpa
from neural_smt.language_model.ngrams import NgramTable
from neural_smt.vocabulary import Vocabulary


def estimate_with_lmplz(
    texts: Sequence[Path], vocabulary: Vocabulary, order: int, prune: Sequence[int], memory: str, scratch: Path
) -> list[NgramTable]:
    """Run lmplz on tokenised texts and read its n-grams over the words of ``vocabulary``.

    memory: what lmplz takes as ``-S``, such as ``2G`` or ``50%``; scratch: a folder with room for its temporary
    files. Raises ``UserError`` when lmplz is not on PATH or fails.
    """
    program = shutil.which("lmplz")
    if program is None:
        raise UserError(
            "language_model.estimator is lmplz, but no lmplz is on PATH; install KenLM or set the estimator to internal"
        )
    with tempfile.TemporaryDirectory(prefix=".lmplz.", dir=scratch) as name:
        folder = Path(name)
        with open_text(folder / "text", "w") as stream:
            for text in texts:
                stream.writelines(f"{line}\n" for line in read_lines(text))
        command = [program, "-o", str(order), "-S", memory, "-T", f"{folder}/", "--discount_fallback", "--skip_symbols"]
        command += ["--text", str(folder / "text"), "--arpa", str(folder / "arpa")]
        command += ["--prune", *map(str, prune)] if prune else []
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if run.returncode != 0:
            reason = " ".join(run.stderr.strip().splitlines()[-1:])
            raise UserError(f"lmplz failed with status {run.returncode}: {reason or 'no message'}")
        tables, _ = read_arpa(folder / "arpa", vocabulary)
    return tables
