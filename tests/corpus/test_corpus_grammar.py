"""Rules of the grammar: literal sentences with their links."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from neural_smt.corpus.grammar import lexicon, noun_phrases, sentences
from neural_smt.corpus.grammar.clauses import Predicate
from neural_smt.corpus.grammar.fragments import Pair, words, write
from neural_smt.corpus.grammar.lexicon import DOMAINS, Derivation, Dice, adjectives, noun_table, nouns, verbs
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, common_noun_phrase
from neural_smt.corpus.grammar.sentences import finish, inverted, sentence

NEWS, PARLIAMENT, EVERYDAY = DOMAINS["news"], DOMAINS["parliament"], DOMAINS["everyday"]
NONE = {"adjective": 0.0, "complement": 0.0, "modifier_noun": 0.0, "relative": 0.0}


def derivation(domain=NEWS, **options) -> Derivation:
    return Derivation(Dice(np.random.default_rng(1)), domain.replace(**NONE | options))


@pytest.fixture
def d() -> Derivation:
    return derivation()


def noun(english, french=None):
    return next(n for n in nouns() if n.singular == english and french in (None, n.french.singular))


def adjective(english, french=None):
    return next(a for a in adjectives() if a.english == english and french in (None, a.forms[0]))


def phrase(d, english, choice="the", plural=False, french=None) -> NounPhrase:
    """A bare noun phrase with a given determiner and number."""
    entry = noun(english, french)
    entry = replace(entry, singular=entry.plural) if plural and not entry.numbers else entry
    numbers = entry.numbers or ("pp" if plural else "ss")
    return common_noun_phrase(d, entry.kind, noun=replace(entry, numbers=numbers), choice=choice, small=True)


def said(d, pair: Pair):
    done = finish(pair, d.key(), ".")
    return write(done.source, "en"), write(done.target, "fr")


def linked(pair: Pair) -> str:
    done = finish(pair, 10_000, ".")
    return " ".join(f"{done.source[i]}~{done.target[j]}" for i, j in done.alignment[:-1])


def predicate(english, tense="past", negation=None, frame="transitive", french=None, **options) -> Predicate:
    verb = next(v for v in verbs(frame) if v.forms.base == english and french in (None, v.french))
    negation = Pair(*(words(text, 901) for text in negation)) if negation else None
    finite_key = 902 if "modal" in options else 900
    return Predicate(verb=verb, key=900, finite_key=finite_key, tense=tense, negation=negation, **options)


def made(d, english: str) -> NounPhrase:
    """``I`` and ``we``; ``=letter`` for its pronoun, ``letters`` for a plural, ``minister+majority`` for both,
    ``bill/projet de loi`` for one of its senses, ``zero:letters`` for another determiner than ``the``."""
    if english in ("I", "we"):
        return noun_phrases.personal_pronoun(d, 3 * (english == "we"))
    if english.startswith("="):
        return noun_phrases.reference(d, made(d, english[1:]))
    if "+" in english:
        return noun_phrases.coordinated(d, *(made(d, part) for part in english.split("+")))
    determiner, _, english = english.rpartition(":")
    english, _, french = english.partition("/")
    if any(n.singular == english for n in nouns()):
        return phrase(d, english, determiner or "the", french=french or None)
    return phrase(d, english.removesuffix("s"), determiner or "the", plural=True)


SAID = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", SAID["statements"], ids=[row["says"][1] for row in SAID["statements"]])
def test_statements(d, row):
    parts = {name: made(d, row[name]) for name in ("direct", "indirect", "antecedent") if name in row}
    choices = ("tense", "frame", "french", "passive", "negation", "modal", "alternate", "contracted")
    said_of = predicate(row["verb"], **parts, **{name: row[name] for name in choices if name in row})
    pair = said_of.statement(made(d, row["subject"]))
    assert said(d, pair) == tuple(row["says"])
    if "links" in row:
        assert linked(pair) == row["links"]


@pytest.mark.parametrize(("subject", "tense", "negation", "expected"), SAID["inverted"])
def test_inversion(d, subject, tense, negation, expected):
    chosen, noun_phrase = predicate("accept", tense, negation), phrase(d, subject)
    core, _ = chosen.french(noun_phrase)
    assert said(d, Pair(words("x"), inverted(noun_phrase, core, chosen)))[1] == expected


def test_english_question_needs_do(d):
    front, after = predicate("accept", direct=phrase(d, "law")).english(phrase(d, "minister"), question=True)
    assert [word.form for word in (*front, *after)] == ["did", "accept", "the", "law"]


def test_swapped_verbs_exchange_subject_and_object():
    d = derivation(EVERYDAY)
    for _ in range(30):
        pair = sentences.swapped(d)
        assert not set(pair.source[0].keys) & set(pair.target[0].keys), said(d, pair)
        assert pair.source[-1].keys


def test_adjectives_agree():
    assert adjective("old", "vieux|vieil").forms == ("vieux|vieil", "vieille", "vieux", "vieilles")
    assert adjective("national").forms == ("national", "nationale", "nationaux", "nationales")
    assert adjective("European").forms == ("européen", "européenne", "européens", "européennes")


def test_adjective_order_and_links(monkeypatch):
    d = derivation(adjective=1.0)
    monkeypatch.setattr(noun_phrases, "_attributes", lambda *_: [adjective("new"), adjective("national")])
    entry = replace(noun("agreement"), numbers="ss")
    found = common_noun_phrase(d, "t", noun=entry, choice="the")
    pair = Pair(found.source, found.target)
    assert said(d, pair) == ("The new national agreement.", "Le nouvel accord national.")
    assert linked(pair) == "The~Le new~nouvel national~national agreement~accord"


@pytest.mark.parametrize(("english", "source", "target"), SAID["determiners"])
def test_determiners(d, english, source, target):
    found = made(d, english)
    assert said(d, Pair(found.source, found.target)) == (source, target)


@pytest.mark.parametrize(("language", "tokens", "text"), SAID["written"])
def test_writing(language, tokens, text):
    assert write(tokens.split(), language) == text


@pytest.mark.parametrize(("antecedent", "source", "target"), SAID["pronouns"])
def test_pronouns_follow_the_gender_of_their_antecedent(d, antecedent, source, target):
    pronoun = made(d, f"={antecedent}")
    assert (pronoun.source[0].form, pronoun.target[0].form) == (source, target)


def test_ambiguous_nouns_follow_the_topic():
    for topic, french in (("finance", "banque"), ("river", "rive")):
        found = noun_table("n", "gl", topic).items
        assert {n.french.singular for n in found if n.singular == "bank"} == {french}
    assert all(n.singular != "bank" for n in noun_table("n", "gl", "politics").items)


def test_ambiguous_nouns_nearly_always_have_a_cue():
    """Of the sentences with ``bank``, most hold another noun of the same topic."""
    dice = Dice(np.random.default_rng(3))
    clear = [n for n in nouns() if n.singular not in lexicon.ambiguous_nouns()]
    cues = {
        topic: {form for n in clear if n.topic == topic for form in (n.singular, n.plural)}
        for topic in ("river", "finance")
    }
    cued = []
    for _ in range(4000):
        pair = sentence(dice, NEWS)
        if {"bank", "banks"} & set(pair.source):
            topic = "river" if {"rive", "rives"} & set(pair.target) else "finance"
            cued.append(any(f" {cue} " in f" {' '.join(pair.source)} " for cue in cues[topic]))
    assert len(cued) > 20 and np.mean(cued) > 0.8


def test_domains_overlap_but_differ():
    found = {}
    for domain in DOMAINS.values():
        dice = Dice(np.random.default_rng(5))
        found[domain.name] = {word for _ in range(400) for word in sentence(dice, domain).source}
    for first, second in itertools.combinations(found.values(), 2):
        assert 100 < len(first & second) < 0.7 * min(len(first), len(second))
    assert PARLIAMENT.formal and not EVERYDAY.formal


def test_every_entry_of_the_lexicon_can_be_said():
    frames = ("transitive", "intransitive", "dative", "clausal", "infinitive", "verbal", "copula")
    for letter in "npe":
        assert all(noun_table(letter, kind, "-").items for kind in "pgle")
        assert all(lexicon.verb_table(letter, frame).items for frame in frames)
    assert len(nouns()) > 400
    assert sum(map(len, map(verbs, (*frames, "swapped")))) > 250
