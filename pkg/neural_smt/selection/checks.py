"""What selection needs, and how it is told that something is missing."""

from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.streams import stream_lines


def check_settings(
    settings: dict[str, Any], method: str, in_domain: Path | None, in_domain_lines: list[str], *texts: Path
) -> None:
    """Raise ``UserError`` unless selection is off, or is by ``method`` and has all the text it needs."""
    if settings["method"] not in (method, "none"):
        raise UserError(f"selection: unknown method '{settings['method']}'; set it to {method} or none")
    if settings["method"] != "none":
        check_in_domain(method, in_domain, in_domain_lines)
        check_texts(*texts)


def check_in_domain(method: str, in_domain: Path | None, lines: list[str]) -> None:
    """Raise ``UserError`` unless the lines of the in-domain text hold words."""
    if not any(lines):
        where = f"{in_domain} is empty" if in_domain else "corpus.in_domain names none"
        raise UserError(f"selection: method {method} needs in-domain text, but {where}; give some or set method: none")


def check_texts(*texts: Path) -> None:
    """Raise ``UserError`` unless some line of each text, of a pool or a dev set, is not empty."""
    for path in texts:
        if not any(stream_lines(path)):
            raise UserError(f"{path}: no text, but selection needs a pool and a dev set; give some or set method: none")
