"""Normalise and tokenise: Unicode NFC, then Moses' punctuation normaliser and tokeniser (sacremoses).

Moses escapes the characters that are special in its files (``'`` becomes ``&apos;``), and so do we.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, islice

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from neural_smt.shards import in_processes

CHUNK = 5000
"""Lines a worker process takes at a time."""

_DIRECTIONS = (*range(0x200E, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A))
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), 0xAD, 0x200B, 0xFEFF, *_DIRECTIONS))
"""Characters without a shape: they would split or alter words unseen, so they vanish. Joiners (U+200C, U+200D) are part
of how words are spelled.
"""

_CONTROLS |= {ord(space): " " for space in "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"}
"""Except those that separate: they become a space, so that no reader can take one for the end of a line."""

_NORMALISABLE = re.compile("[\r()`´„“”‘’‚–—…«»\u00a0]|  | [%:;]|''|\"[,.]|[,.]\"")
"""Every substitution of MosesPunctNormalizer needs one of these; a line without them is already normal."""

_NO_BREAK = dict.fromkeys((0xA0, 0x2007, 0x202F))

_NAMES = dict(zip("&|<>'\"[]", ["&amp;", "&#124;", "&lt;", "&gt;", "&apos;", "&quot;", "&#91;", "&#93;"], strict=True))
_ESCAPES = str.maketrans(_NAMES)


def clean_characters(line: str) -> str:
    """NFC, with control and invisible characters removed and every kind of line separator made a space."""
    return unicodedata.normalize("NFC", line.translate(_CONTROLS) if not line.isprintable() else line)


def escape(text: str) -> str:
    """Escape Moses' special characters; an already escaped text stays as it is."""
    if not any(character in text for character in _NAMES):
        return text
    for character, name in reversed(_NAMES.items()):
        text = text.replace(name, character)
    return text.translate(_ESCAPES)


class Tokeniser:
    """Raw sentence in, space-separated escaped tokens out, for one language (ISO 639-1 code)."""

    def __init__(self, language: str):
        self._normaliser, self._tokeniser = MosesPunctNormalizer(language), MosesTokenizer(language)

    def __call__(self, line: str) -> str:
        line = clean_characters(line)
        if _NORMALISABLE.search(line):
            line = self._normaliser.normalize(line)
        return self._tokeniser.tokenize(line, return_str=True, escape=True)


def accept_tokens(line: str) -> str:
    """Text that is tokenised already: clean characters, single spaces, consistent escapes, the same tokens: a no-break
    space does not end one (``10 000``), and is left out.
    """
    return escape(" ".join(clean_characters(line.translate(_NO_BREAK)).split()))


_tokeniser = cache(Tokeniser)


def _tokenise_chunk(lines: Sequence[str], language: str) -> list[str]:
    tokeniser = _tokeniser(language)
    return [tokeniser(line) for line in lines]


def tokenise_lines(lines: Iterable[str], language: str, threads: int = 1) -> Iterator[str]:
    """Tokenise lines in ``threads`` processes, one for one and in order; a few chunks for each are in memory."""
    rest = iter(lines)
    chunks = iter(lambda: list(islice(rest, CHUNK)), [])
    first = list(islice(chunks, 2))
    work = partial(_tokenise_chunk, language=language)
    return chain.from_iterable(in_processes(work, chain(first, chunks), threads if len(first) > 1 else 1))
