"""Clauses: a subject and what is said about it, in statements, questions, relative clauses and infinitives."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, expressions, join, word_list, words
from neural_smt.corpus.grammar.french import DE, QUE
from neural_smt.corpus.grammar.lexicon import Verb
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, coordinated, personal_pronoun, proper_name
from neural_smt.corpus.grammar.phrases import adjunct, adverb, common_noun_phrase, time_adjunct
from neural_smt.corpus.grammar.verb_groups import (
    MODALS,
    REFLEXIVES,
    Group,
    english_group,
    french_core,
    french_group,
    negate_english,
    shorten,
)

_STATIVE = frozenset(word_list("stative verb"))
"""Verbs of states: their English simple past is a French imparfait."""

_FRAMES = {"transitive": 0.62, "intransitive": 0.82, "dative": 0.89, "infinitive": 0.96, "verbal": 1.0}
"""Frames of verbs and their cumulative probabilities."""


@dataclass(frozen=True)
class Predicate:
    """What is said about a subject."""

    group: Group
    direct: NounPhrase | None = None
    indirect: NounPhrase | None = None
    tail: Pair = NOTHING
    adverb: Pair = NOTHING
    adverb_last: tuple[bool, bool] = (False, False)  # (English, French): after the objects instead of mid-clause
    alternate: bool = False  # the other English order: object before particle, recipient before object
    antecedent: NounPhrase | None = None  # of a relative clause whose object is the gap


class Clause(NamedTuple):
    """A finished clause, the phrases later sentences may refer to, and its tense."""

    pair: Pair
    subject: NounPhrase
    direct: NounPhrase | None
    tense: str


def fit_tense(tense: str, verb: Verb) -> str:
    """The nearest tense the verb allows: states have no progressive, and their past is an imparfait."""
    stative = verb.french in _STATIVE
    if tense in ("past", "past_progressive", "imperfect"):
        return "imperfect" if stative else "past_progressive" if tense == "imperfect" else tense
    return "present" if tense == "progressive" and stative else tense


def draw_fitting(d: Derivation, frame: str, fits: Callable[[Verb], bool], tries: int | None = 60) -> Verb:
    """A verb of the frame that fits; the last of so many where none did (None: as many as it takes)."""
    table = d.lexicon.verb_table(frame)
    for _ in repeat(None) if tries is None else range(tries):
        verb = d.dice.draw(table)
        if fits(verb):
            break
    return verb


def draw_verb(d: Derivation, frame: str, subject: NounPhrase | None = None) -> Verb:
    """A verb of the frame that can be said of the subject."""

    def fits(verb: Verb) -> bool:
        return subject is None or subject.kind in verb.subjects or verb.subjects == "*"

    verb = draw_fitting(d, frame, fits)
    return verb if fits(verb) else d.dice.draw(d.lexicon.verb_table("transitive"))


def draw_subject(d: Derivation, kinds: str) -> NounPhrase:
    """A pronoun, a name, a common noun, or two names joined."""
    kind = d.kind(kinds.replace("*", "pgtoe"))
    if "p" in kinds and d.chance(d.domain.pronoun_subject):
        return personal_pronoun(d)
    if kind == "p" and d.chance(d.domain.proper_name):
        name = proper_name(d)
        return coordinated(d, name, proper_name(d)) if d.chance(0.06) else name
    return with_relative(d, common_noun_phrase(d, kind, subject=True))


def draw_object(d: Derivation, kinds: str, negated: bool, small: bool = False) -> NounPhrase:
    """An object: a person is sometimes a pronoun or a name."""
    kind = d.kind(kinds or "o")
    if kind == "p":
        if d.chance(d.domain.pronoun_subject * 0.45):
            return personal_pronoun(d, d.dice.choice((0, 2, 2, 3, 5)))
        if d.chance(d.domain.proper_name):
            return proper_name(d)
    phrase = common_noun_phrase(d, kind, negated=negated, small=small)
    if not small and phrase.simple and d.chance(0.05):
        return coordinated(d, phrase, common_noun_phrase(d, kind, small=True, choice="the"))
    return phrase if small else with_relative(d, phrase)


def make_group(d: Derivation, verb: Verb, tense: str | None = None, *, plain: bool = False) -> Group:
    """Tense (one of the domain where none is given), negation and modal of a verb; ``plain``: without negation."""
    tense = fit_tense(tense or d.dice.draw(d.domain.tenses), verb)
    modal = d.dice.skewed(MODALS) if tense == "modal" else None
    negated = not plain and d.chance(d.domain.negation) and "ne" not in verb.french_fixed.split()
    return Group(
        verb=verb,
        key=d.key(),
        tense=tense,
        negation=d.dice.choice(expressions("negation")) if negated else None,
        negation_key=d.key(),
        modal=modal,
        modal_key=d.key(),
        contracted=not d.domain.formal and d.chance(0.8),
    )


def complete(
    d: Derivation, group: Group, *, objects: str | None = None, adjuncts: bool = True, small: bool = False
) -> Predicate:
    """Objects, an infinitive, adverb, adjunct and time for a verb, as its frame and the domain want.

    ``objects``: classes of nouns in place of the verb's own, none where empty.
    """
    verb = group.verb
    objects = verb.objects if objects is None else objects
    negated = group.negation is not None
    direct = indirect = None
    tail = NOTHING
    if verb.frame == "dative" and objects:
        direct = draw_object(d, objects, negated, small=True)
        indirect = draw_object(d, "ppppg", False, small=True)
        if direct.clitics:
            direct = common_noun_phrase(d, d.kind("ot"), small=True)
    elif objects:
        direct = draw_object(d, objects, negated and not verb.preposition, small)
    chosen, last = NOTHING, (False, False)
    if not negated and d.chance(d.domain.adverb):
        manner = d.chance(0.45) and not verb.copular
        chosen = adverb(d, "manner" if manner else "frequency")
        last = (manner and d.chance(0.5), manner and d.chance(0.35))
    if adjuncts and d.chance(d.domain.adjunct):
        tail = adjunct(d)
    if adjuncts and d.chance(d.domain.time):
        tail = join(tail, time_adjunct(d, group.tense))
    return Predicate(group, direct, indirect, tail, chosen, last, alternate=d.chance(0.4))


def _pronoun_clitics(predicate: Predicate, subject: NounPhrase) -> tuple[Words, bool, bool]:
    """French clitics, and whether they stand for the direct and the indirect object."""
    verb = predicate.group.verb
    clitics: Words = words(REFLEXIVES[subject.target_person], predicate.group.key) if verb.reflexive else ()
    direct, indirect = predicate.direct, predicate.indirect
    direct_done = indirect_done = False
    if direct is not None and direct.clitics is not None and not predicate.group.passive:
        form = _direct_clitic(verb, direct)
        if form:
            clitics += words(form, direct.key)
            direct_done = True
    if indirect is not None and indirect.clitics is not None:
        clitics += words(indirect.clitics.indirect, indirect.key)
        indirect_done = True
    return clitics, direct_done, indirect_done


def _direct_clitic(verb: Verb, direct: NounPhrase) -> str:
    assert direct.clitics is not None
    if not verb.preposition:
        return direct.clitics.direct
    person = direct.kind in ("p", "g")
    if verb.preposition == "à":
        if not person:
            return "y"
        return "" if verb.reflexive or verb.french == "penser" else direct.clitics.indirect
    return "en" if verb.preposition == DE and not person else ""


def english_side(predicate: Predicate, subject: NounPhrase, question: bool = False) -> tuple[Words, Words]:
    """English words before the subject (questions) and after it."""
    group, verb = predicate.group, predicate.group.verb
    supported = question or (group.negation is not None and group.negation[0] == "not")
    finite, middle, main = english_group(group, subject.source_person, supported)
    auxiliary, negated = negate_english(group, finite)
    if auxiliary and not negated and not question and group.contracted and subject.clitics and (middle or main):
        auxiliary = shorten(auxiliary)
    inner: Words = ()
    if group.negation and not negated:
        inner = words(group.negation[0], group.negation_key)
    at_end = predicate.adverb_last[0]
    if not at_end:
        inner += predicate.adverb.source
    core = (*inner, *words(middle, group.key), *words(f"{main} {verb.fixed}", group.key))
    after = (*core, *_english_objects(predicate), *(predicate.adverb.source if at_end else ()), *predicate.tail.source)
    contracted = len(auxiliary) > 1 and auxiliary[1].form == "'t"
    front = 0 if not question else 2 if contracted else 1
    return auxiliary[:front], (*auxiliary[front:], *after)


def _english_objects(predicate: Predicate) -> Words:
    verb = predicate.group.verb
    direct = predicate.direct.object_words if predicate.direct and not predicate.group.passive else ()
    indirect = predicate.indirect
    if verb.particle:
        particle = words(verb.particle, predicate.group.key)
        early = predicate.direct is not None and (predicate.direct.clitics is not None or predicate.alternate)
        direct = (*direct, *particle) if early and len(direct) < 5 else (*particle, *direct)
    if indirect is None:
        return direct
    if indirect.clitics is not None or predicate.alternate:
        return (*indirect.object_words, *direct)
    return (*direct, Word("to", (indirect.key,)), *indirect.object_words)


def french_side(predicate: Predicate, subject: NounPhrase) -> tuple[Words, Words]:
    """The French verb group from ne to participle, and what follows it."""
    group, verb = predicate.group, predicate.group.verb
    clitics, direct_done, indirect_done = _pronoun_clitics(predicate, subject)
    preceding = None
    if direct_done and predicate.direct is not None and not verb.preposition:
        preceding = predicate.direct.agreement
    elif predicate.antecedent is not None:
        preceding = predicate.antecedent.agreement
    forms = french_group(group, subject.target_person, subject.agreement, preceding)
    at_end = predicate.adverb_last[1]
    core = french_core(group, forms, clitics, () if at_end else predicate.adverb.target)
    return core, (
        *_french_objects(predicate, direct_done, indirect_done),
        *(predicate.adverb.target if at_end else ()),
        *predicate.tail.target,
    )


def _french_objects(predicate: Predicate, direct_done: bool, indirect_done: bool) -> Words:
    verb = predicate.group.verb
    result: Words = ()
    if predicate.direct is not None and not direct_done and not predicate.group.passive:
        result = predicate.direct.after(words(verb.preposition, predicate.group.key))
    elif verb.preposition and predicate.direct is None and predicate.antecedent is None:
        result = words(verb.preposition, predicate.group.key)
    if predicate.indirect is not None and not indirect_done:
        result += predicate.indirect.after(words("à", predicate.indirect.key))
    return result


def state(predicate: Predicate, subject: NounPhrase) -> Pair:
    """Subject and predicate as a statement."""
    _, after = english_side(predicate, subject)
    core, rest = french_side(predicate, subject)
    return Pair((*subject.source, *after), (*subject.target, *core, *rest))


def infinitive(d: Derivation, subject: NounPhrase, key: int) -> Pair:
    """``to`` and a verb with its object; French reflexives agree with the subject, clitics precede the infinitive."""
    verb = draw_verb(d, "transitive" if d.chance(0.75) else "intransitive", subject)
    group = replace(make_group(d, verb, "present", plain=True), tense="modal", modal=MODALS[0])
    predicate = replace(complete(d, group, adjuncts=False), adverb=NOTHING)
    clitics, direct_done, indirect_done = _pronoun_clitics(predicate, subject)
    source = (*words("to", key), *words(f"{verb.forms.base} {verb.fixed}", group.key), *_english_objects(predicate))
    target = (
        *clitics,
        *words(f"{verb.french} {verb.french_fixed}", group.key),
        *_french_objects(predicate, direct_done, indirect_done),
    )
    return Pair(source, target)


def clause(
    d: Derivation,
    *,
    subject: NounPhrase | None = None,
    tense: str | None = None,
    frame: str | None = None,
    adjuncts: bool = True,
    small: bool = False,
) -> Clause:
    """A statement with a verb of some frame; ``subject`` and ``tense`` are chosen when not given."""
    if frame is None:
        roll = d.dice.fraction()
        frame = next(name for name, limit in _FRAMES.items() if roll < limit)
    verb = draw_verb(d, frame, subject)
    group = make_group(d, verb, tense)
    subject = subject or draw_subject(d, verb.subjects)
    if frame == "infinitive":
        key = d.key()
        inner = infinitive(d, subject, key)
        linked = words(verb.preposition, group.key, key)
        # The preposition is written here, with the link to "to", so the verb must not write its own.
        bare = replace(group, verb=replace(verb, preposition=""))
        predicate = Predicate(bare, tail=Pair(inner.source, (*linked, *inner.target)))
    else:
        predicate = complete(d, group, adjuncts=adjuncts, small=small)
    return Clause(state(predicate, subject), subject, predicate.direct, group.tense)


def passive_clause(d: Derivation, tense: str | None = None) -> Clause:
    """A passive statement, with or without its agent."""

    def fits(verb: Verb) -> bool:
        return not (verb.preposition or verb.reflexive or verb.fixed) and verb.french not in _STATIVE

    verb = draw_fitting(d, "transitive", fits)
    group = make_group(d, verb, tense)
    group = replace(group, passive=True, tense={"progressive": "present"}.get(group.tense, group.tense))
    subject = with_relative(d, common_noun_phrase(d, d.kind(verb.objects), subject=True))
    predicate = complete(d, group, objects="")
    if d.chance(0.45):
        agent = common_noun_phrase(d, d.kind(verb.subjects))
        by = d.block("by", "par")
        by = Pair((*by.source, *agent.source), agent.after(by.target))
        predicate = replace(predicate, tail=join(by, predicate.tail))
    return Clause(state(predicate, subject), subject, None, group.tense)


def with_relative(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """Sometimes a relative clause: ``who``/``qui`` as subject, ``that``/``que`` as object (the participle agrees)."""
    if d.depth or phrase.clitics or not d.chance(d.domain.relative) or phrase.kind not in "pgtolea":
        return phrase
    d.depth += 1
    key = d.key()
    if d.chance(0.55):
        verb = draw_verb(d, "transitive" if d.chance(0.8) else "intransitive", phrase)
        group = make_group(d, verb)
        predicate = complete(d, group, adjuncts=d.chance(0.3), small=True)
        relative = "who" if phrase.kind == "p" else d.dice.choice(("which", "that"))
        gap = replace(phrase, source=words(relative, key), target=words("qui", key), clitics=None)
        pair = state(predicate, gap)
    else:
        pair = _object_relative(d, phrase, key)
    d.depth -= 1
    return replace(phrase, source=(*phrase.source, *pair.source), target=(*phrase.target, *pair.target), simple=False)


def _object_relative(d: Derivation, phrase: NounPhrase, key: int) -> Pair:
    def fits(verb: Verb) -> bool:
        return phrase.kind in verb.objects and not verb.preposition

    verb = draw_fitting(d, "transitive", fits)
    if not fits(verb):
        return NOTHING
    group = make_group(d, verb, plain=True)
    if d.chance(0.4):
        subject = personal_pronoun(d)
    else:
        subject = common_noun_phrase(d, d.kind(verb.subjects), small=True, choice="the")
    predicate = replace(complete(d, group, objects="", adjuncts=False), antecedent=phrase)
    pair = state(predicate, subject)
    relative = () if not d.domain.formal and d.chance(0.5) else words("that", key)
    return Pair((*relative, *pair.source), (*words(QUE, key), *pair.target))


def that_clause(d: Derivation, inner: Pair) -> Pair:
    """``that``/``que`` before a clause; English may leave it out."""
    that = d.block("that", "que")
    return Pair(inner.source if d.chance(0.35) else (*that.source, *inner.source), (*that.target, *inner.target))
