"""Whole sentences: a pattern of the domain, a cue where an ambiguous noun needs one, punctuation."""

from collections.abc import Callable

from neural_smt.corpus.grammar import formulas, questions, statements
from neural_smt.corpus.grammar.adjuncts import block, comma, cue, join
from neural_smt.corpus.grammar.derivation import Derivation, Dice
from neural_smt.corpus.grammar.domains import Domain
from neural_smt.corpus.grammar.english import vowel_sound as english_vowel
from neural_smt.corpus.grammar.fragments import Pair, Word, Words, capitalise, links, resolve
from neural_smt.corpus.grammar.french import vowel_sound as french_vowel

_PATTERNS: dict[str, Callable[[Derivation], Pair]] = {
    "simple": statements.simple,
    "passive": statements.passive,
    "reported": statements.reported,
    "opinion": formulas.opinion,
    "address": formulas.address,
    "coordinated": statements.coordinated,
    "subordinate": statements.subordinate,
    "anaphoric": statements.anaphoric,
    "copular": statements.copular,
    "existential": statements.existential,
    "percentage": statements.percentage,
    "swapped": statements.swapped,
    "weather": formulas.weather,
    "imperative": questions.imperative,
    "question": questions.question,
}


_OPENABLE = frozenset(("simple", "passive", "copular", "anaphoric", "subordinate", "existential", "coordinated"))


class SentencePair:
    """Two tokenised sentences and their links (source, target), 0-based."""

    def __init__(self, source: tuple[str, ...], target: tuple[str, ...], alignment: list[tuple[int, int]]):
        self.source = source
        self.target = target
        self.alignment = alignment


def finish(pair: Pair, key: int, mark: str) -> SentencePair:
    """Capital letters, the final mark, elisions settled; links read off the keys."""
    source = resolve((*capitalise_first(pair.source), Word(mark, (key,))), english_vowel)
    target = resolve((*capitalise_first(pair.target), Word(mark, (key,))), french_vowel)
    return SentencePair(tuple(word.form for word in source), tuple(word.form for word in target), links(source, target))


def capitalise_first(sentence: Words) -> Words:
    """Capitalise both forms of the first word."""
    first = sentence[0]
    if "|" in first.form:
        return (first._replace(form="|".join(form.capitalize() for form in first.form.split("|"))), *sentence[1:])
    return capitalise(sentence)


def sentence(dice: Dice, domain: Domain) -> SentencePair:
    """One sentence pair of a domain."""
    d = Derivation(dice, domain)
    name = dice.draw(domain.patterns)
    pair = _PATTERNS[name](d)
    if d.needs_cue and d.chance(0.92):
        hint = cue(d)
        pair = join(hint, comma(d), pair) if hint.source and d.chance(0.35) and name in _OPENABLE else join(pair, hint)
    elif name in _OPENABLE and d.chance(domain.adverb * 0.6):
        pair = join(block(d, "ADVERBS", "sentence"), comma(d), pair)
    mark = "?" if name == "question" else "!" if name == "imperative" and d.chance(0.4) else "."
    return finish(pair, d.key(), mark)
