"""The verb ``init``: from two files of parallel text to an experiment that Snakemake runs.

The experiment has the text, split, with sizes of networks and lengths of trainings that suit it.
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.corpus.languages import UNSPACED, check_language
from neural_smt.corpus.splitting import TRAIN, Split, count_pairs, split_corpus, survey_corpus
from neural_smt.errors import UserError, program
from neural_smt.io.files import atomic, digest_file, read_yaml
from neural_smt.planning.forecasts import Throughputs
from neural_smt.planning.jobs import complete_configuration
from neural_smt.planning.sizes import RATIOS, quantity
from neural_smt.planning.steps import Machine, duration, predict
from neural_smt.report.pages import environment

FOLDER = Path(__file__).parent

CHECKOUT = Path(__file__).resolve().parents[3]
"""The checkout that the package belongs to."""

EXPERIMENT = "experiment.yaml"
"""The experiment's configuration, inside its folder."""

_OURS = re.compile(rf"{re.escape(EXPERIMENT)}|split\.csv|train\.[a-z]{{2,3}}\.gz|(dev|test)\.[a-z]{{2,3}}")

USEFUL = 5000
"""Training pairs below which translations will hardly be of use."""

SOURCES = {"train": "corpus", "dev": "dev", "test": "test"}
"""Part of the split text -> the source that it is in the experiment."""

BATCH = 128
"""Phrase pairs of an update."""

NGRAMS = 512
"""N-grams of an update of the CSLM."""


EFLOMAL_PAIRS = 1_000_000
"""Pairs up to which the better aligner is quick enough."""

SHARD_PAIRS = 500_000
"""Pairs whose tables fit into the memory that a job asks for."""


