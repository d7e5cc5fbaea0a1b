"""Which files of the package a module reaches, so that a rule reruns when its code changes."""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

IMPORTS = re.compile(
    rf"^[ \t]*(?:from ({PACKAGE.name}[\w.]*) import (\([^)]*\)|.*)|import ({PACKAGE.name}.*))$", re.MULTILINE
)
"""A statement, as its lines begin: to parse all files would double the time that Snakemake takes to start."""

TEMPLATES = PACKAGE / "report" / "templates"

DATA = re.compile(r"\"((?!schema\.)\w+\.(?:css|html|ini|js|md|tsv|yaml))\"")
"""The name of a file of data (a template, a table), which lies beside the module that names it, in a folder there, or
among the templates of pages.

Not the schema: jobs get settings as params, and a new description of one changes nothing that is made.
"""


@cache
def module_file(module: str) -> Path | None:
    """The file of ``neural_smt.<...>``; ``None`` for a name inside a module or of another package."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name:
        return None
    path = PACKAGE.joinpath(*parts[1:])
    candidates = (path / "__init__.py", path.with_suffix(".py")) if parts[1:] else (path / "__init__.py",)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def _imported(path: Path) -> frozenset[Path]:
    text = _contents(path).decode("utf-8")
    files = set[Path]()
    for name in DATA.findall(text):
        files.update(path.parent.glob(name), path.parent.glob(f"*/{name}"), TEMPLATES.glob(name))
    for module, names, modules in IMPORTS.findall(text):
        inside = [f"{module}.{name}" for name in re.findall(r"\w+", names)]
        for name in (module, *inside) if module else re.findall(r"[\w.]+", modules):
            parts = name.split(".")
            # importing a.b.c runs a/__init__ and a.b/__init__ too
            files.update(filter(None, (module_file(".".join(parts[: i + 1])) for i in range(len(parts)))))
    return frozenset(files)


@cache
def _contents(path: Path) -> bytes:
    return path.read_bytes()


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


@cache
def code_digest(*modules: str) -> str:
    """SHA-256 (hex) of the contents of all files that the modules reach (``reached_files``)."""
    digest = hashlib.sha256()
    for path in sorted({path for module in modules for path in reached_files(module)}):
        digest.update(_contents(path))
    return digest.hexdigest()


def step_digest(function: str, *modules: str) -> str:
    """The ``code_digest`` of the module of a step (``module:name``) and of further ones, below ``neural_smt``."""
    named = [function.partition(":")[0], *modules]
    return code_digest(*(f"{PACKAGE.name}.{module}" for module in named))
