"""The commands that the README shows, and a checkout to type them in."""

import os
import re
import subprocess
import sys
from pathlib import Path


def shown_commands(readme: Path) -> list[str]:
    """Every command, in the order of the README: lines of its blocks of code, without comments, and what stands
    between backquotes and begins with ``make`` or ``.venv/bin/``.
    """
    text = readme.read_text(encoding="utf-8")
    blocks = re.findall(r"^    (\S.*?)(?: +# .*)?$", text, re.M)
    inline = re.findall(r"`((?:make [a-z]|\.venv/bin/[\w-]+ )[^`]*)`", text)
    return list(dict.fromkeys([*blocks, *inline]))


def set_up(checkout: Path) -> None:
    """Give a checkout the ``.venv`` that ``make`` would have set up: the Python that runs the tests."""
    place = checkout / ".venv"
    place.mkdir(exist_ok=True)
    for entry in Path(sys.prefix).iterdir():
        if entry.name != ".ready" and not (place / entry.name).exists():
            (place / entry.name).symlink_to(entry)
    (place / ".ready").touch()


def run_in_shell(command: str, checkout: Path, **options) -> subprocess.Popen[str]:
    """Start what a person types; what it writes to its standard output can be read."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "pkg")}
    return subprocess.Popen(
        ["bash", "-c", command], cwd=checkout, env=environment, text=True, stdout=subprocess.PIPE, **options
    )
