"""Questions and commands."""

from dataclasses import replace

from neural_smt.corpus.grammar.clauses import (
    complete,
    draw_subject,
    draw_verb,
    english_side,
    fit_tense,
    french_side,
    make_group,
)
from neural_smt.corpus.grammar.constituents import NounPhrase
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, words
from neural_smt.corpus.grammar.french import elidable
from neural_smt.corpus.grammar.noun_phrases import common_noun_phrase
from neural_smt.corpus.grammar.pronouns import personal_pronoun
from neural_smt.corpus.grammar.verb_groups import Group


def imperative(d: Derivation) -> Pair:
    """A command: the French present without its subject (and without the -s of -er verbs)."""
    verb = next(v for v in iter(lambda: draw_verb(d, "transitive"), None) if not v.reflexive and "p" in v.subjects)
    group = replace(make_group(d, verb, "present"), tense="present", contracted=True)
    if group.negation is not None:
        group = replace(group, negation=("not", "pas"))
    subject = personal_pronoun(d, 1)
    predicate = replace(complete(d, group), adverb=NOTHING)
    if predicate.direct is not None and predicate.direct.clitics:
        predicate = replace(
            predicate, direct=common_noun_phrase(d, d.kind("o" if "o" in verb.objects else "p"), small=True)
        )
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


_WH = (("why", "pourquoi"), ("when", "quand"), ("where", "où"), ("how", "comment"))


def question(d: Derivation) -> Pair:
    """A yes/no or wh question: ``est-ce que`` in everyday French, inversion in formal French."""
    subject = draw_subject(d, d.dice.choice("ppg")) if not d.chance(0.3) else personal_pronoun(d, 1)
    verb = draw_verb(d, "transitive" if d.chance(0.65) else "intransitive", subject)
    tense = fit_tense(d.dice.choice(("past", "present", "future", "perfect", "modal")), verb)
    opening = d.dice.skewed(_WH) if d.chance(0.4) else None
    group = make_group(d, verb, tense, plain=opening is not None or d.chance(0.7))
    predicate = complete(d, group)
    front, after = english_side(predicate, subject, question=True)
    core, rest = french_side(predicate, subject)
    key = d.key()
    source = (*(words(opening[0], key) if opening else ()), *front, *subject.source, *after)
    lead = words(opening[1], key) if opening else ()
    if d.domain.formal and not (opening and opening[0] == "when"):
        target = (*lead, *inverted(subject, core, group), *rest)
    else:
        target = (*lead, *elidable("est-ce que", group.key), *subject.target, *core, *rest)
    return Pair(source, target)


_INVERTED = ("-je", "-tu", "-il", "-nous", "-vous", "-ils", "-elle", "-elles")


def inverted(subject: NounPhrase, core: Words, group: Group) -> Words:
    """Subject pronoun after the finite verb, doubling a noun: ``le ministre a-t-il``; ``-t-`` between vowels."""
    if subject.target_person == 0:
        return (*elidable("est-ce que", group.key), *subject.target, *core)
    slot = subject.target_person
    if slot in (2, 5) and subject.feminine:
        slot = 6 if slot == 2 else 7
    finite_key = group.modal_key if group.tense == "modal" else group.key
    reflexive = ("se|s'", "nous", "vous", "te|t'", "me|m'")
    position = next(i for i, word in enumerate(core) if finite_key in word.keys and word.form not in reflexive)
    finite = core[position]
    pronoun = _INVERTED[slot]
    linking = "-t" if pronoun[1] in "ei" and finite.form[-1] in "aec" else ""
    keys = (*finite.keys, *((subject.key,) if subject.clitics else ()))
    joined = Word(f"{finite.form}{linking}{pronoun}", keys)
    before = () if subject.clitics else subject.target
    return (*before, *core[:position], joined, *core[position + 1 :])
