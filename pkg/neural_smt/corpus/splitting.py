"""Development and test sets drawn from a corpus of pairs, so that nothing of them is in the training text."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from neural_smt.corpus.survey import PairKeys, Survey, clean_pairs_of
from neural_smt.errors import UserError
from neural_smt.io.files import open_text, write_csv

log = logging.getLogger(__name__)

LEFT_OUT, TRAIN, DEV, TEST = range(4)
"""Where a pair of the corpus goes."""

PARTS = {TRAIN: "train", DEV: "dev", TEST: "test"}
"""What pairs become -> the name of the text that they stand in."""

FEWEST = 200
"""Pairs below which no corpus is split: there would be nothing to learn from, and nothing to measure with."""


def usual_size(pairs: int) -> int:
    """Pairs of a development or test set of a corpus: a thousand, or a twentieth of a small one."""
    return min(1000, pairs // 20)


def assign(
    keys: PairKeys, given: Sequence[PairKeys], dev_size: int | None, test_size: int | None, seed: int, origin: str
) -> np.ndarray:
    """What becomes of each pair, int8 (pairs,): ``LEFT_OUT``, ``TRAIN``, ``DEV`` or ``TEST``.

    given: sets that are there already, whose pairs are kept out of all others; dev_size, test_size: pairs to
    be drawn, 0 for none, None for what is usual. The same seed draws the same pairs. Pairs are drawn that occur once
    and whose sides, if they are not short, occur once. ``UserError`` names ``origin`` where there are too few.
    """
    allowed = keys.usable.copy()
    for others in given:
        allowed &= ~keys.shared(others)
    roles = np.where(allowed, TRAIN, LEFT_OUT).astype(np.int8)
    drawable = np.flatnonzero((roles == TRAIN) & keys.fitting & keys.unique())
    usual = min(usual_size(int((roles == TRAIN).sum())), len(drawable) // 2)
    sizes = [usual if size is None else size for size in (dev_size, test_size)]
    if min(sizes) < 0:
        raise UserError(f"the size of a set is {min(sizes)}; give a number of pairs")
    if sum(sizes) > len(drawable) or (usual == 0 and None in (dev_size, test_size)):
        wanted = f"{sum(sizes):,} pairs are to be drawn" if sum(sizes) else "no set can be drawn"
        raise UserError(
            f"{origin}: {wanted}, but {len(drawable):,} occur only once; "
            "ask for fewer with --dev-size and --test-size, or give sets of your own with --dev and --test"
        )
    drawn = np.random.default_rng(seed).permutation(drawable)[: sum(sizes)]
    roles[drawn[: sizes[0]]] = DEV
    roles[drawn[sizes[0] :]] = TEST
    return roles


def survey_corpus(source: Path, target: Path) -> Survey:
    """Read a corpus; ``UserError`` where it is too small or its sides are the same."""
    survey = Survey(source, target)
    if survey.pairs - survey.empty < FEWEST:
        raise UserError(
            f"{source}: {survey.pairs - survey.empty:,} pairs with text are too few; give {FEWEST} or more, "
            "and tens of thousands for a system of any use"
        )
    survey.check_identical()
    return survey


def survey_set(option: str, files: Sequence[Path]) -> Survey:
    """Read a set that is there already; ``UserError`` where it is not two files of text without empty lines."""
    if len(files) != 2:
        raise UserError(f"--{option}: {len(files)} files; give two, the source side and the target side")
    survey = Survey(*files)
    if not survey.pairs:
        raise UserError(f"{files[0]}: no text; give --{option} a set with sentences")
    if survey.empty:
        line = int(np.flatnonzero(~survey.keys.usable)[0]) + 1
        raise UserError(f"{files[0]} and {files[1]}, line {line}: no text on a side; take the line out of both")
    return survey


def assign_pairs(
    survey: Survey, sets: dict[str, Survey], dev_size: int | None, test_size: int | None, seed: int
) -> np.ndarray:
    """What becomes of each pair of a corpus, see ``splitting.assign``; a set that is given is not drawn."""
    for part, size in (("dev", dev_size), ("test", test_size)):
        if part in sets and size is not None:
            raise UserError(f"--{part}-size: the set is given with --{part}; leave one of the two out")
        if size is not None and size < 1:
            raise UserError(f"--{part}-size: {size}; give at least one pair, or a set of your own with --{part}")
    sizes = [0 if part in sets else size for part, size in (("dev", dev_size), ("test", test_size))]
    roles = assign(survey.keys, [given.keys for given in sets.values()], *sizes, seed=seed, origin=str(survey.files[0]))
    if (left := int((roles == TRAIN).sum())) < FEWEST // 2:
        raise UserError(
            f"{survey.files[0]}: {left:,} pairs are left to train on; draw fewer with --dev-size and --test-size"
        )
    return roles


def write_parts(
    folder: Path, survey: Survey, sets: dict[str, Survey], roles: np.ndarray, languages: tuple[str, str]
) -> dict[str, tuple[Path, Path]]:
    """Write every part into a folder that is there; returns the files of each, source and target side."""
    names = {part: part_files(folder, part, languages) for part in PARTS.values()}
    with ExitStack() as stack:
        streams = {
            role: [stack.enter_context(open_text(path, "w")) for path in names[part]]
            for role, part in PARTS.items()
            if part not in sets
        }
        for role, pair in zip(roles.tolist(), clean_pairs_of(*survey.files), strict=True):
            if role != LEFT_OUT:
                _write(streams[role], [pair])
        for part, given in sets.items():
            _write([stack.enter_context(open_text(path, "w")) for path in names[part]], clean_pairs_of(*given.files))
    drawn = {part: int((roles == role).sum()) for role, part in PARTS.items()}
    rows = [[part, sets[part].pairs if part in sets else drawn[part]] for part in PARTS.values()]
    write_csv(folder / "split.csv", ["text", "pairs"], [*rows, ["left out", int((roles == LEFT_OUT).sum())]])
    for part, pairs in rows:
        log.info("%s: %s pairs", part, f"{pairs:,}")
    return names


def part_files(folder: Path, part: str, languages: tuple[str, str]) -> tuple[Path, Path]:
    """Where the sides of a part are written: what is large, compressed."""
    suffix = ".gz" if part == "train" else ""
    one, other = (Path(folder) / f"{part}.{language}{suffix}" for language in languages)
    return one, other


def _write(streams: Sequence, pairs: Iterable[tuple[str, str]]) -> None:
    for pair in pairs:
        for stream, side in zip(streams, pair, strict=True):
            stream.write(f"{side}\n")
