"""Rules of the grammar: literal sentences with their links."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from neural_smt.corpus.grammar import sentences
from neural_smt.corpus.grammar.clauses import Predicate, english_side, french_side, state
from neural_smt.corpus.grammar.derivation import DOMAINS, Derivation, Dice
from neural_smt.corpus.grammar.fragments import Pair, words, write
from neural_smt.corpus.grammar.lexicon import Lexicon, adjectives, lexicon, nouns, verbs
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, coordinated, personal_pronoun, pronoun_for
from neural_smt.corpus.grammar.phrases import common_noun_phrase
from neural_smt.corpus.grammar.sentences import finish, inverted, sentence
from neural_smt.corpus.grammar.verb_groups import Group

NEWS, PARLIAMENT, EVERYDAY = DOMAINS["news"], DOMAINS["parliament"], DOMAINS["everyday"]
PLAIN = NEWS.replace(adjective=0.0, complement=0.0, modifier_noun=0.0, relative=0.0)
CASUAL = EVERYDAY.replace(adjective=0.0, complement=0.0, modifier_noun=0.0, relative=0.0)


NOT = ("not", "pas")


@pytest.fixture
def d() -> Derivation:
    return derivation()


def derivation(domain=PLAIN) -> Derivation:
    return Derivation(Dice(np.random.default_rng(1)), domain)


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


def group(english, tense="past", negation=None, frame="transitive", french=None, **options) -> Group:
    verb = next(v for v in verbs()[frame] if v.forms.base == english and french in (None, v.french))
    return Group(verb=verb, key=900, tense=tense, negation=negation, negation_key=901, modal_key=902, **options)


def made(d, english: str) -> NounPhrase:
    """``I`` and ``we``; ``=letter`` for its pronoun, ``letters`` for a plural, ``minister+majority`` for both."""
    if english in ("I", "we"):
        return personal_pronoun(d, 3 * (english == "we"))
    if english.startswith("="):
        return pronoun_for(d, made(d, english[1:]))
    if "+" in english:
        return coordinated(d, *(made(d, part) for part in english.split("+")))
    if any(n.singular == english for n in nouns()):
        return phrase(d, english)
    return phrase(d, english.removesuffix("s"), plural=True)


STATEMENTS = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", STATEMENTS, ids=[row["says"][1] for row in STATEMENTS])
def test_statements(d, row):
    parts = {name: made(d, row[name]) for name in ("direct", "indirect", "antecedent") if name in row}
    choices = ("tense", "frame", "french", "passive", "negation", "modal")
    verb = group(row["verb"], **{name: row[name] for name in choices if name in row})
    predicate = Predicate(verb, **parts, alternate="alternate" in row)
    assert said(d, state(predicate, made(d, row["subject"]))) == tuple(row["says"])


def test_links_of_statements(d):
    pair = state(Predicate(group("adopt", negation=NOT), direct=made(d, "law")), made(d, "commission"))
    assert said(d, pair) == ("The commission did not adopt the law.", "La commission n'a pas adopté la loi.")
    assert linked(pair) == (
        "The~La commission~commission did~a did~adopté not~n' not~pas adopt~a adopt~adopté the~la law~loi"
    )
    pair = state(Predicate(group("send"), direct=made(d, "=letters")), made(d, "judge"))
    assert said(d, pair) == ("The judge sent them.", "Le juge les a envoyées.")
    assert linked(pair) == "The~Le judge~juge sent~a sent~envoyées them~les"


def test_negation_before_a_noun_of_several_words(d):
    bill = phrase(d, "bill", french="projet de loi")
    pair = state(Predicate(group("accept", negation=("never", "jamais")), direct=bill), made(d, "judge"))
    assert said(d, pair) == ("The judge never accepted the bill.", "Le juge n'a jamais accepté le projet de loi.")


def test_contracted_negation_tokens():
    d = derivation(CASUAL)
    pair = state(Predicate(group("lose", negation=NOT, contracted=True), direct=made(d, "bag")), made(d, "I"))
    done = finish(pair, d.key(), ".")
    assert done.source == ("I", "didn", "'t", "lose", "the", "bag", ".")
    assert done.target == ("Je", "n'", "ai", "pas", "perdu", "le", "sac", ".")
    assert write(done.source, "en") == "I didn't lose the bag."


@pytest.mark.parametrize(
    ("subject", "tense", "negation", "expected"),
    [
        ("minister", "past", None, "Le ministre a-t-il accepté"),
        ("law", "present", None, "La loi accepte-t-elle"),
        ("minister", "future", ("not", "pas"), "Le ministre n'acceptera-t-il pas"),
        ("troops", "past", None, "Les troupes ont-elles accepté"),
    ],
)
def test_inversion(d, subject, tense, negation, expected):
    chosen = group("accept", tense, negation)
    noun_phrase = phrase(d, subject)
    core, _ = french_side(Predicate(chosen), noun_phrase)
    pair = Pair(words("x"), inverted(noun_phrase, core, chosen))
    assert said(d, pair)[1] == f"{expected}."


def test_english_question_needs_do(d):
    predicate = Predicate(group("accept"), direct=phrase(d, "law"))
    front, after = english_side(predicate, phrase(d, "minister"), question=True)
    assert [word.form for word in (*front, *after)] == ["did", "accept", "the", "law"]


def test_swapped_verbs_exchange_subject_and_object():
    d = Derivation(Dice(np.random.default_rng(4)), CASUAL)
    for _ in range(30):
        pair = sentences.swapped(d)
        first, last = pair.target[0].keys, pair.source[-1].keys
        subject_keys = {key for word in pair.source[:1] for key in word.keys}
        assert not subject_keys & set(first), said(d, pair)
        assert last


def test_idiom_is_one_block(d):
    pair = state(Predicate(group("throw", frame="verbal")), phrase(d, "minister"))
    assert said(d, pair) == ("The minister threw in the towel.", "Le ministre a jeté l'éponge.")
    done = finish(pair, 10_000, ".")
    assert sum(2 <= i <= 5 and 2 <= j <= 5 for i, j in done.alignment) == 16


def test_adjectives_agree():
    assert adjective("old", "vieux|vieil").forms == ("vieux|vieil", "vieille", "vieux", "vieilles")
    assert adjective("national").forms == ("national", "nationale", "nationaux", "nationales")
    assert adjective("European").forms == ("européen", "européenne", "européens", "européennes")


def test_adjective_order_and_links(monkeypatch):
    d = derivation(PLAIN.replace(adjective=1.0))
    chosen = [adjective("new"), adjective("national")]
    monkeypatch.setattr("neural_smt.corpus.grammar.phrases._attributes", lambda *_: chosen)
    entry = replace(noun("agreement"), numbers="ss")
    found = common_noun_phrase(d, "t", noun=entry, choice="the")
    pair = Pair(found.source, found.target)
    assert said(d, pair) == ("The new national agreement.", "Le nouvel accord national.")
    assert linked(pair) == "The~Le new~nouvel national~national agreement~accord"


@pytest.mark.parametrize(
    ("english", "choice", "sides"),
    [
        ("house", "a", ("A house.", "Une maison.")),
        ("house", "this", ("This house.", "Cette maison.")),
        ("officer", "this", ("This officer.", "Cet officier.")),
        ("house", "zero", ("Houses.", "Des maisons.")),
        ("house", "generic", ("Houses.", "Les maisons.")),
        ("house", "negated", ("Houses.", "De maisons.")),
        ("milk", "zero", ("Milk.", "Du lait.")),
    ],
)
def test_determiners(d, english, choice, sides):
    found = phrase(d, english, choice, plural=choice in ("zero", "generic", "negated") and english != "milk")
    assert said(d, Pair(found.source, found.target)) == sides


def test_de_swallows_partitives(d):
    predicate = Predicate(group("need"), direct=phrase(d, "soldier", "zero", plural=True))
    assert said(d, state(predicate, phrase(d, "general")))[1] == "Le général a eu besoin de soldats."


def test_pronouns_follow_the_gender_of_their_antecedent(d):
    for english, plural, source, target in (
        ("report", False, "it", "il"),
        ("law", False, "it", "elle"),
        ("law", True, "they", "elles"),
        ("judge", False, "he", "il"),
        ("police", False, "they", "elle"),
    ):
        pronoun = pronoun_for(d, phrase(d, english, plural=plural))
        assert (pronoun.source[0].form, pronoun.target[0].form) == (source, target)


def test_ambiguous_nouns_follow_the_topic():
    table = lexicon("n").noun_table
    for topic, french in (("finance", "banque"), ("river", "rive")):
        senses = {
            n.french.singular for n in (*table("g", topic).items, *table("l", topic).items) if n.singular == "bank"
        }
        assert senses == {french}
    assert all(n.singular != "bank" for n in table("gl", "politics").items)


def test_ambiguous_nouns_nearly_always_have_a_cue():
    """Of the sentences with ``bank``, most hold another noun of the same topic."""
    dice = Dice(np.random.default_rng(3))
    ambiguous = lexicon("n").ambiguous
    cues = {
        topic: {
            form for n in nouns() if n.topic == topic and n.singular not in ambiguous for form in (n.singular, n.plural)
        }
        for topic in ("river", "finance")
    }
    cued = total = 0
    for _ in range(4000):
        pair = sentence(dice, NEWS)
        if {"bank", "banks"} & set(pair.source):
            topic = "river" if {"rive", "rives"} & set(pair.target) else "finance"
            total += 1
            cued += any(f" {cue} " in f" {' '.join(pair.source)} " for cue in cues[topic])
    assert total > 20 and cued / total > 0.8


def test_domains_overlap_but_differ():
    words_of = {}
    for domain in DOMAINS.values():
        dice = Dice(np.random.default_rng(5))
        words_of[domain.name] = {word for _ in range(400) for word in sentence(dice, domain).source}
    for first, second in (("news", "parliament"), ("news", "everyday"), ("parliament", "everyday")):
        shared = len(words_of[first] & words_of[second])
        assert 100 < shared < 0.7 * min(len(words_of[first]), len(words_of[second]))
    assert PARLIAMENT.formal and not EVERYDAY.formal


def test_every_entry_of_the_lexicon_can_be_said():
    for letter in "npe":
        table = Lexicon(letter)
        for kind in "pgle":
            assert table.noun_table(kind, "-").items
        for frame in ("transitive", "intransitive", "dative", "clausal", "infinitive", "verbal", "copula"):
            assert table.verb_table(frame).items
    assert len(nouns()) > 400
    assert sum(len(entries) for entries in verbs().values()) > 250
