"""What the names of files tell, the languages and the name of a corpus; where the experiment is written."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from neural_smt.corpus.languages import check_language
from neural_smt.errors import UserError

CHECKOUT = Path(__file__).resolve().parents[3]
"""The checkout that the package belongs to."""

EXPERIMENT = "experiment.yaml"
"""The experiment's configuration, inside its folder."""

_OURS = re.compile(rf"{re.escape(EXPERIMENT)}|split\.csv|train\.[a-z]{{2,3}}\.gz|(dev|test)\.[a-z]{{2,3}}")


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
    named as source. ``UserError`` for other than two files, for a language that is not given or not known
    (``tokenised`` text may be of any), and for the same one twice.
    """
    if len(files) != 2:
        raise UserError(
            f"{len(files)} files given; give two, the source side first, for example: init mycorpus.en mycorpus.fr"
        )
    one, other = (Path(file) for file in files)
    if _same(one, other):
        raise UserError(f"{one} and {other} are one file; give a text and its translation")
    suffixes = [_suffix(one), _suffix(other)]
    if suffixes[0] != suffixes[1] and (suffixes[0] == target or suffixes[1] == source):
        (one, other), suffixes = (other, one), suffixes[::-1]
    languages = (
        _language(one, suffixes[0], source, "--source", tokenised),
        _language(other, suffixes[1], target, "--target", tokenised),
    )
    if languages[0] == languages[1]:
        raise UserError(
            f"{one} and {other}: both seem to be '{languages[0]}'; give the languages with --source and --target"
        )
    return Sides((one, other), languages, source is not None and target is not None, _name(one, other))


def order_set(files: Sequence[Path], languages: tuple[str, str]) -> list[Path]:
    """The files of a set, source side first where their suffixes say so."""
    suffixes = [_suffix(Path(file)) for file in files]
    return list(files)[::-1] if suffixes == list(languages)[::-1] else list(files)


def _same(one: Path, other: Path) -> bool:
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _split_name(path: Path) -> tuple[str, str]:
    """A file's name without its suffix, and the suffix in lower case; ``.gz`` does not count."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return (plain.stem if plain.suffix else plain.name), plain.suffix.removeprefix(".").lower()


def _suffix(path: Path) -> str:
    return _split_name(path)[1]


def _language(path: Path, suffix: str, stated: str | None, option: str, tokenised: bool) -> str:
    code = suffix if stated is None else stated
    if stated is None and (suffix == "txt" or not re.fullmatch("[a-z]{2,3}", suffix)):
        raise UserError(
            f"{path}: its name does not end in a language code, as mycorpus.en does; give the language with {option} en"
        )
    if not re.fullmatch("[a-z]{2,3}", code):
        raise UserError(f"{option} {code}: no code of a language; give one of two or three letters, such as en")
    if not tokenised:
        check_language(code, option if stated is not None else str(path))
    return code


def _name(one: Path, other: Path) -> str:
    """What both names begin with, in characters that names of experiments may have."""
    stems = [_split_name(path)[0] for path in (one, other)]
    stem = stems[0] if stems[0] == stems[1] else one.resolve().parent.name if stems == ["", ""] else "-".join(stems)
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_") or "corpus"


def check_name(name: str, taken: Sequence[str]) -> str:
    """The name of an experiment; ``UserError`` where the schema would refuse it or another experiment has it."""
    if not re.fullmatch("[A-Za-z0-9_-]+", name):
        raise UserError(f"--name {name}: give letters, digits, - and _ only")
    if name in taken:
        raise UserError(f"--name: '{name}' is an experiment that is there already; give another name")
    return name


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
