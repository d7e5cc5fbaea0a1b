"""Personal pronouns, alone or taking up an antecedent."""

from dataclasses import replace

from neural_smt.corpus.grammar.constituents import Clitics, NounPhrase
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import words

_YOU_FAMILIAR, _YOU_FORMAL = 1, 4


_PERSONAL = {
    0: ("I", "je|j'", Clitics("me", "me|m'", "me|m'", "moi")),
    1: ("you", "tu", Clitics("you", "te|t'", "te|t'", "toi")),
    3: ("we", "nous", Clitics("us", "nous", "nous", "nous")),
    4: ("you", "vous", Clitics("you", "vous", "vous", "vous")),
}


_THIRD = {
    (False, False): ("il", Clitics("", "le|l'", "lui", "lui")),
    (True, False): ("elle", Clitics("", "la|l'", "lui", "elle")),
    (False, True): ("ils", Clitics("", "les", "leur", "eux")),
    (True, True): ("elles", Clitics("", "les", "leur", "elles")),
}


def personal_pronoun(d: Derivation, person: int | None = None) -> NounPhrase:
    """I, you, he, she, we or they, without an antecedent; ``you`` is ``tu`` in everyday talk, ``vous`` elsewhere."""
    if person is None:
        person = d.dice.choice((0, 0, 0, 3, 3, 3, 4) if d.domain.letter == "p" else (0, 0, 0, 1, 1, 2, 2, 2, 3, 5))
    if person in (1, 4):
        person = _YOU_FORMAL if d.domain.formal or d.chance(0.15) else _YOU_FAMILIAR
    key = d.key()
    if person in _PERSONAL:
        source, target, clitics = _PERSONAL[person]
        return NounPhrase(words(source, key), words(target, key), person, person, False, "p", key, clitics=clitics)
    feminine = person == 2 and d.chance(0.45)
    return _third_person(key, "p", feminine, source_plural=person == 5, plural=person == 5, human=True)


def _third_person(key: int, kind: str, feminine: bool, source_plural: bool, plural: bool, human: bool) -> NounPhrase:
    target, clitics = _THIRD[feminine, plural]
    if source_plural:
        source, accusative = "they", "them"
    elif human:
        source, accusative = ("she", "her") if feminine else ("he", "him")
    else:
        source, accusative = "it", "it"
    return NounPhrase(
        words(source, key),
        words(target, key),
        5 if source_plural else 2,
        5 if plural else 2,
        feminine,
        kind,
        key,
        clitics=replace(clitics, source_object=accusative),
    )


def pronoun_for(d: Derivation, antecedent: NounPhrase) -> NounPhrase:
    """The pronoun that takes up an antecedent: English by sex or thing, French by the noun's gender and number."""
    return _third_person(
        d.key(),
        antecedent.kind,
        antecedent.feminine,
        source_plural=antecedent.source_person == 5,
        plural=antecedent.plural,
        human=antecedent.kind == "p",
    )
