"""What the names of two files tell: their languages, which is the source side, what the corpus is called."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neural_smt.corpus.languages import LANGUAGES, check_language
from neural_smt.errors import UserError


@dataclass(frozen=True)
class Sides:
    """The two sides of a corpus in the direction of translation.

    files: source and target side; languages: their codes; stated: whether the user named the languages; name: what the
    corpus is called, as experiments may be.
    """

    files: tuple[Path, Path]
    languages: tuple[str, str]
    stated: bool
    name: str


def read_sides(files: Sequence[Path], source: str | None, target: str | None, tokenised: bool) -> Sides:
    """The sides of a corpus of two files, from their suffixes or from the languages that the user names.

    The first file is the source side, unless its suffix is the language that is named as target or the second's the one
    named as source. ``UserError`` for other than two files, for a language that nobody tells or that is not known
    (``tokenised`` text may be of any), and for the same one twice.
    """
    if len(files) != 2:
        raise UserError(
            f"{len(files)} files given; give two, the source side first, as in: init mycorpus.en mycorpus.fr"
        )
    one, other = (Path(file) for file in files)
    if _same(one, other):
        raise UserError(f"{one} and {other} are one file; give a text and its translation")
    told = [_suffix(one), _suffix(other)]
    if (target is not None and target == told[0] != told[1]) or (source is not None and source == told[1] != told[0]):
        (one, other), told = (other, one), told[::-1]
    languages = (
        _language(one, told[0], source, "--source", tokenised),
        _language(other, told[1], target, "--target", tokenised),
    )
    if languages[0] == languages[1]:
        raise UserError(
            f"{one} and {other}: both are taken for '{languages[0]}'; say otherwise with --source, --target"
        )
    return Sides((one, other), languages, source is not None and target is not None, _name(one, other))


def order_set(files: Sequence[Path], languages: tuple[str, str]) -> list[Path]:
    """The files of a set, source side first where their suffixes tell."""
    told = [_suffix(Path(file)) for file in files]
    return list(files)[::-1] if told == list(languages)[::-1] else list(files)


def _same(one: Path, other: Path) -> bool:
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _suffix(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return plain.suffix.removeprefix(".").lower()


def _language(path: Path, suffix: str, stated: str | None, option: str, tokenised: bool) -> str:
    code = suffix if stated is None else stated
    if stated is None and (suffix == "txt" or not re.fullmatch("[a-z]{2,3}", suffix)):
        raise UserError(f"{path}: its name tells no language, as mycorpus.en would; say it with {option} en")
    if not re.fullmatch("[a-z]{2,3}", code):
        raise UserError(f"{option} {code}: no code of a language; give one of two or three letters, such as en")
    if not tokenised and code not in LANGUAGES:
        check_language(code, option if stated is not None else str(path))
    return code


def _name(one: Path, other: Path) -> str:
    """What both names begin with, in characters that names of experiments may have."""
    stems = [_stem(path) for path in (one, other)]
    stem = stems[0] if stems[0] == stems[1] else one.resolve().parent.name if stems == ["", ""] else "-".join(stems)
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_") or "corpus"


def _stem(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return plain.stem if plain.suffix else plain.name


def check_name(name: str, taken: Sequence[str]) -> str:
    """The name of an experiment; ``UserError`` where the schema would refuse it or another experiment has it."""
    if not re.fullmatch("[A-Za-z0-9_-]+", name):
        raise UserError(f"--name {name}: give letters, digits, - and _ only")
    if name in taken:
        raise UserError(f"--name: '{name}' is an experiment that is there already; give another name")
    return name
