"""Development and test sets drawn from a corpus of pairs, so that nothing of them is in the training text.

Texts are surveyed first, in one pass over the pairs. They are compared by their words alone, whatever their case,
punctuation and spaces, as 64-bit hashes: a million pairs take 33 MB, and two different lines count as the same with a
chance of one in ten million.
"""

import gzip
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import regex

from neural_smt.corpus.archives import GZIP, HEAD, REFERENCE, looks_like_archive
from neural_smt.corpus.languages import LanguageClues, check_split, count_unsplit
from neural_smt.corpus.tokenisation import clean_characters
from neural_smt.errors import UserError, singular
from neural_smt.io.files import hash_text, named_errors, open_text
from neural_smt.io.streams import stream_parallel, write_pairs
from neural_smt.io.tables import write_rows

log = logging.getLogger(__name__)

LEFT_OUT, TRAIN, DEV, TEST = range(4)
"""Where a pair of the corpus goes."""

PARTS = {TRAIN: "train", DEV: "dev", TEST: "test"}
"""What pairs become -> the name of the text that they stand in."""

FEWEST = 200
"""Pairs below which no corpus is split: there would be nothing to learn from, and nothing to measure with."""


SHORT = 3
"""Words of a side that may recur with another translation: ``Yes .`` will stand in every corpus."""

LONGEST = 80
"""Words of the longest side of a drawn pair, as cleaning leaves them in the training text."""

_WORD = regex.compile(r"\w+")  # of all scripts, with the vowel signs that re leaves out

READ_FOR_LANGUAGE = 20_000
"""Pairs whose words are counted to see which language they are of."""

MOSTLY = 0.5
"""Share of pairs with the same text on both sides from which the files must be wrong."""

LITTLE = 0.2
"""Correlation of the lengths of sides below which they are hardly translations; real text has 0.7 and more."""


def content_key(text: str) -> int:
    """A 64-bit number that texts of the same words have; of one without words, of what it is made of."""
    words = " ".join(_WORD.findall(text.casefold())) or " ".join(text.split())
    return hash_text(words)


_PAIR = np.dtype([("keys", np.uint64, 2), ("words", np.int32, 2), ("characters", np.int32, 2), ("copied", np.bool_)])
"""What is remembered of a pair: of each side its key, words and characters; whether the sides are the same."""


class PairKeys:
    """What is remembered of pairs of clean text, so that they can be compared."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        rows = np.fromiter(map(_remember, pairs), dtype=_PAIR)
        self.keys, self.words, self.characters, self.copied = (rows[name] for name in _PAIR.names or ())
        self.pairs = len(rows)

    @property
    def usable(self) -> np.ndarray:
        """Which pairs have text on both sides, bool (pairs,)."""
        return self.words.min(axis=1) > 0

    @property
    def pair_keys(self) -> np.ndarray:
        """A key of each pair, uint64 (pairs,)."""
        # the sides of a pair are mixed unequally: (a, b) is not (b, a)
        source, target = self.keys.T
        return source * np.uint64(0x9E3779B97F4A7C15) + target

    def sides(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of the source and the target side: keys, uint64 (pairs,), and which are short, bool (pairs,)."""
        return zip(self.keys.T, (self.words <= SHORT).T, strict=True)

    def drawable(self) -> np.ndarray:
        """Which pairs a set may have, bool (pairs,): translated, neither empty nor very long, and such that occur once,
        each of their sides too unless it is short."""
        found = self.usable & (self.words.max(axis=1) <= LONGEST) & ~self.copied & _occurs_once(self.pair_keys)
        for keys, short in self.sides():
            found &= short | _occurs_once(keys)
        return found

    def shared(self, others: "PairKeys") -> np.ndarray:
        """Which pairs are among ``others``, or have a side there that is not short, bool (pairs,)."""
        found = np.isin(self.pair_keys, others.pair_keys)
        for (keys, short), (of_others, short_there) in zip(self.sides(), others.sides(), strict=True):
            found |= ~short & np.isin(keys, of_others[~short_there])
        return found


def _remember(pair: tuple[str, str]) -> tuple[list[int], list[int], list[int], bool]:
    keys, words = [content_key(side) for side in pair], [len(side.split()) for side in pair]
    return keys, words, [len(side) for side in pair], pair[0] == pair[1]


