"""Statistics and checks of parallel text before it is used, in one pass over the pairs.

Texts are compared by their words alone, whatever their case, punctuation and spaces, as 64-bit hashes: a million pairs
take 25 MB, and two different lines count as the same with a chance of one in ten million.
"""

import hashlib
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from neural_smt.corpus.archives import HEAD, looks_like_archive
from neural_smt.corpus.languages import UNSPACED, LanguageClues
from neural_smt.corpus.storing import GZIP
from neural_smt.corpus.tokenisation import clean_characters
from neural_smt.errors import UserError
from neural_smt.io.files import named_errors, open_text
from neural_smt.io.streams import stream_parallel

SHORT = 3
"""Words of a side that may recur with another translation: ``Yes .`` will stand in every corpus."""

LONGEST = 80
"""Words of the longest side of a drawn pair, as cleaning leaves them in the training text."""

_WORD = re.compile(r"\w+")

READ_FOR_LANGUAGE = 20_000
"""Pairs whose words are counted to see which language they are of."""

MOSTLY = 0.5
"""Share of pairs with the same text on both sides from which the files must be wrong."""

LITTLE = 0.2
"""Correlation of the lengths of sides below which they are hardly translations; real text has 0.7 and more."""

UNSPACED_WORD = 12
"""Mean characters of what stands between spaces, from which text of ``UNSPACED`` languages is not split into words."""


