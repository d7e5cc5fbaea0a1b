"""Sentences: statements, questions, commands and what is said in set words; a cue where an ambiguous noun needs one."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from neural_smt.corpus.grammar.clauses import (
    REFLEXIVES,
    Predicate,
    clause,
    complete,
    draw_fitting,
    draw_object,
    draw_subject,
    draw_verb,
    passive,
    predicate_of,
    with_relative,
)
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, expressions, word_list
from neural_smt.corpus.grammar.inflection import elidable, resolve
from neural_smt.corpus.grammar.lexicon import Derivation, Dice, adjective_table, verb_table
from neural_smt.corpus.grammar.noun_phrases import (
    NounPhrase,
    adjunct,
    adverb,
    common_noun_phrase,
    cue,
    personal_pronoun,
    reference,
    time_adjunct,
)
from neural_smt.experiment.settings import Settings

_ATTRIBUTIVE_ONLY = frozenset(word_list("attributive adjective"))
"""Adjectives that are never said of a subject."""


def copular(d: Derivation, subject: NounPhrase | None = None, tense: str | None = None) -> Pair:
    """A subject that is (seems, remains ...) something: an adjective, or a noun phrase after be."""
    subject = subject or draw_subject(d, d.dice.choice("ppgteaaolf"))
    verb = draw_verb(d, "copula", subject if not subject.clitics or subject.kind != "p" else None)
    if verb.subjects != "*" and subject.kind not in verb.subjects:
        verb = verb_table(d.domain.letter, "copula").items[0]
    predicate = predicate_of(d, verb, tense)
    if verb.french == "être" and subject.kind in "taeg" and d.chance(0.25):
        kinds = "a" if subject.kind != "g" else "g"
        attribute = common_noun_phrase(d, kinds, small=d.chance(0.3), choice="the" if d.chance(0.4) else "a")
        predicate.tail = Pair(attribute.source, attribute.target)
    else:
        table = adjective_table(d.domain.letter, subject.kind)
        adjective = next(a for a in iter(lambda: d.dice.draw(table), None) if a.english not in _ATTRIBUTIVE_ONLY)
        degree = adverb(d, "degree") if d.chance(0.35) else NOTHING
        predicate.tail = degree + d.block(adjective.english, adjective.french(*subject.agreement))
    if predicate.negation is None and d.chance(d.domain.adverb * 0.6):
        predicate.adverb = adverb(d, "frequency")
    if d.chance(d.domain.adjunct * 0.5):
        predicate.tail += adjunct(d)
    return predicate.statement(subject)


def _connect(d: Derivation, kind: str, first: Pair, second: Callable[[], Pair], comma_rate: float = 0.3) -> Pair:
    """Two clauses and a conjunction of a kind: coordinate, cause, subordinate."""
    english, french = d.dice.skewed(expressions(f"conjunction {kind}"))
    middle = _comma(d) if d.chance(comma_rate) else NOTHING
    last = second()
    # "si" elides before "il(s)" alone: s'il, but si elle.
    if french == "si" and last.target and last.target[0].form in ("il", "ils"):
        french = "s'"
    return first + middle + d.block(english, french) + last


def _comma(d: Derivation) -> Pair:
    return d.block(",", ",")


def simple(d: Derivation) -> Pair:
    """One clause."""
    return clause(d).pair


def reported(d: Derivation) -> Pair:
    """Somebody says, thinks ... that something is so; English may leave out ``that``."""
    verb = draw_verb(d, "clausal")
    tense = "past" if d.domain.letter == "n" and d.chance(0.75) else d.dice.choice(("past", "perfect", "present"))
    predicate = predicate_of(d, verb, tense, plain=True)
    subject = draw_subject(d, verb.subjects)
    d.depth += 1
    inner = copular(d) if d.chance(0.25) else passive(d) if d.chance(d.domain.passive) else simple(d)
    d.depth -= 1
    that = d.block("that", "que")
    predicate.tail = (that._replace(source=()) if d.chance(0.35) else that) + inner
    return predicate.statement(subject)


def coordinated(d: Derivation) -> Pair:
    """Two clauses joined by and, but ... in the same tense."""
    first = clause(d, adjuncts=d.chance(0.3))
    tense = first.predicate.tense
    return _connect(d, "coordinate", first.pair, lambda: clause(d, tense=tense, adjuncts=d.chance(0.5)).pair)


def subordinate(d: Derivation) -> Pair:
    """A clause and its reason, time or condition."""
    first = clause(d, adjuncts=d.chance(0.3))
    tense = first.predicate.tense
    tense = "present" if tense in ("future", "modal", "conditional", "perfect") else tense

    def second() -> Pair:
        return copular(d, tense=tense) if d.chance(0.3) else clause(d, tense=tense, adjuncts=d.chance(0.4)).pair

    return _connect(d, "subordinate", first.pair, second, comma_rate=0.1)


def anaphoric(d: Derivation) -> Pair:
    """Two clauses; a pronoun of the second takes up a noun of the first, whose gender decides its French form."""
    tense = d.dice.choice(("past", "past", "perfect", "present", "future"))
    pair, subject, predicate = clause(d, frame="transitive", adjuncts=False, tense=tense)
    tense = predicate.tense
    antecedent = predicate.direct if predicate.direct and not predicate.direct.clitics else None
    roll = d.dice.fraction()
    if antecedent and antecedent.kind != "p" and roll < 0.45:
        tense = "past" if tense in ("past", "imperfect", "pluperfect") else "present"
        return _connect(d, "cause", pair, lambda: copular(d, reference(d, antecedent), tense), 0.1)
    if antecedent and roll < 0.75:
        return _connect(d, "coordinate", pair, lambda: _with_object(d, antecedent, tense))
    return _connect(d, "coordinate", pair, lambda: clause(d, subject=reference(d, subject), tense=tense).pair)


def _with_object(d: Derivation, antecedent: NounPhrase, tense: str) -> Pair:
    """A clause whose object is a pronoun for the antecedent."""
    verb = draw_fitting(d, "transitive", lambda verb: antecedent.kind in verb.objects, 80)
    predicate = predicate_of(d, verb, tense)
    subject = draw_subject(d, verb.subjects)
    complete(d, predicate, objects="", adjuncts=d.chance(0.5))
    predicate.direct = reference(d, antecedent)
    return predicate.statement(subject)


def existential(d: Derivation) -> Pair:
    """``there is``/``il y a``."""
    phrase = common_noun_phrase(d, d.kind("peaotl"), choice=d.dice.choice(("a", "zero")))
    past, plural = d.chance(0.5), phrase.source_person == 5
    be = ("were" if plural else "was") if past else ("are" if plural else "is")
    opening = d.block(f"there {be}", "il y avait" if past else "il y a")
    place = adjunct(d)
    time = time_adjunct(d, "past" if past else "present") if d.chance(0.3) else NOTHING
    return opening + Pair(phrase.source, phrase.target) + place + time


def percentage(d: Derivation) -> Pair:
    """Figures that rise and fall: a comma is French for the decimal point."""
    changes = word_list("percentage verb")
    predicate = predicate_of(d, draw_fitting(d, "intransitive", lambda verb: verb.french in changes), plain=True)
    subject = with_relative(d, common_noun_phrase(d, "m", subject=True))
    english = str(d.dice.integer(2, 60)) if d.chance(0.6) else f"{d.dice.integer(1, 12)}.{d.dice.integer(1, 9)}"
    amount = d.block("by", "de") + d.block(english, english.replace(".", ",")) + d.block("%", "%")
    complete(d, predicate, adjuncts=False)
    predicate.tail = amount + time_adjunct(d, predicate.tense)
    return predicate.statement(subject)


def swapped(d: Derivation) -> Pair:
    """``John misses his sister``: in French the sister is the subject."""
    verb = draw_verb(d, "swapped")
    predicate = predicate_of(d, verb, d.dice.choice(("present", "past")))
    experiencer, stimulus = draw_subject(d, "p"), draw_object(d, verb.objects, small=True)
    if stimulus.clitics:
        stimulus = common_noun_phrase(d, "p", small=True, choice="possessive")
    _, after = replace(predicate, direct=stimulus).english(experiencer)
    mirrored = replace(predicate, verb=replace(verb, preposition=""), indirect=experiencer)
    core, rest = mirrored.french(stimulus)
    return Pair(experiencer.source + after, stimulus.target + core + rest)


def opinion(d: Derivation) -> Pair:
    """I believe that ..., there is no doubt that ..."""
    opening = d.block(*d.dice.skewed(expressions("opinion")))
    return opening + (copular(d) if d.chance(0.35) else passive(d) if d.chance(0.2) else simple(d))


def address(d: Derivation) -> Pair:
    """A speaker turns to the chair or the house."""
    opening = d.block(*d.dice.skewed(expressions("address"))) + _comma(d)
    return opening + d.dice.choice((opinion, opinion, simple, copular, passive))(d)


def weather(d: Derivation) -> Pair:
    """It rains cats and dogs: in French, ropes."""
    pair = d.block(*d.dice.skewed(expressions("weather")))
    return pair + adjunct(d) if d.chance(0.7) else pair


def imperative(d: Derivation) -> Pair:
    """A command: the French present without its subject (and without the -s of -er verbs)."""
    verb = draw_fitting(d, "transitive", lambda verb: not verb.reflexive and "p" in verb.subjects)
    predicate = predicate_of(d, verb, "present")
    if predicate.negation is not None:
        predicate.negation = d.block("not", "pas")
    subject = personal_pronoun(d, 1)
    complete(d, predicate)
    if predicate.direct is not None and predicate.direct.clitics:
        predicate.direct = common_noun_phrase(d, d.kind("o" if "o" in verb.objects else "p"), small=True)
    predicate.tense, predicate.contracted, predicate.adverb = "present", True, NOTHING
    _, after = predicate.english(subject)
    core, rest = predicate.french(subject)
    if verb.french.endswith("er"):
        verbs = [word.form.endswith("es") and predicate.key in word.keys for word in core]
        core = tuple(w._replace(form=w.form[:-1]) if verb else w for w, verb in zip(core, verbs, strict=True))
    return Pair(after, core + rest)


def question(d: Derivation) -> Pair:
    """A yes/no or wh question: ``est-ce que`` in everyday French, inversion in formal French."""
    subject = draw_subject(d, d.dice.choice("ppg")) if not d.chance(0.3) else personal_pronoun(d, 1)
    verb = draw_verb(d, "transitive" if d.chance(0.65) else "intransitive", subject)
    tense = d.dice.choice(("past", "present", "future", "perfect", "modal"))
    opening = d.block(*d.dice.skewed(expressions("question"))) if d.chance(0.4) else NOTHING
    predicate = complete(d, predicate_of(d, verb, tense, plain=opening is not NOTHING or d.chance(0.7)))
    front, after = predicate.english(subject, question=True)
    core, rest = predicate.french(subject)
    if d.domain.formal and subject.target_person and [word.form for word in opening.source] != ["when"]:
        asked = inverted(subject, core, predicate)
    else:
        asked = elidable("est-ce que", predicate.key) + subject.target + core
    return opening + Pair(front + subject.source + after, asked + rest)


def inverted(subject: NounPhrase, core: Words, predicate: Predicate) -> Words:
    """Subject pronoun after the finite verb, doubling a noun: ``le ministre a-t-il``; ``-t-`` between vowels.

    Not for ``je``: the caller uses *est-ce que*.
    """
    third = ("elle" if subject.feminine else "il") + ("s" if subject.plural else "")
    pronoun = {1: "tu", 3: "nous", 4: "vous"}.get(subject.target_person, third)
    key = predicate.finite_key
    position = next(i for i, word in enumerate(core) if key in word.keys and word.form not in REFLEXIVES)
    finite = core[position]
    linking = "-t" if pronoun[0] in "ei" and finite.form[-1] in "aec" else ""
    keys = (*finite.keys, *((subject.key,) if subject.clitics else ()))
    joined = Word(f"{finite.form}{linking}-{pronoun}", keys)
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
    """Capital letters, the final mark, elisions settled; words of both sides that share a key are linked."""
    sides = []
    for language, (first, *rest) in zip(("en", "fr"), pair, strict=True):
        capital = "|".join(form[:1].upper() + form[1:] for form in first.form.split("|"))
        sides.append(resolve((first._replace(form=capital), *rest, Word(mark, (key,))), language))
    source, target = sides
    positions: dict[int, list[int]] = {}
    for j, word in enumerate(target):
        for key in word.keys:
            positions.setdefault(key, []).append(j)
    links = {(i, j) for i, word in enumerate(source) for key in word.keys for j in positions.get(key, ())}
    return SentencePair(tuple(word.form for word in source), tuple(word.form for word in target), sorted(links))


def sentence(dice: Dice, domain: Settings) -> SentencePair:
    """One sentence pair of a domain."""
    d = Derivation(dice, domain)
    name = dice.draw(domain.patterns)
    pair = _PATTERNS[name](d)
    if d.needs_cue and d.chance(0.92):
        hint = cue(d)
        pair = hint + _comma(d) + pair if hint.source and d.chance(0.35) and name in _OPENABLE else pair + hint
    elif name in _OPENABLE and d.chance(domain.adverb * 0.6):
        pair = adverb(d, "sentence") + _comma(d) + pair
    mark = "?" if name == "question" else "!" if name == "imperative" and d.chance(0.4) else "."
    return finish(pair, d.key(), mark)
