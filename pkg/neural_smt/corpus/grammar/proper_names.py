"""People by name: first names, surnames known and unknown, titles."""

from neural_smt.corpus.grammar import names
from neural_smt.corpus.grammar.constituents import NounPhrase
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import words
from neural_smt.corpus.grammar.french import LE

_FIRST_NAMES = {line[0] == "f": line[3:].split() for line in names.FIRST_NAMES.strip().splitlines()}


_SURNAMES = names.SURNAMES.split()
_SYLLABLES = names.SYLLABLES.split()


_TITLES = (
    ("President", "président"),
    ("Minister", "ministre"),
    ("Judge", "juge"),
    ("General", "général"),
    ("Professor", "professeur"),
)


def surname(d: Derivation) -> str:
    """A surname: mostly a known one, sometimes one nobody has heard of."""
    if d.chance(0.07):
        return "".join(d.dice.choice(_SYLLABLES) for _ in range(d.dice.integer(2, 3))).capitalize()
    return d.dice.skewed(_SURNAMES)


def proper_name(d: Derivation) -> NounPhrase:
    """A person's name: first name, full name, Mr/Mrs or a title with the surname."""
    feminine = d.chance(0.45)
    first = d.dice.skewed(_FIRST_NAMES[feminine])
    key = d.key()
    if not d.domain.formal and d.chance(0.85):
        source = target = words(first, key)
    elif d.chance(0.4):
        last = surname(d)
        source = target = (*words(first, key), *words(last, d.key()))
    elif d.chance(0.5):
        last, title = words(surname(d), d.key()), d.key()
        mister = "Mr." if d.domain.letter == "n" else "Mr"
        source = (*words("Mrs" if feminine else mister, title), *last)
        target = (*words("Mme" if feminine else "M.", title), *last)
    else:
        last, title = words(surname(d), d.key()), d.key()
        english, french = d.dice.skewed(_TITLES)
        feminine = False
        source = (*words(english, title), *last)
        target = (*words(LE, title), *words(french, title), *last)
    return NounPhrase(source, target, 2, 2, feminine, "p", key, simple=True)
