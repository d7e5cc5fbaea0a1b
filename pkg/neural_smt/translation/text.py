"""Raw text in, detokenised text out."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape

from neural_smt.corpus.tokenisation import accept_tokens, tokenise_lines
from neural_smt.evaluation.scores import detokenise_lines
from neural_smt.translation.long_sentences import cut, join
from neural_smt.translation.results import Candidate, Translated, Translator


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
