"""Statements: copular and existential ones, reported speech, clauses joined, pronouns across clauses."""

from collections.abc import Callable
from dataclasses import replace

from neural_smt.corpus.grammar.adjuncts import adjunct, block, comma, join, time_adjunct
from neural_smt.corpus.grammar.clauses import (
    Predicate,
    clause,
    complete,
    draw_object,
    draw_subject,
    draw_verb,
    english_side,
    french_side,
    make_group,
    passive_clause,
    reference,
    state,
    that_clause,
    with_relative,
)
from neural_smt.corpus.grammar.constituents import NounPhrase
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, words
from neural_smt.corpus.grammar.french import elidable
from neural_smt.corpus.grammar.noun_phrases import common_noun_phrase

_NEVER_PREDICATES = """
first last other same next main real former current great little favourite whole joint honourable historic
annual federal large broad global recent legislative parliamentary foreign military
"""
_ATTRIBUTIVE_ONLY = frozenset(_NEVER_PREDICATES.split())


_CONJUNCTIONS = {
    "coordinate": (("and", "et"), ("but", "mais"), ("so", "donc"), ("yet", "pourtant")),
    "cause": (("because", "parce que"), ("because", "car"), ("since", "puisque"), ("as", "étant donné que")),
    "subordinate": (
        ("because", "parce que"),
        ("when", "quand"),
        ("while", "pendant que"),
        ("if", "si"),
        ("as soon as", "dès que"),
        ("since", "depuis que"),
        ("whereas", "alors que"),
        ("every time", "chaque fois que"),
    ),
}


def copular(d: Derivation, subject: NounPhrase | None = None, tense: str | None = None) -> Pair:
    """A subject that is (seems, remains ...) something: an adjective, or a noun phrase after be."""
    subject = subject or draw_subject(d, d.dice.choice("ppgteaaolf"))
    verb = draw_verb(d, "copula", subject if not subject.clitics or subject.kind != "p" else None)
    if verb.subjects not in ("*",) and subject.kind not in verb.subjects:
        verb = d.lexicon.verb_table("copula").items[0]
    group = make_group(d, verb, tense)
    table = d.lexicon.adjective_table(subject.kind)
    if verb.french == "être" and subject.kind in "taeg" and d.chance(0.25):
        kinds = "a" if subject.kind != "g" else "g"
        attribute = common_noun_phrase(
            d, kinds, small=d.chance(0.3), choice="the" if d.chance(0.4) else "a", subject=False
        )
        tail = Pair(attribute.source, attribute.target)
    else:
        adjective = next(a for a in iter(lambda: d.dice.draw(table), None) if a.english not in _ATTRIBUTIVE_ONLY)
        key = d.key()
        degree = block(d, "ADVERBS", "degree") if d.chance(0.35) else NOTHING
        form = adjective.french(subject.feminine, subject.plural)
        tail = join(degree, Pair(words(adjective.english, key), words(form, key)))
    predicate = Predicate(group, tail=tail)
    if group.negation is None and d.chance(d.domain.adverb * 0.6):
        predicate = replace(predicate, adverb=block(d, "ADVERBS", "frequency"))
    if d.chance(d.domain.adjunct * 0.5):
        predicate = replace(predicate, tail=join(tail, adjunct(d)))
    return state(predicate, subject)


def _connect(d: Derivation, kind: str, first: Pair, second: Callable[[], Pair], comma_rate: float = 0.3) -> Pair:
    english, french = d.dice.skewed(_CONJUNCTIONS[kind])
    key = d.key()
    middle = comma(d) if d.chance(comma_rate) else NOTHING
    last = second()
    # "si" elides before "il(s)" alone: s'il, but si elle.
    if french == "si" and last.target and last.target[0].form in ("il", "ils"):
        french = "s'"
    return join(first, middle, Pair(words(english, key), elidable(french, key)), last)


def simple(d: Derivation) -> Pair:
    """One clause."""
    return clause(d).pair


def passive(d: Derivation) -> Pair:
    """One clause in the passive."""
    return passive_clause(d).pair


def reported(d: Derivation) -> Pair:
    """Somebody says, thinks ... that something is so."""
    verb = draw_verb(d, "clausal")
    tense = "past" if d.domain.letter == "n" and d.chance(0.75) else d.dice.choice(("past", "perfect", "present"))
    group = make_group(d, verb, tense, plain=True)
    subject = draw_subject(d, verb.subjects)
    d.depth += 1
    inner = copular(d) if d.chance(0.25) else passive_clause(d).pair if d.chance(d.domain.passive) else clause(d).pair
    d.depth -= 1
    return state(Predicate(group, tail=that_clause(d, inner, optional=True)), subject)


