"""Sentences: statements, questions, commands and what is said in set words; a cue where an ambiguous noun needs one."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from neural_smt.corpus.grammar.clauses import (
    Predicate,
    clause,
    complete,
    draw_fitting,
    draw_object,
    draw_subject,
    draw_verb,
    english_side,
    fit_tense,
    french_side,
    make_group,
    passive_clause,
    state,
    that_clause,
    with_relative,
)
from neural_smt.corpus.grammar.derivation import Derivation, Dice
from neural_smt.corpus.grammar.english import vowel_sound as english_vowel
from neural_smt.corpus.grammar.fragments import (
    NOTHING,
    Pair,
    Word,
    Words,
    capitalise,
    expressions,
    join,
    links,
    resolve,
    word_list,
)
from neural_smt.corpus.grammar.french import elidable
from neural_smt.corpus.grammar.french import vowel_sound as french_vowel
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, personal_pronoun, reference
from neural_smt.corpus.grammar.phrases import adjunct, adverb, comma, common_noun_phrase, cue, numbered, time_adjunct
from neural_smt.corpus.grammar.verb_groups import REFLEXIVES, Group
from neural_smt.experiment.settings import Settings

_ATTRIBUTIVE_ONLY = frozenset(word_list("attributive adjective"))
"""Adjectives that are never said of a subject."""


def copular(d: Derivation, subject: NounPhrase | None = None, tense: str | None = None) -> Pair:
    """A subject that is (seems, remains ...) something: an adjective, or a noun phrase after be."""
    subject = subject or draw_subject(d, d.dice.choice("ppgteaaolf"))
    verb = draw_verb(d, "copula", subject if not subject.clitics or subject.kind != "p" else None)
    if verb.subjects != "*" and subject.kind not in verb.subjects:
        verb = d.lexicon.verb_table("copula").items[0]
    group = make_group(d, verb, tense)
    table = d.lexicon.adjective_table(subject.kind)
    if verb.french == "être" and subject.kind in "taeg" and d.chance(0.25):
        kinds = "a" if subject.kind != "g" else "g"
        attribute = common_noun_phrase(d, kinds, small=d.chance(0.3), choice="the" if d.chance(0.4) else "a")
        tail = Pair(attribute.source, attribute.target)
    else:
        adjective = next(a for a in iter(lambda: d.dice.draw(table), None) if a.english not in _ATTRIBUTIVE_ONLY)
        degree = adverb(d, "degree") if d.chance(0.35) else NOTHING
        tail = join(degree, d.block(adjective.english, adjective.french(*subject.agreement)))
    predicate = Predicate(group, tail=tail)
    if group.negation is None and d.chance(d.domain.adverb * 0.6):
        predicate = replace(predicate, adverb=adverb(d, "frequency"))
    if d.chance(d.domain.adjunct * 0.5):
        predicate = replace(predicate, tail=join(tail, adjunct(d)))
    return state(predicate, subject)


def _connect(d: Derivation, kind: str, first: Pair, second: Callable[[], Pair], comma_rate: float = 0.3) -> Pair:
    """Two clauses and a conjunction of a kind: coordinate, cause, subordinate."""
    english, french = d.dice.skewed(expressions(f"conjunction {kind}"))
    middle = comma(d) if d.chance(comma_rate) else NOTHING
    last = second()
    # "si" elides before "il(s)" alone: s'il, but si elle.
    if french == "si" and last.target and last.target[0].form in ("il", "ils"):
        french = "s'"
    return join(first, middle, d.block(english, french), last)


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
    inner = copular(d) if d.chance(0.25) else passive(d) if d.chance(d.domain.passive) else simple(d)
    d.depth -= 1
    return state(Predicate(group, tail=that_clause(d, inner)), subject)


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
    tense = d.dice.choice(("past", "past", "perfect", "present", "future"))
    first = clause(d, frame="transitive", adjuncts=False, tense=tense)
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
    verb = draw_fitting(d, "transitive", lambda verb: antecedent.kind in verb.objects, 80)
    group = make_group(d, verb, tense)
    subject = draw_subject(d, verb.subjects)
    predicate = complete(d, group, objects="", adjuncts=d.chance(0.5))
    return state(replace(predicate, direct=reference(d, antecedent)), subject)


def existential(d: Derivation) -> Pair:
    """``there is``/``il y a``."""
    phrase = common_noun_phrase(d, d.kind("peaotl"), choice=d.dice.choice(("a", "zero")))
    past, plural = d.chance(0.5), phrase.source_person == 5
    be = ("were" if plural else "was") if past else ("are" if plural else "is")
    opening = d.block(f"there {be}", "il y avait" if past else "il y a")
    tail = join(adjunct(d), time_adjunct(d, "past" if past else "present") if d.chance(0.3) else NOTHING)
    return join(opening, Pair(phrase.source, phrase.target), tail)


def percentage(d: Derivation) -> Pair:
    """Figures that rise and fall: a comma is French for the decimal point."""
    changes = ("augmenter", "baisser", "diminuer")
    group = make_group(d, draw_fitting(d, "intransitive", lambda verb: verb.french in changes, None), plain=True)
    subject = with_relative(d, common_noun_phrase(d, "m", subject=True))
    english = str(d.dice.integer(2, 60)) if d.chance(0.6) else f"{d.dice.integer(1, 12)}.{d.dice.integer(1, 9)}"
    amount = join(d.block("by", "de"), d.block(english, english.replace(".", ",")), d.block("%", "%"))
    predicate = complete(d, group, adjuncts=False)
    return state(replace(predicate, tail=join(amount, time_adjunct(d, group.tense))), subject)


def swapped(d: Derivation) -> Pair:
    """``John misses his sister``: in French the sister is the subject."""
    verb = draw_verb(d, "swapped")
    group = make_group(d, verb, d.dice.choice(("present", "past")))
    experiencer, stimulus = draw_subject(d, "p"), draw_object(d, verb.objects, False, small=True)
    if stimulus.clitics:
        stimulus = common_noun_phrase(d, "p", small=True, choice="possessive")
    _, after = english_side(Predicate(group, direct=stimulus), experiencer)
    mirrored = Predicate(replace(group, verb=replace(verb, preposition="")), indirect=experiencer)
    core, rest = french_side(mirrored, stimulus)
    return Pair((*experiencer.source, *after), (*stimulus.target, *core, *rest))


def opinion(d: Derivation) -> Pair:
    """I believe that ..., there is no doubt that ..."""
    opening = numbered(d, *d.dice.skewed(expressions("opinion")))
    inner = copular(d) if d.chance(0.35) else passive(d) if d.chance(0.2) else simple(d)
    return join(opening, inner)


def address(d: Derivation) -> Pair:
    """A speaker turns to the chair or the house."""
    opening = d.block(*d.dice.skewed(expressions("address")))
    return join(opening, comma(d), d.dice.choice((opinion, opinion, simple, copular, passive))(d))


def weather(d: Derivation) -> Pair:
    """It rains cats and dogs: in French, ropes."""
    pair = numbered(d, *d.dice.skewed(expressions("weather")))
    return join(pair, adjunct(d)) if d.chance(0.7) else pair


def imperative(d: Derivation) -> Pair:
    """A command: the French present without its subject (and without the -s of -er verbs)."""
    verb = draw_fitting(d, "transitive", lambda verb: not verb.reflexive and "p" in verb.subjects, None)
    group = replace(make_group(d, verb, "present"), tense="present", contracted=True)
    if group.negation is not None:
        group = replace(group, negation=("not", "pas"))
    subject = personal_pronoun(d, 1)
    predicate = replace(complete(d, group), adverb=NOTHING)
    if predicate.direct is not None and predicate.direct.clitics:
        direct = common_noun_phrase(d, d.kind("o" if "o" in verb.objects else "p"), small=True)
        predicate = replace(predicate, direct=direct)
    _, after = english_side(predicate, subject)
    core, rest = french_side(predicate, subject)
    if verb.french.endswith("er"):
        core = tuple(
            word._replace(form=word.form.removesuffix("s"))
            if word.form.endswith("es") and group.key in word.keys
            else word
            for word in core
        )
    return Pair(after, (*core, *rest))


def question(d: Derivation) -> Pair:
    """A yes/no or wh question: ``est-ce que`` in everyday French, inversion in formal French."""
    subject = draw_subject(d, d.dice.choice("ppg")) if not d.chance(0.3) else personal_pronoun(d, 1)
    verb = draw_verb(d, "transitive" if d.chance(0.65) else "intransitive", subject)
    tense = fit_tense(d.dice.choice(("past", "present", "future", "perfect", "modal")), verb)
    opening = d.block(*d.dice.skewed(expressions("question"))) if d.chance(0.4) else NOTHING
    group = make_group(d, verb, tense, plain=bool(opening.source) or d.chance(0.7))
    predicate = complete(d, group)
    front, after = english_side(predicate, subject, question=True)
    core, rest = french_side(predicate, subject)
    if d.domain.formal and [word.form for word in opening.source] != ["when"]:
        asked = inverted(subject, core, group)
    else:
        asked = (*elidable("est-ce que", group.key), *subject.target, *core)
    return join(opening, Pair((*front, *subject.source, *after), (*asked, *rest)))


_INVERTED = ("-je", "-tu", "-il", "-nous", "-vous", "-ils", "-elle", "-elles")


def inverted(subject: NounPhrase, core: Words, group: Group) -> Words:
    """Subject pronoun after the finite verb, doubling a noun: ``le ministre a-t-il``; ``-t-`` between vowels."""
    if subject.target_person == 0:
        return (*elidable("est-ce que", group.key), *subject.target, *core)
    slot = subject.target_person
    if slot in (2, 5) and subject.feminine:
        slot = 6 if slot == 2 else 7
    finite_key = group.modal_key if group.tense == "modal" else group.key
    position = next(i for i, word in enumerate(core) if finite_key in word.keys and word.form not in REFLEXIVES)
    finite = core[position]
    pronoun = _INVERTED[slot]
    linking = "-t" if pronoun[1] in "ei" and finite.form[-1] in "aec" else ""
    keys = (*finite.keys, *((subject.key,) if subject.clitics else ()))
    joined = Word(f"{finite.form}{linking}{pronoun}", keys)
    before = () if subject.clitics else subject.target
    return (*before, *core[:position], joined, *core[position + 1 :])


_PATTERNS: dict[str, Callable[[Derivation], Pair]] = {
    rule.__name__: rule
    for rule in (
        *(simple, passive, reported, opinion, address, coordinated, subordinate, anaphoric, copular, existential),
        *(percentage, swapped, weather, imperative, question),
    )
}

_OPENABLE = frozenset(("simple", "passive", "copular", "anaphoric", "subordinate", "existential", "coordinated"))


class SentencePair(NamedTuple):
    """Two tokenised sentences and their links (source, target), 0-based."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: list[tuple[int, int]]


def finish(pair: Pair, key: int, mark: str) -> SentencePair:
    """Capital letters, the final mark, elisions settled; links read off the keys."""
    source = resolve((*capitalise(pair.source), Word(mark, (key,))), english_vowel)
    target = resolve((*capitalise(pair.target), Word(mark, (key,))), french_vowel)
    return SentencePair(tuple(word.form for word in source), tuple(word.form for word in target), links(source, target))


def sentence(dice: Dice, domain: Settings) -> SentencePair:
    """One sentence pair of a domain."""
    d = Derivation(dice, domain)
    name = dice.draw(domain.patterns)
    pair = _PATTERNS[name](d)
    if d.needs_cue and d.chance(0.92):
        hint = cue(d)
        pair = join(hint, comma(d), pair) if hint.source and d.chance(0.35) and name in _OPENABLE else join(pair, hint)
    elif name in _OPENABLE and d.chance(domain.adverb * 0.6):
        pair = join(adverb(d, "sentence"), comma(d), pair)
    mark = "?" if name == "question" else "!" if name == "imperative" and d.chance(0.4) else "."
    return finish(pair, d.key(), mark)
