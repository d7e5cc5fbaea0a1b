"""Where an experiment is made, and for which checkout."""

import re
from collections.abc import Iterable
from pathlib import Path

from neural_smt.errors import UserError

CHECKOUT = Path(__file__).resolve().parents[3]
"""The checkout that the package belongs to."""

EXPERIMENT = "experiment.yaml"
"""The experiment's configuration, inside its folder."""

_OURS = re.compile(rf"{re.escape(EXPERIMENT)}|split\.csv|train\.[a-z]{{2,3}}\.gz|(dev|test)\.[a-z]{{2,3}}")


def shipped_names() -> list[str]:
    """Names of the experiments of the checkout; ``UserError`` where the package is not in one."""
    if not (CHECKOUT / "Snakefile").is_file():
        raise UserError(f"{CHECKOUT}/Snakefile: no such file; install the package from a checkout (pip install -e .)")
    files = (CHECKOUT / "config.yaml", *sorted((CHECKOUT / "experiments").glob("*.yaml")))
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return [line.partition(":")[2].strip() for line in lines if line.startswith("experiment:")]


def check_paths(paths: Iterable[Path]) -> None:
    """Refuse paths that no text can name: they would have to stand in the experiment."""
    for path in map(str, paths):
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            raise UserError(f"{path!a}: its name is not UTF-8; rename it, or name another folder") from None


def check_output(output: Path, force: bool) -> None:
    """Refuse a folder that holds anything but, with ``force``, what an earlier init has written."""
    if not output.exists():
        return
    if Path.cwd().is_relative_to(output.resolve()):
        raise UserError(f"{output}: the folder that you are in, or one around it; name a new one with --output")
    if not output.is_dir():
        raise UserError(f"{output}: is a file; name a folder with --output")
    others = sorted(path.name for path in output.iterdir() if not _OURS.fullmatch(path.name))
    if others:
        raise UserError(f"{output}: holds {others[0]}, which no init wrote; name another folder with --output")
    if any(output.iterdir()) and not force:
        raise UserError(f"{output}: is there already; write over it with --force, or name another with --output")