def suit(pairs: int, words: int) -> dict[str, Any]:
    """Settings for a training text of so many pairs, with so many words on the target side."""
    networks = next(row for row in read_yaml(FOLDER / "networks.yaml") if pairs <= row["pairs"])
    rows = RATIOS["rows per word"] * words

    def updates(wanted: float) -> int:
        """In whole hundreds, within limits."""
        return int(min(max(round(wanted, -2), 500), networks["updates"]))

    return {
        "aligner": "eflomal" if pairs <= EFLOMAL_PAIRS else "fast_align",
        "shards": 1 + pairs // (2 * SHARD_PAIRS),
        "networks": networks,
        "updates": updates(1.5 * rows / BATCH),
        "validation_pairs": int(min(max(rows // 20, 100), 2000)),
        "cslm_updates": updates(5 * words / NGRAMS),
        "held_out": 0.01 if pairs < 100_000 else 0.002,
        "batch": BATCH,
        "ngrams": NGRAMS,
    }


@dataclass(frozen=True)
class PreparedCorpus:
    """A corpus that was checked and split.

    files, languages: source and target side in the direction of translation; output: the folder of the experiment.
    """

    files: tuple[Path, Path]
    languages: tuple[str, str]
    name: str
    output: Path
    split: Split
    tokenised: bool
    seed: int


def render(corpus: PreparedCorpus, written: Mapping[str, Sequence[Path]]) -> str:
    """The experiment's file, with what can be changed said beside it; written: the files of each part's sides."""
    pairs, survey = corpus.split.counts, corpus.split.survey
    # words of the target side of the training text, about
    settings = suit(pairs["train"], survey.spaced[1] * pairs["train"] // survey.pairs)
    sources = {
        SOURCES[part]: [
            (language, file.name, digest_file(file)) for language, file in zip(corpus.languages, files, strict=True)
        ]
        for part, files in written.items()
    }
    folder, networks = corpus.output.resolve(), settings["networks"]
    return _render(f"{EXPERIMENT}.j2", corpus, folder=folder, sources=sources, settings=settings, networks=networks)


def _render(template: str, corpus: PreparedCorpus, **values: Any) -> str:
    templates = environment(FOLDER)
    templates.filters |= {"quoted": _quoted, "one_line": _one_line, "number": "{:,}".format, "shell": shlex.quote}
    templates.filters |= {"duration": duration, "quantity": quantity}
    values |= {"parts": SOURCES, "experiment": EXPERIMENT}
    return templates.get_template(template).render(vars(corpus), **values) + "\n"


def init(
    *,
    files: list[Path],
    source: str | None = None,
    target: str | None = None,
    name: str | None = None,
    output: Path | None = None,
    dev: Sequence[Path] = (),
    test: Sequence[Path] = (),
    dev_size: int | None = None,
    test_size: int | None = None,
    tokenised: bool = False,
    seed: int = 1,
    cores: int | None = None,
    force: bool = False,
) -> None:
    """Make an experiment of your own parallel text: init mycorpus.en mycorpus.fr

    The files (plain or .gz, UTF-8, one sentence a line) are source and target side; their suffixes tell the languages
    unless --source and --target do. The text is checked and split into training, development and test text that share
    no pair and no side of more than three words. Written into a new folder: that text, and experiment.yaml, which
    Snakemake takes with --configfile. The time, memory and disk that the experiment will take are printed.

    name: of the experiment and its results (that of the files); output: the folder (the name); dev, test: two files
    each, of sets that you have already; dev_size, test_size: pairs to draw (1,000, or a twentieth of a small corpus);
    tokenised: words are separated by spaces already, in any language; seed: of what is drawn; cores: of the machine
    that the time is estimated for (all of this one); force: write over the folder of an earlier init.
    """
    sides, languages = read_sides(files, source, target, tokenised)
    name = _name(*sides) if name is None else name
    check_name(name)
    output = Path(name) if output is None else Path(output)
    check_paths([*sides, output.resolve()])
    check_output(output, force)
    machine = Machine(1, (os.cpu_count() or 1) if cores is None else cores, 0)
    survey = survey_corpus(*sides)
    remarks = survey.check_languages(languages, stated=None not in (source, target))
    survey.check_split()
    given = {part: order_set(found, languages) for part, found in (("dev", dev), ("test", test))}
    split = split_corpus(survey, given, dev_size, test_size, seed)
    corpus = PreparedCorpus(sides, languages, name, output, split, tokenised, seed)
    with atomic(output.resolve(), directory=True) as folder:
        written = split.write(folder, languages)
        (folder / EXPERIMENT).write_text(render(corpus, written), encoding="utf-8")
        plan = _plan(folder, machine)
    remarks += _remarks(corpus)
    print(_render("report.txt.j2", corpus, plan=plan, remarks=remarks, **_next_steps(corpus)), end="")


def _plan(folder: Path, machine: Machine) -> dict[str, Any]:
    """What the experiment in ``folder`` will take on a machine, were nothing of it done."""
    config = complete_configuration(CHECKOUT / "Snakefile", [folder / EXPERIMENT], {"data_mirror": str(folder)})
    throughputs = Throughputs.load(CHECKOUT / "benchmarks" / "throughputs.json")
    return predict(config, throughputs, CHECKOUT / "Snakefile", folder, machine)


def read_sides(
    files: Sequence[Path], source: str | None, target: str | None, tokenised: bool
) -> tuple[tuple[Path, Path], tuple[str, str]]:
    """The sides of a corpus of two files and their languages, from their suffixes or as the user names them.

    The first file is the source side, unless its suffix is the language that is named as target or the second's the one
    named as source. ``UserError`` for other than two files, for a language that is not given or not known
    (``tokenised`` text may be of any), and for the same one twice.
    """
    if len(files) != 2:
        raise UserError(
            f"{len(files)} files given; give two, the source side first, for example: init mycorpus.en mycorpus.fr"
        )
    one, other = (Path(file) for file in files)
    if one == other or (one.exists() and other.exists() and one.samefile(other)):
        raise UserError(f"{one} and {other} are one file; give a text and its translation")
    first, second = _split_name(one)[1], _split_name(other)[1]
    if first != second and (first == target or second == source):
        one, other = other, one
    languages = _language(one, source, "--source", tokenised), _language(other, target, "--target", tokenised)
    if languages[0] == languages[1]:
        raise UserError(
            f"{one} and {other}: both seem to be '{languages[0]}'; give the languages with --source and --target"
        )
    return (one, other), languages


def order_set(files: Sequence[Path], languages: tuple[str, str]) -> list[Path]:
    """The files of a set, source side first where their suffixes say so."""
    suffixes = [_split_name(Path(file))[1] for file in files]
    return list(files)[::-1] if suffixes == list(languages)[::-1] else list(files)


def _split_name(path: Path) -> tuple[str, str]:
    """A file's name without its suffix, and the suffix in lower case; ``.gz`` does not count."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return (plain.stem if plain.suffix else plain.name), plain.suffix.removeprefix(".").lower()


def _language(path: Path, stated: str | None, option: str, tokenised: bool) -> str:
    code = _split_name(path)[1] if stated is None else stated
    if stated is None and (code == "txt" or not re.fullmatch("[a-z]{2,3}", code)):
        raise UserError(
            f"{path}: its name does not end in a language code, as mycorpus.en does; give the language with {option} en"
        )
    if not re.fullmatch("[a-z]{2,3}", code):
        raise UserError(f"{option} {code}: no code of a language; give one of two or three letters, such as en")
    if not tokenised:
        check_language(code, option if stated is not None else str(path))
    return code


def _name(one: Path, other: Path) -> str:
    """The stem of both names, or both stems, in characters that names of experiments may have."""
    stems = [_split_name(path)[0] for path in (one, other)]
    stem = stems[0] if stems[0] == stems[1] else one.resolve().parent.name if stems == ["", ""] else "-".join(stems)
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_") or "corpus"


def check_name(name: str) -> None:
    """Refuse a name of an experiment that the schema would refuse or an experiment of the checkout has."""
    if not (CHECKOUT / "Snakefile").is_file():
        raise UserError(f"{CHECKOUT}/Snakefile: no such file; install the package from a checkout (pip install -e .)")
    if not re.fullmatch("[A-Za-z0-9_-]+", name):
        raise UserError(f"--name {name}: give letters, digits, - and _ only")
    for path in (CHECKOUT / "config.yaml", *(CHECKOUT / "experiments").glob("*.yaml")):
        if re.search(rf"^experiment: *{name} *$", path.read_text(encoding="utf-8"), re.MULTILINE):
            raise UserError(f"--name: '{name}' is an experiment that is there already; give another name")


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


def check_paths(paths: Iterable[Path]) -> None:
    """Refuse paths that no text can name: they would have to stand in the experiment."""
    for path in map(str, paths):
        if any("\ud800" <= character <= "\udfff" for character in path):
            raise UserError(f"{path!a}: its name is not UTF-8; rename it, or name another folder")


def _remarks(corpus: PreparedCorpus) -> list[str]:
    split = corpus.split
    survey, sets = split.survey, split.sets
    found = survey.remarks(corpus.tokenised)
    found += [f"{given.files[0]}: {remark}" for given in sets.values() for remark in given.remarks(tokenised=True)]
    if len(sets) == 2 and (shared := int(sets["test"].shared(sets["dev"]).sum())):
        found.append(f"{count_pairs(shared)} of --test in --dev, whole or one side: scores will be too high")
    if lost := split.left_out - survey.empty:
        found.append(f"{count_pairs(lost)} in --dev or --test, whole or one side, and so not in the training text")
    trained = survey.pair_keys[split.roles == TRAIN]
    if repeated := len(trained) - len(np.unique(trained)):
        found.append(f"{count_pairs(repeated)} of the training text repeat others")
    if split.counts["train"] < USEFUL:
        few = count_pairs(split.counts["train"])
        found.append(f"{few} to train on are few: enough to try the workflow, not to translate well")
    if (target := corpus.languages[1]) in UNSPACED:
        found.append(f"sacreBLEU counts words between spaces, which '{target}' has none of: look at BLEU on tokens")
    return found


def _next_steps(corpus: PreparedCorpus) -> dict[str, str]:
    """Where to type what comes next: the checkout where that is elsewhere, the folder of the programs, the file."""
    here = Path.cwd() == CHECKOUT
    return {
        "checkout": "" if here else str(CHECKOUT),
        "place": program("snakemake", CHECKOUT).removesuffix("snakemake"),
        "file": str((corpus.output if here else corpus.output.resolve()) / EXPERIMENT),
    }


def _quoted(value: object) -> str:
    """A string in double quotes as YAML reads it, whatever is in it."""
    inside = (f"\\{c}" if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in str(value))
    return '"' + "".join(inside) + '"'


def _one_line(path: Path) -> str:
    """A path for a comment."""
    return "".join(c if c.isprintable() else "?" for c in str(path))