def content_key(text: str) -> int:
    """A 64-bit number that texts of the same words have; of one without words, of what it is made of."""
    words = " ".join(_WORD.findall(text.casefold())) or " ".join(text.split())
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass
class PairKeys:
    """What is remembered of each pair: a key of each side, whether that is short; whether it may be used, and drawn."""

    _keys: tuple[array, array] = field(default_factory=lambda: (array("Q"), array("Q")))
    _short: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    _usable: bytearray = field(default_factory=bytearray)
    _fitting: bytearray = field(default_factory=bytearray)

    def __len__(self) -> int:
        return len(self._usable)

    def add(self, source: str, target: str) -> None:
        """Remember a pair; one with an empty side is used nowhere, an untranslated or very long one is never drawn."""
        lengths = len(source.split()), len(target.split())
        for number, side in enumerate((source, target)):
            self._keys[number].append(content_key(side))
            self._short[number].append(lengths[number] <= SHORT)
        self._usable.append(min(lengths) > 0)
        self._fitting.append(min(lengths) > 0 and max(lengths) <= LONGEST and source != target)

    @property
    def usable(self) -> np.ndarray:
        """Which pairs have text on both sides, bool (pairs,)."""
        return np.frombuffer(self._usable, dtype=bool)

    @property
    def fitting(self) -> np.ndarray:
        """Which pairs are such that a test set should have them, bool (pairs,)."""
        return np.frombuffer(self._fitting, dtype=bool)

    @property
    def pairs(self) -> np.ndarray:
        """A key of each pair, uint64 (pairs,)."""
        # the sides of a pair are mixed unequally: (a, b) is not (b, a)
        (source, _), (target, _) = self.sides()
        return source * np.uint64(0x9E3779B97F4A7C15) + target

    def sides(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of the source and the target side: keys, uint64 (pairs,), and which are short, bool (pairs,)."""
        return [
            (np.frombuffer(keys, dtype=np.uint64), np.frombuffer(short, dtype=bool))
            for keys, short in zip(self._keys, self._short, strict=True)
        ]

    def unique(self) -> np.ndarray:
        """Which pairs occur once, and each of their sides too unless it is short, bool (pairs,)."""
        once = _occurs_once(self.pairs)
        for keys, short in self.sides():
            once &= short | _occurs_once(keys)
        return once

    def shared(self, others: "PairKeys") -> np.ndarray:
        """Which pairs are among ``others``, or have a side there that is not short, bool (pairs,)."""
        found = np.isin(self.pairs, others.pairs)
        for (keys, short), (of_others, short_there) in zip(self.sides(), others.sides(), strict=True):
            found |= ~short & np.isin(keys, of_others[~short_there])
        return found


def _occurs_once(keys: np.ndarray) -> np.ndarray:
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return counts[places] == 1


def check_start(path: Path) -> list[str]:
    """Look at the first bytes of a text; returns what is odd but harmless.

    ``UserError`` for a file that is missing, an archive, compressed without saying so, UTF-16, or without line ends.
    """
    path = Path(path)
    with named_errors(path), open(path, "rb") as stream:
        head = stream.read(1 << 16)
    if looks_like_archive(head[:HEAD]):
        raise UserError(f"{path}: an archive of several files; unpack it and give its texts")
    if head.startswith(GZIP) and path.suffix != ".gz":
        raise UserError(f"{path}: compressed by gzip; let its name end in .gz")
    if path.suffix == ".gz":
        with named_errors(path), open_text(path) as text:
            head = text.buffer.read(1 << 16)
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
    return f"{count:,} pair{'' if count == 1 else 's'}"


class Survey:
    """What one pass over the pairs of two files found.

    pairs: their number; empty: with a side without text; identical: with the same text on both sides; long: with a side
    beyond what training uses; escaped: with a side as Moses' tokeniser writes it; altered: with characters that were
    replaced; keys: what splitting compares; clues: of the language of each side.
    """

    def __init__(self, source: Path, target: Path) -> None:
        self.files = (Path(source), Path(target))
        self.odd = [sentence for path in self.files for sentence in check_start(path)]
        self.pairs = self.empty = self.identical = self.long = self.escaped = self.altered = 0
        self.keys = PairKeys()
        self.clues = (LanguageClues(), LanguageClues())
        self.characters, self.spaced = [0, 0], [0, 0]
        self._lengths = (array("i"), array("i"))
        for lines in stream_parallel(*self.files):
            self._add(lines)

    def _add(self, lines: tuple[str, str]) -> None:
        pair = tuple(clean_characters(line).strip() for line in lines)
        self.keys.add(*pair)
        self.pairs += 1
        self.altered += any(a != b.strip(" \ufeff") for a, b in zip(pair, lines, strict=True))
        self.empty += not all(pair)
        self.identical += pair[0] == pair[1] and any(map(str.isalpha, pair[0]))
        self.escaped += any(" &apos;" in side or "&quot; " in side or " @-@ " in side for side in pair)
        words = [len(side.split()) for side in pair]
        self.long += max(words) > LONGEST
        for number, side in enumerate(pair):
            self._lengths[number].append(len(side))
            self.characters[number] += len(side)
            self.spaced[number] += words[number]
            if self.pairs <= READ_FOR_LANGUAGE:
                self.clues[number].add(side)

    @property
    def correlation(self) -> float:
        """Of the lengths of the two sides, in characters; 1 where one side's are all equal."""
        lengths = [np.frombuffer(side, dtype=np.int32) for side in self._lengths]
        if self.pairs < 2 or min(side.std() for side in lengths) == 0:
            return 1.0
        return float(np.corrcoef(*lengths)[0, 1])

    def check_identical(self) -> None:
        """``UserError`` where most pairs have the same text on both sides."""
        if self.identical > MOSTLY * self.pairs:
            raise UserError(
                f"{self.files[0]} and {self.files[1]}: {self.identical:,} of {self.pairs:,} lines are the same on both "
                "sides; give a text and its translation"
            )

    def check_languages(self, languages: tuple[str, str], stated: bool) -> list[str]:
        """``UserError`` where the sides look swapped, or one like the other; where languages were stated, a remark."""
        wrong = [self.clues[n].favours(languages[1 - n], languages[n]) for n in (0, 1)]
        if not any(wrong):
            return []
        if all(wrong):
            sentence = " and ".join(f"{self.files[n]} looks like '{languages[1 - n]}'" for n in (0, 1))
            advice = "swap them"
        else:
            number = wrong.index(True)
            sentence = f"{self.files[number]} looks like '{languages[1 - number]}', not '{languages[number]}'"
            advice = "give another file"
        if not stated:
            raise UserError(
                f"{sentence}; {advice}, or say what they are: --source {languages[0]} --target {languages[1]}"
            )
        return [sentence]

    def check_spaces(self, languages: tuple[str, str]) -> None:
        """``UserError`` for a language without spaces whose words nobody has separated."""
        for number, language in enumerate(languages):
            per_word = self.characters[number] / max(self.spaced[number], 1)
            if language in UNSPACED and per_word > UNSPACED_WORD:
                raise UserError(
                    f"{self.files[number]}: '{language}' is written without spaces and sacremoses does not find its "
                    "words; split it into words first"
                )

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
        if self.correlation < LITTLE:
            found.append(
                f"long lines do not have long translations (correlation {self.correlation:.2f}); "
                "is line i of one file the translation of line i of the other?"
            )
        return found
