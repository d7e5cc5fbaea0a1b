"""Clauses: a subject and what is said about it, in statements, questions, relative clauses and infinitives.

A verb group has auxiliaries, negation, passive, modals and clitics in the order that each language wants.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, expressions, mapping, word_list, words
from neural_smt.corpus.grammar.inflection import DE, NE, QUE, VerbForms, conjugate, participle
from neural_smt.corpus.grammar.lexicon import Derivation, Verb, verb_table
from neural_smt.corpus.grammar.noun_phrases import (
    TENSES,
    NounPhrase,
    adjunct,
    adverb,
    common_noun_phrase,
    coordinated,
    personal_pronoun,
    proper_name,
    time_adjunct,
)

_STATIVE = frozenset(word_list("stative verb"))
"""Verbs of states: their English simple past is a French imparfait."""

_ETRE_VERBS = frozenset(word_list("être verb"))
"""Verbs whose compound tenses take être: their participle agrees with the subject."""

_MODALS = expressions("modal")
"""English modal, French verb and its mood."""

REFLEXIVES = ("me|m'", "te|t'", "se|s'", "nous", "vous", "se|s'")
_CLITIC_ORDER = (REFLEXIVES, ("le|l'", "la|l'", "les"), ("lui", "leur"), ("y",), ("en",))
"""Clitics in the order French wants before the verb: me te se nous vous, le la les, lui leur, y, en."""

_CLITIC_RANKS = {form: rank for rank, forms in enumerate(_CLITIC_ORDER) for form in forms}


@dataclass
class Predicate:
    """What is said about a subject: the choices that shape a verb group, and what stands around it."""

    verb: Verb
    key: int
    finite_key: int  # of the modal where there is one
    tense: str  # a key of TENSES
    modal: tuple[str, str] | None = None
    negation: Pair | None = None
    passive: bool = False
    contracted: bool = False
    direct: NounPhrase | None = None
    indirect: NounPhrase | None = None
    tail: Pair = NOTHING
    adverb: Pair = NOTHING
    adverb_last: tuple[bool, bool] = (False, False)  # (English, French): after the objects instead of mid-clause
    alternate: bool = False  # the other English order: object before particle, recipient before object
    antecedent: NounPhrase | None = None  # of a relative clause whose object is the gap

    def english(self, subject: NounPhrase, question: bool = False) -> tuple[Words, Words]:
        """English words before the subject (questions) and after it."""
        negation = self.negation.source if self.negation else ()
        is_not = [word.form for word in negation] == ["not"]
        finite, middle, main = self._english_verb(subject.source_person, question or is_not)
        auxiliary, front = words(finite, self.finite_key), int(question)
        if finite and negation:
            stem = mapping("before 't").get(finite, f"{finite}n") if is_not and self.contracted else ""
            front += bool(question and stem)
            auxiliary = (*words(stem, self.finite_key), Word("'t", negation[0].keys)) if stem else auxiliary + negation
            negation = ()
        elif finite and not question and self.contracted and subject.clitics and (middle or main):
            auxiliary = words(mapping("shortened").get(finite, finite), self.finite_key)
        mid, last = (NOTHING, self.adverb) if self.adverb_last[0] else (self.adverb, NOTHING)
        verb = words(f"{middle} {main} {self.verb.fixed}", self.key)
        after = negation + mid.source + verb + self._english_objects() + last.source + self.tail.source
        return auxiliary[:front], auxiliary[front:] + after

    def _english_verb(self, person: int, supported: bool) -> tuple[str, str, str]:
        """Finite verb (empty when the main verb is the finite one), middle auxiliary, main verb.

        supported: a question or ``not`` calls for ``do``.
        """
        tense, third = TENSES[self.tense], person == 2
        past = self.tense in ("past", "imperfect", "past_progressive")
        be = ("was" if person in (0, 2) else "were") if past else "am" if person == 0 else "is" if third else "are"
        # what the auxiliaries govern: the verb, or be in the passive
        forms = VerbForms("be", "was", "been") if self.passive else self.verb.forms
        if auxiliary := tense["english"]:
            agreeing = {"be": be, "have": "has" if third else "have", "modal": self.modal[0] if self.modal else ""}
            finite, governed = agreeing.get(auxiliary, auxiliary), getattr(forms, tense["governs"])
        elif forms.base == "be":
            finite, governed = be, ""
        elif supported:
            finite, governed = "did" if past else "does" if third else "do", forms.base
        else:
            finite, governed = "", forms.past if past else forms.third if third else forms.base
        return (finite, governed, self.verb.forms.participle) if self.passive else (finite, "", governed)

    def _english_objects(self) -> Words:
        direct = self.direct.object_words if self.direct else ()
        if self.verb.particle:
            particle = words(self.verb.particle, self.key)
            early = self.direct and (self.direct.clitics or self.alternate) and len(direct) < 5
            direct = direct + particle if early else particle + direct
        if self.indirect is None:
            return direct
        if self.indirect.clitics or self.alternate:
            return self.indirect.object_words + direct
        return direct + words("to", self.indirect.key) + self.indirect.object_words

    def french(self, subject: NounPhrase) -> tuple[Words, Words]:
        """The French verb group from ne to the last participle or infinitive, and what follows it."""
        verb, direct = self.verb, self._direct_clitic()
        indirect, given = self.indirect, Words()
        if indirect is not None and indirect.clitics:
            given, indirect = words(indirect.clitics["indirect"], indirect.key), None
        reflexive = words(REFLEXIVES[subject.target_person] if verb.reflexive else "", self.key)
        clitics = tuple(sorted(reflexive + direct + given, key=lambda word: _CLITIC_RANKS[word.form]))
        objects: Words = ()
        if self.direct is None and self.antecedent is None:
            objects = words(verb.preposition, self.key)
        elif self.direct is not None and not direct:
            objects = self.direct.after(words(verb.preposition, self.key))
        if indirect is not None:
            objects += indirect.after(words("à", indirect.key))

        finite, rest = self._french_verb(subject, self.direct if direct and not verb.preposition else self.antecedent)
        group = words(finite, self.finite_key)
        if self.negation:
            group += self.negation.target
        mid, last = (NOTHING, self.adverb) if self.adverb_last[1] else (self.adverb, NOTHING)
        group = group + mid.target + clitics if self.modal else clitics + group + mid.target
        opening = words(NE, *self.negation.target[0].keys) if self.negation else ()
        group = opening + group + words(f"{rest} {verb.french_fixed}", self.key)
        return group, objects + last.target + self.tail.target

    def _direct_clitic(self) -> Words:
        """The French clitic that stands for the object: ``y`` and ``en`` for things after à and de; none for most."""
        verb, direct = self.verb, self.direct
        if direct is None or direct.clitics is None:
            return ()
        if not verb.preposition:
            form = direct.clitics["direct"]
        elif direct.kind not in ("p", "g"):
            form = {"à": "y", DE: "en"}.get(verb.preposition, "")
        else:
            recipient = verb.preposition == "à" and not verb.reflexive and verb.french != "penser"
            form = direct.clitics["indirect"] if recipient else ""
        return words(form, direct.key)

    def _french_verb(self, subject: NounPhrase, preceding: NounPhrase | None) -> tuple[str, str]:
        """Finite verb, and the participles or (after a modal) the infinitive.

        preceding: a direct object before the verb, with which the participle after avoir agrees.
        """
        verb, person = self.verb.french, subject.target_person
        passive = participle(verb, *subject.agreement) if self.passive else ""
        if self.modal is not None:
            return conjugate(*self.modal[1].split(), person), f"être {passive}" if passive else verb
        mood, compound = TENSES[self.tense]["mood"], TENSES[self.tense]["auxiliary"]
        if not compound:
            return conjugate("être" if passive else verb, mood, person), passive
        if passive:
            return conjugate("avoir", mood, person), f"été {passive}"
        if self.verb.reflexive or verb in _ETRE_VERBS:
            return conjugate("être", mood, person), participle(verb, *subject.agreement)
        return conjugate("avoir", mood, person), participle(verb, *(preceding.agreement if preceding else ()))

    def statement(self, subject: NounPhrase) -> Pair:
        """Subject and predicate."""
        _, after = self.english(subject)
        core, rest = self.french(subject)
        return Pair(subject.source + after, subject.target + core + rest)


def fit_tense(tense: str, verb: Verb) -> str:
    """The nearest tense the verb allows: states have no progressive, and their past is an imparfait."""
    stative = verb.french in _STATIVE
    if tense in ("past", "past_progressive", "imperfect"):
        return "imperfect" if stative else "past_progressive" if tense == "imperfect" else tense
    return "present" if tense == "progressive" and stative else tense


def draw_fitting(d: Derivation, frame: str, fits: Callable[[Verb], bool], tries: int = sys.maxsize) -> Verb:
    """A verb of the frame that fits; the last of so many where none did."""
    table = verb_table(d.domain.letter, frame)
    for _ in range(tries):
        verb = d.dice.draw(table)
        if fits(verb):
            break
    return verb


def draw_verb(d: Derivation, frame: str, subject: NounPhrase | None = None) -> Verb:
    """A verb of the frame that can be said of the subject."""

    def fits(verb: Verb) -> bool:
        return subject is None or subject.kind in verb.subjects or verb.subjects == "*"

    verb = draw_fitting(d, frame, fits, 60)
    return verb if fits(verb) else d.dice.draw(verb_table(d.domain.letter, "transitive"))


def draw_subject(d: Derivation, kinds: str) -> NounPhrase:
    """A pronoun, a name, a common noun, or two names joined."""
    kind = d.kind(kinds.replace("*", "pgtoe"))
    if "p" in kinds and d.chance(d.domain.pronoun_subject):
        return personal_pronoun(d)
    if kind == "p" and d.chance(d.domain.proper_name):
        name = proper_name(d)
        return coordinated(d, name, proper_name(d)) if d.chance(0.06) else name
    return with_relative(d, common_noun_phrase(d, kind, subject=True))


def draw_object(d: Derivation, kinds: str, negated: bool = False, small: bool = False) -> NounPhrase:
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


def predicate_of(d: Derivation, verb: Verb, tense: str | None = None, *, plain: bool = False) -> Predicate:
    """A verb with tense (one of the domain where none is given), negation and modal; ``plain``: without negation."""
    tense = fit_tense(tense or d.dice.draw(d.domain.tenses), verb)
    modal = d.dice.skewed(_MODALS) if tense == "modal" else None
    negated = not plain and d.chance(d.domain.negation) and "ne" not in verb.french_fixed.split()
    key = d.key()
    return Predicate(
        verb=verb,
        key=key,
        finite_key=d.key() if modal else key,
        tense=tense,
        modal=modal,
        negation=d.block(*d.dice.choice(expressions("negation"))) if negated else None,
        contracted=not d.domain.formal and d.chance(0.8),
    )


def complete(
    d: Derivation, predicate: Predicate, *, objects: str | None = None, adjuncts: bool = True, small: bool = False
) -> Predicate:
    """Add to a verb objects, adverb, adjunct and time, as its frame and the domain want.

    ``objects``: classes of nouns in place of the verb's own, none where empty.
    """
    verb, negated = predicate.verb, predicate.negation is not None
    objects = verb.objects if objects is None else objects
    if verb.frame == "dative" and objects:
        predicate.direct = draw_object(d, objects, negated, small=True)
        predicate.indirect = draw_object(d, "ppppg", small=True)
        if predicate.direct.clitics:
            predicate.direct = common_noun_phrase(d, d.kind("ot"), small=True)
    elif objects:
        predicate.direct = draw_object(d, objects, negated and not verb.preposition, small)
    if not negated and d.chance(d.domain.adverb):
        manner = d.chance(0.45) and verb.forms.base != "be"
        predicate.adverb = adverb(d, "manner" if manner else "frequency")
        predicate.adverb_last = (manner and d.chance(0.5), manner and d.chance(0.35))
    if adjuncts and d.chance(d.domain.adjunct):
        predicate.tail = adjunct(d)
    if adjuncts and d.chance(d.domain.time):
        predicate.tail += time_adjunct(d, predicate.tense)
    predicate.alternate = d.chance(0.4)
    return predicate


def _infinitive(d: Derivation, subject: NounPhrase, key: int) -> Pair:
    """``to`` and a verb with its object, which is what follows a modal."""
    verb = draw_verb(d, "transitive" if d.chance(0.75) else "intransitive", subject)
    predicate = complete(d, predicate_of(d, verb, "present", plain=True), adjuncts=False)
    predicate.tense, predicate.modal, predicate.adverb = "modal", _MODALS[0], NOTHING
    _, (_, *source) = predicate.english(subject)
    (_, *target), rest = predicate.french(subject)
    return Pair((*words("to", key), *source), (*target, *rest))


class Clause(NamedTuple):
    """A finished clause, and what later sentences may refer to."""

    pair: Pair
    subject: NounPhrase
    predicate: Predicate


def clause(
    d: Derivation,
    *,
    subject: NounPhrase | None = None,
    tense: str | None = None,
    frame: str | None = None,
    adjuncts: bool = True,
) -> Clause:
    """A statement with a verb of some frame; ``subject`` and ``tense`` are chosen when not given."""
    frame = frame or d.dice.draw(d.domain.frames)
    verb = draw_verb(d, frame, subject)
    predicate = predicate_of(d, verb, tense)
    subject = subject or draw_subject(d, verb.subjects)
    if frame == "infinitive":
        key = d.key()
        inner = _infinitive(d, subject, key)
        predicate.tail = inner._replace(target=words(verb.preposition, predicate.key, key) + inner.target)
        # The preposition is written here, with the link to "to", so the verb must not write its own.
        predicate.verb = replace(verb, preposition="")
    else:
        complete(d, predicate, adjuncts=adjuncts)
    return Clause(predicate.statement(subject), subject, predicate)


def passive(d: Derivation) -> Pair:
    """One clause in the passive, with or without its agent."""

    def fits(verb: Verb) -> bool:
        return not (verb.preposition or verb.reflexive or verb.fixed) and verb.french not in _STATIVE

    verb = draw_fitting(d, "transitive", fits, 60)
    predicate = predicate_of(d, verb)
    predicate.passive = True
    if predicate.tense == "progressive":
        predicate.tense = "present"
    subject = with_relative(d, common_noun_phrase(d, d.kind(verb.objects), subject=True))
    complete(d, predicate, objects="")
    if d.chance(0.45):
        agent = common_noun_phrase(d, d.kind(verb.subjects))
        by = d.block("by", "par")
        predicate.tail = Pair(by.source + agent.source, agent.after(by.target)) + predicate.tail
    return predicate.statement(subject)


def with_relative(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """Sometimes a relative clause: ``who``/``qui`` as subject, ``that``/``que`` as object (the participle agrees)."""
    if d.depth or phrase.clitics or not d.chance(d.domain.relative) or phrase.kind not in "pgtolea":
        return phrase
    d.depth += 1
    key = d.key()
    if d.chance(0.55):
        verb = draw_verb(d, "transitive" if d.chance(0.8) else "intransitive", phrase)
        predicate = predicate_of(d, verb)
        complete(d, predicate, adjuncts=d.chance(0.3), small=True)
        relative = "who" if phrase.kind == "p" else d.dice.choice(("which", "that"))
        pair = predicate.statement(phrase._replace(source=words(relative, key), target=words("qui", key)))
    else:
        pair = _object_relative(d, phrase, key)
    d.depth -= 1
    return phrase._replace(source=phrase.source + pair.source, target=phrase.target + pair.target, simple=False)


def _object_relative(d: Derivation, phrase: NounPhrase, key: int) -> Pair:
    def fits(verb: Verb) -> bool:
        return phrase.kind in verb.objects and not verb.preposition

    verb = draw_fitting(d, "transitive", fits, 60)
    if not fits(verb):
        return NOTHING
    predicate = predicate_of(d, verb, plain=True)
    if d.chance(0.4):
        subject = personal_pronoun(d)
    else:
        subject = common_noun_phrase(d, d.kind(verb.subjects), small=True, choice="the")
    complete(d, predicate, objects="", adjuncts=False)
    predicate.antecedent = phrase
    relative = () if not d.domain.formal and d.chance(0.5) else words("that", key)
    return Pair(relative, words(QUE, key)) + predicate.statement(subject)