def _occurs_once(keys: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return counts[places] == 1


def check_start(path: Path) -> list[str]:
    """Look at the first bytes of a text; returns what is odd but harmless.

    ``UserError`` for a file that is missing, an archive, compressed without saying so, UTF-16, or without line ends.
    """
    path = Path(path)
    with named_errors(path), open(path, "rb") as stream:
        packed = path.suffix == ".gz" and not looks_like_archive(stream.peek(HEAD))
        head = (gzip.GzipFile(fileobj=stream) if packed else stream).read(1 << 16)
    if looks_like_archive(head):
        raise UserError(f"{path}: an archive of several files; unpack it and give its texts")
    if head.startswith(GZIP) and path.suffix != ".gz":
        raise UserError(f"{path}: compressed by gzip; let its name end in .gz")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{path}: UTF-16 text; convert the file to UTF-8")
    if b"\r" in head and b"\n" not in head:
        raise UserError(f"{path}: lines end with carriage returns alone; let them end with line feeds")
    odd = []
    if head.startswith(b"\xef\xbb\xbf"):
        odd.append(f"{path} begins with a byte order mark, which is left out")
    if b"\r\n" in head:
        odd.append(f"{path} has Windows line ends, which become plain ones")
    return odd


def clean_pairs_of(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """The pairs of two files as they will be written: NFC, without invisible characters and spaces at the ends.

    ``UserError`` names file and line of what is not UTF-8 text, and files of different length.
    """
    for one, other in stream_parallel(source, target):
        yield clean_characters(one).strip(), clean_characters(other).strip()


def count_pairs(count: int) -> str:
    """So many pairs, in words."""
    return singular(f"{count:,} pairs")


class Survey(PairKeys):
    """What one pass over the pairs of two files found.

    pairs: their number; empty: with a side without text; identical: with the same text on both sides; long: with a side
    beyond what training uses; escaped: with a side as Moses' tokeniser writes it; altered: with characters that were
    replaced; references: with a character reference of XML; unsplit: characters of each side in what is too long for a
    word; clues: of the language of each side.
    """

    def __init__(self, source: Path, target: Path) -> None:
        self.files = (Path(source), Path(target))
        self.odd = [sentence for path in self.files for sentence in check_start(path)]
        self.identical = self.escaped = self.altered = self.references = 0
        self.unsplit = [0, 0]
        self.clues = (LanguageClues(), LanguageClues())
        super().__init__(self._look_through())
        self.empty, self.spaced = int((~self.usable).sum()), self.words.sum(axis=0).tolist()
        self.long = int((self.words.max(axis=1) > LONGEST).sum())

    def _look_through(self) -> Iterator[tuple[str, str]]:
        """The pairs, clean, of which what is odd is counted."""
        for number, lines in enumerate(stream_parallel(*self.files)):
            one, other = pair = tuple(clean_characters(line).strip() for line in lines)
            self.altered += any(a != b.strip(" \ufeff") for a, b in zip(pair, lines, strict=True))
            self.identical += one == other and any(map(str.isalpha, one))
            self.escaped += any(" &apos;" in side or "&quot; " in side or " @-@ " in side for side in pair)
            self.references += any(REFERENCE.search(side) for side in pair)
            self.unsplit = [count + count_unsplit(side) for count, side in zip(self.unsplit, pair, strict=True)]
            if number < READ_FOR_LANGUAGE:
                for side, clues in zip(pair, self.clues, strict=True):
                    clues.add(side)
            yield one, other

    @property
    def correlation(self) -> float:
        """Of the lengths of the two sides, in characters; 1 where one side's are all equal."""
        if self.pairs < 2 or self.characters.std(axis=0).min() == 0:
            return 1.0
        return float(np.corrcoef(*self.characters.T)[0, 1])

    def check_languages(self, languages: tuple[str, str], stated: bool) -> list[str]:
        """``UserError`` where the sides look swapped, or one like the other; where languages were stated, a remark."""
        wrong = [n for n in (0, 1) if self.clues[n].favours(languages[1 - n], languages[n])]
        if not wrong:
            return []
        sentence = " and ".join(f"{self.files[n]} looks like '{languages[1 - n]}'" for n in wrong)
        advice = "swap them"
        if len(wrong) == 1:
            sentence, advice = f"{sentence}, not '{languages[wrong[0]]}'", "give another file"
        if not stated:
            raise UserError(
                f"{sentence}; {advice}, or say what they are: --source {languages[0]} --target {languages[1]}"
            )
        return [sentence]

    def check_split(self) -> None:
        """``UserError`` for a side that is written without spaces and whose words nobody has separated."""
        for file, unsplit, characters in zip(self.files, self.unsplit, self.characters.sum(axis=0), strict=True):
            check_split(file, unsplit, int(characters))

    def remarks(self, tokenised: bool) -> list[str]:
        """What is odd about the text but no fault, a sentence each; tokenised: whether the user says that it is."""
        counts = (
            (self.altered, "with odd characters (controls, invisible ones, not NFC), which are replaced"),
            (self.empty, "with an empty side, which are left out"),
            (self.long, f"with more than {LONGEST} words on a side, which training leaves out"),
            (self.identical, "with the same text on both sides"),
        )
        found = [*self.odd, *(f"{count_pairs(count)} {what}" for count, what in counts if count)]
        if self.escaped > 0.05 * self.pairs and not tokenised:
            found.append("the text looks tokenised already, as by Moses; say --tokenised if it is")
        elif self.references and not tokenised:
            found.append(
                f"{count_pairs(self.references)} with character references such as &amp;, of which the tokeniser makes "
                "several words; if the text is escaped as XML, set unescape: true at the sides of its sources"
            )
        if self.correlation < LITTLE:
            found.append(
                f"long lines do not have long translations (correlation {self.correlation:.2f}); "
                "is line i of one file the translation of line i of the other?"
            )
        return found


def usual_size(pairs: int) -> int:
    """Pairs of a development or test set of a corpus: a thousand, or a twentieth of a small one."""
    return min(1000, pairs // 20)


def assign(
    keys: PairKeys, given: Sequence[PairKeys], dev_size: int | None, test_size: int | None, seed: int, origin: Path
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
    drawable = np.flatnonzero((roles == TRAIN) & keys.drawable())
    usual = min(usual_size(int((roles == TRAIN).sum())), len(drawable) // 2)
    sizes = [usual if size is None else size for size in (dev_size, test_size)]
    if sum(sizes) > len(drawable) or (usual == 0 and None in (dev_size, test_size)):
        wanted = f"{sum(sizes):,} pairs are to be drawn" if sum(sizes) else "no set can be drawn"
        raise UserError(
            f"{origin}: {wanted}, from pairs that occur only once: here {len(drawable):,} of {len(allowed):,}; "
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
    if survey.identical > MOSTLY * survey.pairs:
        raise UserError(
            f"{source} and {target}: {survey.identical:,} of {survey.pairs:,} lines are the same on both sides; "
            "give a text and its translation"
        )
    return survey


def survey_set(option: str, files: Sequence[Path]) -> Survey:
    """Read a set that is there already; ``UserError`` where it is not two files of text without empty lines."""
    if len(files) != 2:
        raise UserError(f"--{option}: {len(files)} files; give two, the source side and the target side")
    survey = Survey(*files)
    if not survey.pairs:
        raise UserError(f"{files[0]}: no text; give --{option} a set with sentences")
    if survey.empty:
        line = int(np.flatnonzero(~survey.usable)[0]) + 1
        raise UserError(f"{files[0]} and {files[1]}, line {line}: no text on a side; take the line out of both")
    return survey


@dataclass(frozen=True)
class Split:
    """A corpus, the sets that are given, by part, and what becomes of each pair (see ``assign``)."""

    survey: Survey
    sets: dict[str, Survey]
    roles: np.ndarray

    @property
    def counts(self) -> dict[str, int]:
        """Pairs of each part."""
        drawn = {part: int((self.roles == role).sum()) for role, part in PARTS.items()}
        return drawn | {part: given.pairs for part, given in self.sets.items()}

    @property
    def left_out(self) -> int:
        """Pairs of the corpus that are in no part."""
        return int((self.roles == LEFT_OUT).sum())

    def write(self, folder: Path, languages: tuple[str, str]) -> dict[str, list[Path]]:
        """Write every part into a folder that is there; returns the files of each, source and target side."""
        # what is large is compressed
        names = {
            part: [Path(folder) / f"{part}.{language}{'.gz' if part == 'train' else ''}" for language in languages]
            for part in PARTS.values()
        }
        with ExitStack() as stack:
            streams = {
                role: [stack.enter_context(open_text(path, "w")) for path in names[part]]
                for role, part in PARTS.items()
                if part not in self.sets
            }
            for role, pair in zip(self.roles.tolist(), clean_pairs_of(*self.survey.files), strict=True):
                if role != LEFT_OUT:
                    for stream, side in zip(streams[role], pair, strict=True):
                        stream.write(f"{side}\n")
        for part, given in self.sets.items():
            write_pairs(names[part][0], names[part][1], clean_pairs_of(*given.files))
        write_rows(folder / "split.csv", ["text", "pairs"], [*self.counts.items(), ["left out", self.left_out]])
        for part, pairs in self.counts.items():
            log.info("%s: %s pairs", part, f"{pairs:,}")
        return names


def split_corpus(
    survey: Survey, given: Mapping[str, Sequence[Path]], dev_size: int | None, test_size: int | None, seed: int
) -> Split:
    """Draw what is not given of dev and test, see ``assign``; given: the files of sets, by part."""
    sets = {part: survey_set(part, files) for part, files in given.items() if files}
    sizes = {"dev": dev_size, "test": test_size}
    for part, size in sizes.items():
        if part in sets and size is not None:
            raise UserError(f"--{part}-size: the set is given with --{part}; leave one of the two out")
        if size is not None and size < 1:
            raise UserError(f"--{part}-size: {size}; give at least one pair, or a set of your own with --{part}")
    dev, test = (0 if part in sets else size for part, size in sizes.items())
    roles = assign(survey, list(sets.values()), dev, test, seed=seed, origin=survey.files[0])
    if (left := int((roles == TRAIN).sum())) < FEWEST // 2:
        raise UserError(
            f"{survey.files[0]}: {left:,} pairs are left to train on; draw fewer with --dev-size and --test-size"
        )
    return Split(survey, sets, roles)
