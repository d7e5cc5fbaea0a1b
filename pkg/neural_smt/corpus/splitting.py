"""Development and test sets drawn from a corpus of pairs, so that nothing of them is in the training text.

Texts are compared by their words alone, whatever their case, punctuation and spaces, as 64-bit hashes: a million pairs
take 25 MB, and two different lines count as the same with a chance of one in ten million.
"""

import hashlib
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from neural_smt.errors import UserError

SHORT = 3
"""Words of a side that may recur with another translation: ``Yes .`` will stand in every corpus."""

LONGEST = 80
"""Words of the longest side of a drawn pair, as cleaning leaves them in the training text."""

LEFT_OUT, TRAIN, DEV, TEST = range(4)
"""What becomes of a pair."""

_WORD = re.compile(r"\w+")


def content_key(text: str) -> int:
    """A 64-bit number that texts of the same words have; of one without words, of what it is made of."""
    words = " ".join(_WORD.findall(text.casefold())) or " ".join(text.split())
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass
class PairKeys:
    """What is remembered of each pair: a key of each side, whether that is short; whether it may be used, and drawn."""

    _source: array = field(default_factory=lambda: array("Q"))
    _target: array = field(default_factory=lambda: array("Q"))
    _source_short: bytearray = field(default_factory=bytearray)
    _target_short: bytearray = field(default_factory=bytearray)
    _usable: bytearray = field(default_factory=bytearray)
    _fitting: bytearray = field(default_factory=bytearray)

    def __len__(self) -> int:
        return len(self._usable)

    def add(self, source: str, target: str) -> None:
        """Remember a pair; one with an empty side is used nowhere, an untranslated or very long one is never drawn."""
        lengths = len(source.split()), len(target.split())
        self._source.append(content_key(source))
        self._target.append(content_key(target))
        self._source_short.append(lengths[0] <= SHORT)
        self._target_short.append(lengths[1] <= SHORT)
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
        source, target = (np.frombuffer(side, dtype=np.uint64) for side in (self._source, self._target))
        return source * np.uint64(0x9E3779B97F4A7C15) + target

    def sides(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of the source and the target side: keys, uint64 (pairs,), and which are short, bool (pairs,)."""
        return [
            (np.frombuffer(keys, dtype=np.uint64), np.frombuffer(short, dtype=bool))
            for keys, short in ((self._source, self._source_short), (self._target, self._target_short))
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
