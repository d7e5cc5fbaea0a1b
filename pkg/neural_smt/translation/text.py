"""Raw text in, detokenised text out; very long lines in pieces, as the search needs room that grows with the square."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import unescape

import numpy as np

from neural_smt.corpus.tokenisation import accept_tokens, tokenise_lines
from neural_smt.evaluation.steps import detokenise_lines
from neural_smt.translation.translators import Candidate, Phrase, Translated, Translator

LONGEST = 250
"""Words that are translated together; no line of a corpus that the experiments clean is longer."""

_STOPS = ((".", "!", "?"), (";", ":"), (",",))
"""Words after which a line is cut, the best ones first."""


@dataclass(frozen=True)
class Sentence:
    """A line of text, its translation, and the texts of all candidates (best first, at least one)."""

    line: str
    translated: Translated
    texts: list[str]

    @property
    def text(self) -> str:
        """The translation."""
        return self.texts[0]

    @property
    def source(self) -> list[str]:
        """The words of the line as a person spells them."""
        return spelled(self.translated.source)

    @property
    def listed(self) -> list[tuple[str, Candidate]]:
        """The candidates, each with its text."""
        return list(zip(self.texts, self.translated.candidates, strict=True))


@dataclass(frozen=True)
class TextTranslator:
    """A system with the languages (ISO 639-1 codes) of its text; tokenised: lines are split into words already."""

    translator: Translator
    source: str
    target: str
    tokenised: bool = False

    def translate(self, lines: Sequence[str], nbest: int = 1, explained: bool = False) -> list[Sentence]:
        """At most ``nbest`` translations of each line; a line without words has an empty one."""
        prepared = map(accept_tokens, lines) if self.tokenised else tokenise_lines(lines, self.source)
        pieces = [cut(line.split()) for line in prepared]
        found = iter(self.translator.translate([piece for line in pieces for piece in line], nbest, explained))
        whole = [join([next(found) for _ in line], nbest) for line in pieces]
        texts = iter(detokenise_lines([" ".join(c.tokens) for t in whole for c in t.candidates], self.target))
        return [
            Sentence(line, translated, [next(texts) for _ in translated.candidates])
            for line, translated in zip(lines, whole, strict=True)
        ]


def spelled(tokens: Sequence[str]) -> list[str]:
    """Words as a person spells them: without the escapes of Moses' files."""
    return [unescape(token) for token in tokens]


def cut(tokens: Sequence[str], longest: int = LONGEST) -> list[list[str]]:
    """A line as pieces of at most ``longest`` words, cut after the last stop in the second half where there is one."""
    pieces, rest = [], list(tokens)
    while len(rest) > longest:
        half = range(longest - 1, longest // 2 - 1, -1)
        places = (next((i for i in half if rest[i] in stops), None) for stops in _STOPS)
        end = next((i + 1 for i in places if i is not None), longest)
        pieces.append(rest[:end])
        rest = rest[end:]
    return [*pieces, rest]


def join(pieces: Sequence[Translated], nbest: int) -> Translated:
    """The translations of the pieces as one: the i-th of every piece together are the i-th of the line.

    A piece with fewer of them gives its last one again.
    """
    if len(pieces) == 1:
        return pieces[0]
    count = min(nbest, max(len(piece.candidates) for piece in pieces))
    chosen = [[p.candidates[min(i, len(p.candidates) - 1)] for p in pieces] for i in range(max(1, count))]
    lengths = [len(piece.source) for piece in pieces]
    return Translated([word for p in pieces for word in p.source], [_join(parts, lengths) for parts in chosen])


def _join(parts: Sequence[Candidate], lengths: Sequence[int]) -> Candidate:
    tokens, alignment, phrases, origins = [], [], [], []
    source = 0
    for part, length in zip(parts, lengths, strict=True):
        target = len(tokens)
        tokens += part.tokens
        alignment += [(source + i, target + j) for i, j in part.alignment]
        phrases += [_moved(phrase, source, target) for phrase in part.phrases]
        origins += [o if o.replaced is None else replace(o, replaced=source + o.replaced) for o in part.origins]
        source += length
    features = np.sum([part.features for part in parts], axis=0)
    return Candidate(tokens, sum(part.score for part in parts), features, alignment, phrases, origins)


def _moved(phrase: Phrase, source: int, target: int) -> Phrase:
    start, stop = phrase.source
    begin, end = phrase.target
    return Phrase((source + start, source + stop), (target + begin, target + end), phrase.features)
