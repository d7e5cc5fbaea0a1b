"""A tiny model as the files of Moses, written by hand; and commands in a process of their own."""

import math
import shutil
import subprocess
import sys
from pathlib import Path

TINY = Path(__file__).with_name("tiny_moses")
FEATURES, WEIGHTS = ((TINY / name).read_text() for name in ("features", "weights"))
"""The sections of the ini."""


def write_model(
    folder: Path, features: str = FEATURES, weights: str = WEIGHTS, sections: str = "[distortion-limit]\n6\n"
) -> Path:
    """Write the model into a folder; returns its ``moses.ini``."""
    folder.mkdir(exist_ok=True)
    for name in ("phrase-table", "reordering-table", "lm.arpa"):
        shutil.copyfile(TINY / name, folder / name)
    ini = folder / "moses.ini"
    ini.write_text(
        f"[input-factors]\n0\n[mapping]\n0 T 0\n{sections}\n[feature]  # comment\n{features}\n[weight]\n{weights}"
    )
    return ini


def score_of_x_z() -> float:
    """The total of ``a b`` -> ``x z`` by two phrases, computed by hand with ``WEIGHTS``."""
    translation = 0.1 * math.log(0.5 * 0.25) + 0.2 * math.log(0.4 * 0.5) + 0.3 * math.log(0.5) + 0.4 * math.log(0.5)
    reordering = 0.3 * math.log(0.6 * 0.6 * 0.6)
    language = 0.5 * math.log(10) * (-0.4 - 0.5 - 0.3)
    return translation + reordering + language - 0.5 * -2 + 0.2 * 2


def start(*arguments):
    """A command in a process of its own, with pipes."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, "-m", "neural_smt", *map(str, arguments)], **pipes)