def coordinated(d: Derivation) -> Pair:
    """Two clauses joined by and, but ... in the same tense."""
    first = clause(d, adjuncts=d.chance(0.3))
    return _connect(d, "coordinate", first.pair, lambda: clause(d, tense=first.tense, adjuncts=d.chance(0.5)).pair)


def subordinate(d: Derivation) -> Pair:
    """A clause and its reason, time or condition."""
    first = clause(d, adjuncts=d.chance(0.3))
    tense = first.tense if first.tense not in ("future", "modal", "conditional", "perfect") else "present"

    def second() -> Pair:
        return copular(d, tense=tense) if d.chance(0.3) else clause(d, tense=tense, adjuncts=d.chance(0.4)).pair

    return _connect(d, "subordinate", first.pair, second, comma_rate=0.1)


def anaphoric(d: Derivation) -> Pair:
    """Two clauses; a pronoun of the second takes up a noun of the first, whose gender decides its French form."""
    first = clause(
        d, frame="transitive", adjuncts=False, tense=d.dice.choice(("past", "past", "perfect", "present", "future"))
    )
    antecedent = first.direct if first.direct is not None and not first.direct.clitics else None
    roll = d.dice.fraction()
    if antecedent is not None and antecedent.kind != "p" and roll < 0.45:
        tense = "past" if first.tense in ("past", "imperfect", "pluperfect") else "present"
        return _connect(d, "cause", first.pair, lambda: copular(d, reference(d, antecedent), tense), 0.1)
    if antecedent is not None and roll < 0.75:
        return _connect(d, "coordinate", first.pair, lambda: _with_object(d, antecedent, first.tense))
    return _connect(
        d, "coordinate", first.pair, lambda: clause(d, subject=reference(d, first.subject), tense=first.tense).pair
    )


def _with_object(d: Derivation, antecedent: NounPhrase, tense: str) -> Pair:
    """A clause whose object is a pronoun for the antecedent."""
    for _ in range(80):
        verb = draw_verb(d, "transitive")
        if antecedent.kind in verb.objects:
            break
    group = make_group(d, verb, tense)
    subject = draw_subject(d, verb.subjects)
    predicate = complete(d, replace(group, verb=replace(verb, objects="")), adjuncts=d.chance(0.5))
    return state(replace(predicate, group=group, direct=reference(d, antecedent)), subject)


def existential(d: Derivation) -> Pair:
    """``there is``/``il y a``."""
    phrase = common_noun_phrase(d, d.kind("peaotl"), choice=d.dice.choice(("a", "zero")))
    key, past = d.key(), d.chance(0.5)
    plural = phrase.source_person == 5
    be = ("were" if plural else "was") if past else ("are" if plural else "is")
    opening = Pair(words(f"there {be}", key), words("il y avait" if past else "il y a", key))
    tail = join(adjunct(d), time_adjunct(d, "past" if past else "present") if d.chance(0.3) else NOTHING)
    return join(opening, Pair(phrase.source, phrase.target), tail)


def percentage(d: Derivation) -> Pair:
    """Figures that rise and fall: a comma is French for the decimal point."""
    verb = next(
        v for v in iter(lambda: draw_verb(d, "intransitive"), None) if v.french in ("augmenter", "baisser", "diminuer")
    )
    group = make_group(d, verb, plain=True)
    subject = with_relative(d, common_noun_phrase(d, "m", subject=True))
    number, by, percent = d.key(), d.key(), d.key()
    english = str(d.dice.integer(2, 60)) if d.chance(0.6) else f"{d.dice.integer(1, 12)}.{d.dice.integer(1, 9)}"
    amount = Pair(
        (*words("by", by), *words(english, number), *words("%", percent)),
        (*elidable("de", by), *words(english.replace(".", ","), number), *words("%", percent)),
    )
    predicate = complete(d, group, adjuncts=False)
    return state(replace(predicate, tail=join(amount, time_adjunct(d, group.tense))), subject)


def swapped(d: Derivation) -> Pair:
    """``John misses his sister``: in French the sister is the subject."""
    verb = draw_verb(d, "swapped")
    group = replace(make_group(d, verb, d.dice.choice(("present", "past"))), passive=False)
    experiencer, stimulus = draw_subject(d, "p"), draw_object(d, verb.objects, False, small=True)
    _, after = english_side(Predicate(group, direct=stimulus), experiencer)
    french_subject = stimulus
    if stimulus.clitics:
        french_subject = common_noun_phrase(d, "p", small=True, choice="possessive")
        _, after = english_side(Predicate(group, direct=french_subject), experiencer)
    mirrored = Predicate(replace(group, verb=replace(verb, preposition="")), indirect=experiencer)
    core, rest = french_side(mirrored, french_subject)
    return Pair((*experiencer.source, *after), (*french_subject.target, *core, *rest))
