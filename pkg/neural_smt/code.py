"""Which files of the package a module reaches, so that a rule reruns when its code changes."""

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def module_file(module: str) -> Path | None:
    """The file of ``neural_smt.<...>``; ``None`` for a name inside a module or of another package."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*parts[1:])
    candidates = (path / "__init__.py", path.with_suffix(".py")) if parts[1:] else (path / "__init__.py",)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@lru_cache
def _imported(path: Path) -> frozenset[Path]:
    files: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            # importing a.b.c runs a/__init__ and a.b/__init__ too
            files.update(filter(None, (module_file(".".join(parts[: i + 1])) for i in range(len(parts)))))
    return frozenset(files)


def reached_files(module: str) -> list[Path]:
    """Files of the package that ``module`` imports, directly or not, itself included; sorted.

    The imports are read from the source (also those inside functions), nothing is executed.
    """
    start = module_file(module)
    if start is None:
        raise ValueError(f"no module {module} in {PACKAGE}")
    found, waiting = {start}, [start]
    while waiting:
        for path in _imported(waiting.pop()) - found:
            found.add(path)
            waiting.append(path)
    return sorted(found)


@lru_cache
def code_digest(module: str) -> str:
    """SHA-256 (hex) of the contents of ``reached_files(module)``."""
    digest = hashlib.sha256()
    for path in reached_files(module):
        digest.update(path.read_bytes())
    return digest.hexdigest()
