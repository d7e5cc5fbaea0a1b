"""Whole sentences: the patterns a domain combines clauses into, punctuation, and the cue an ambiguous noun needs."""

from collections.abc import Callable
from dataclasses import replace

from neural_smt.corpus.grammar.adjuncts import adjunct, block, comma, cue, join, time_adjunct
from neural_smt.corpus.grammar.clauses import (
    Predicate,
    clause,
    complete,
    draw_object,
    draw_subject,
    draw_verb,
    english_side,
    fit_tense,
    french_side,
    make_group,
    passive_clause,
    reference,
    state,
    that_clause,
    with_relative,
)
from neural_smt.corpus.grammar.derivation import Derivation, Dice
from neural_smt.corpus.grammar.domains import Domain
from neural_smt.corpus.grammar.english import vowel_sound as english_vowel
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, Word, Words, capitalise, links, resolve, words
from neural_smt.corpus.grammar.french import elidable
from neural_smt.corpus.grammar.french import vowel_sound as french_vowel
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, common_noun_phrase, personal_pronoun

_ATTRIBUTIVE_ONLY = frozenset(
    [
        "first",
        "last",
        "other",
        "same",
        "next",
        "main",
        "real",
        "former",
        "current",
        "great",
        "little",
        "favourite",
        "whole",
        "joint",
        "honourable",
        "historic",
        "annual",
        "federal",
        "large",
        "broad",
        "global",
        "recent",
        "legislative",
        "parliamentary",
        "foreign",
        "military",
    ]
)
_CONJUNCTIONS = {
    "coordinate": (("and", "et"), ("but", "mais"), ("so", "donc"), ("yet", "pourtant")),
    "cause": (("because", "parce que"), ("since", "puisque"), ("as", "comme")),
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


def _simple(d: Derivation) -> Pair:
    return clause(d).pair


def _passive(d: Derivation) -> Pair:
    return passive_clause(d).pair


def _reported(d: Derivation) -> Pair:
    verb = draw_verb(d, "clausal")
    tense = "past" if d.domain.letter == "n" and d.chance(0.75) else d.dice.choice(("past", "perfect", "present"))
    group = make_group(d, verb, tense, plain=True)
    subject = draw_subject(d, verb.subjects)
    d.depth += 1
    inner = copular(d) if d.chance(0.25) else passive_clause(d).pair if d.chance(d.domain.passive) else clause(d).pair
    d.depth -= 1
    return state(Predicate(group, tail=that_clause(d, inner, optional=True)), subject)


_OPINIONS = (
    "I believe that=je.1 crois.2 que.3:I.1 believe.2 that.3",
    "I think that=je.1 pense.2 que.3:I.1 think.2 that.3",
    "we know that=nous.1 savons.2 que.3:we.1 know.2 that.3",
    "I would like to stress that=je.1 voudrais.2 souligner.3 que.4:I.1 would.2 like.2 to.3 stress.3 that.4",
    "it is clear that=il.1 est.2 clair.3 que.4:it.1 is.2 clear.3 that.4",
    "there is no doubt that=il ne fait aucun doute que:there is no doubt that",
    "my group considers that=mon.1 groupe.2 estime.3 que.4:my.1 group.2 considers.3 that.4",
    "I am convinced that=je.1 suis.2 convaincu.3 que.4:I.1 am.2 convinced.3 that.4",
    "I have to say that=je.1 dois.2 dire.3 que.4:I.1 have.2 to.2 say.3 that.4",
    "let me remind you that=permettez-moi.1 de.2 vous.3 rappeler.2 que.4:let.1 me.1 remind.2 you.3 that.4",
)
_ADDRESSES = (
    ("Mr President", "Monsieur le Président"),
    ("Madam President", "Madame la Présidente"),
    ("ladies and gentlemen", "Mesdames et Messieurs"),
    ("Commissioner", "Monsieur le Commissaire"),
    ("Mr Speaker", "Monsieur le Président"),
    ("honourable members", "chers collègues"),
)
"""How speeches in parliaments begin."""


def _labelled(d: Derivation, source: str, target: str) -> Pair:
    from neural_smt.corpus.grammar.adjuncts import numbered

    pair = numbered(d, source, target)
    elided = {"que": "que|qu'", "je": "je|j'", "de": "de|d'"}
    return Pair(pair.source, tuple(word._replace(form=elided.get(word.form, word.form)) for word in pair.target))


def _opinion(d: Derivation) -> Pair:
    _, _, texts = d.dice.skewed(_OPINIONS).partition("=")
    target, _, source = texts.partition(":")
    opening = _labelled(d, source, target)
    inner = copular(d) if d.chance(0.35) else passive_clause(d).pair if d.chance(0.2) else clause(d).pair
    return join(opening, inner)


def _address(d: Derivation) -> Pair:
    english, french = d.dice.skewed(_ADDRESSES)
    key = d.key()
    rest = d.dice.choice((_opinion, _opinion, _simple, copular, _passive))(d)
    return join(Pair(words(english, key), words(french, key)), comma(d), rest)


def _coordinated(d: Derivation) -> Pair:
    first = clause(d, adjuncts=d.chance(0.3))
    return _connect(d, "coordinate", first.pair, lambda: clause(d, tense=first.tense, adjuncts=d.chance(0.5)).pair)


def _subordinate(d: Derivation) -> Pair:
    first = clause(d, adjuncts=d.chance(0.3))
    tense = first.tense if first.tense not in ("future", "modal", "conditional", "perfect") else "present"

    def second() -> Pair:
        return copular(d, tense=tense) if d.chance(0.3) else clause(d, tense=tense, adjuncts=d.chance(0.4)).pair

    return _connect(d, "subordinate", first.pair, second, comma_rate=0.1)


def _anaphoric(d: Derivation) -> Pair:
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


def _existential(d: Derivation) -> Pair:
    """``there is``/``il y a``."""
    phrase = common_noun_phrase(d, d.kind("peaotl"), choice=d.dice.choice(("a", "zero")))
    key, past = d.key(), d.chance(0.5)
    plural = phrase.source_person == 5
    be = ("were" if plural else "was") if past else ("are" if plural else "is")
    opening = Pair(words(f"there {be}", key), words("il y avait" if past else "il y a", key))
    tail = join(adjunct(d), time_adjunct(d, "past" if past else "present") if d.chance(0.3) else NOTHING)
    return join(opening, Pair(phrase.source, phrase.target), tail)


def _percentage(d: Derivation) -> Pair:
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


def _swapped(d: Derivation) -> Pair:
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


_WEATHER = (
    ("it.1 is.2 raining.2 cats.3 and.3 dogs.3", "il.1 pleut.2 des.3 cordes.3"),
    ("it.1 is.2 cold.3", "il.1 fait.2 froid.3"),
    ("it.1 was.2 very.4 hot.3", "il.1 faisait.2 très.4 chaud.3"),
    ("it.1 is.2 snowing.2", "il.1 neige.2"),
    ("it.1 was.2 raining.2", "il.1 pleuvait.2"),
    ("the.1 sun.2 is.3 shining.3", "le.1 soleil.2 brille.3"),
    ("it.1 will.2 be.2 windy.3", "il.1 y.2 aura.2 du.3 vent.3"),
)


def _weather(d: Derivation) -> Pair:
    pair = _labelled(d, *d.dice.skewed(_WEATHER))
    return join(pair, adjunct(d)) if d.chance(0.7) else pair


def _imperative(d: Derivation) -> Pair:
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


def _question(d: Derivation) -> Pair:
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
        target = (*lead, *_inverted(d, subject, core, group), *rest)
    else:
        que = words("est-ce", group.key), elidable("que", group.key)
        target = (*lead, *que[0], *que[1], *subject.target, *core, *rest)
    return Pair(source, target)


_INVERTED = ("-je", "-tu", "-il", "-nous", "-vous", "-ils", "-elle", "-elles")


def _inverted(d: Derivation, subject: NounPhrase, core: Words, group) -> Words:
    """Subject pronoun after the finite verb, doubling a noun: ``le ministre a-t-il``; ``-t-`` between vowels."""
    if subject.target_person == 0:
        return (*words("est-ce", group.key), *elidable("que", group.key), *subject.target, *core)
    slot = subject.target_person
    if slot in (2, 5) and subject.feminine:
        slot = 6 if slot == 2 else 7
    finite_key = group.modal_key if group.tense == "modal" else group.key
    reflexive = ("se|s'", "nous", "vous", "te|t'", "me|m'")
    position = next(i for i, word in enumerate(core) if finite_key in word.keys and word.form not in reflexive)
    finite = core[position]
    pronoun = _INVERTED[slot]
    linking = "-t" if pronoun[1] in "ei" and finite.form[-1] in "aecé" and finite.form[-1] != "t" else ""
    keys = (*finite.keys, *((subject.key,) if subject.clitics else ()))
    joined = Word(f"{finite.form}{linking}{pronoun}", keys)
    before = () if subject.clitics else subject.target
    return (*before, *core[:position], joined, *core[position + 1 :])


_PATTERNS: dict[str, Callable[[Derivation], Pair]] = {
    "simple": _simple,
    "passive": _passive,
    "reported": _reported,
    "opinion": _opinion,
    "address": _address,
    "coordinated": _coordinated,
    "subordinate": _subordinate,
    "anaphoric": _anaphoric,
    "copular": copular,
    "existential": _existential,
    "percentage": _percentage,
    "swapped": _swapped,
    "weather": _weather,
    "imperative": _imperative,
    "question": _question,
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
