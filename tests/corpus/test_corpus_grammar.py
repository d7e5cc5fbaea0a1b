"""Rules of the grammar: literal sentences with their links."""

from dataclasses import replace

import numpy as np
import pytest

from neural_smt.corpus.grammar import sentences
from neural_smt.corpus.grammar.clauses import Predicate, english_side, french_side, state
from neural_smt.corpus.grammar.common_nouns import common_noun_phrase
from neural_smt.corpus.grammar.derivation import DOMAINS, Derivation, Dice
from neural_smt.corpus.grammar.fragments import NOTHING, Pair, words, write
from neural_smt.corpus.grammar.lexicon import Lexicon, adjectives, lexicon, nouns, verbs
from neural_smt.corpus.grammar.noun_phrases import NounPhrase, coordinated, personal_pronoun, pronoun_for
from neural_smt.corpus.grammar.sentences import finish, inverted, sentence
from neural_smt.corpus.grammar.verb_groups import MODALS, Group

NEWS, PARLIAMENT, EVERYDAY = DOMAINS["news"], DOMAINS["parliament"], DOMAINS["everyday"]
PLAIN = replace(NEWS, adjective=0.0, complement=0.0, modifier_noun=0.0, relative=0.0)
CASUAL = replace(EVERYDAY, adjective=0.0, complement=0.0, modifier_noun=0.0, relative=0.0)


@pytest.fixture
def d() -> Derivation:
    return Derivation(Dice(np.random.default_rng(1)), PLAIN)


def noun(english, french=None):
    return next(n for n in nouns() if n.singular == english and french in (None, n.french.singular))


def verb(frame, english, french=None):
    return next(v for v in verbs()[frame] if v.forms.base == english and french in (None, v.french))


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


def group(v, tense="past", negation=None, **options) -> Group:
    return Group(verb=v, key=900, tense=tense, negation=negation, negation_key=901, modal_key=902, **options)


def test_past_tense_negation_and_gender(d):
    predicate = Predicate(group(verb("transitive", "adopt"), negation=("not", "pas")), direct=phrase(d, "law"))
    pair = state(predicate, phrase(d, "commission"))
    assert said(d, pair) == ("The commission did not adopt the law.", "La commission n'a pas adopté la loi.")
    assert linked(pair) == (
        "The~La commission~commission did~a did~adopté not~n' not~pas adopt~a adopt~adopté the~la law~loi"
    )


@pytest.mark.parametrize(
    ("negation", "english", "french"),
    [
        (("never", "jamais"), "The judge never accepted the bill.", "Le juge n'a jamais accepté le projet de loi."),
        (("no longer", "plus"), "The judge no longer accepted the bill.", "Le juge n'a plus accepté le projet de loi."),
    ],
)
def test_other_negations(d, negation, english, french):
    bill = phrase(d, "bill", french="projet de loi")
    pair = state(Predicate(group(verb("transitive", "accept"), negation=negation), direct=bill), phrase(d, "judge"))
    assert said(d, pair) == (english, french)


def test_etre_agrees_with_the_subject(d):
    for english, plural, expected in (
        ("minister", False, "Le ministre est arrivé."),
        ("minister", True, "Les ministres sont arrivés."),
        ("delegation", False, "La délégation est arrivée."),
        ("victim", True, "Les victimes sont arrivées."),
    ):
        pair = state(Predicate(group(verb("intransitive", "arrive"))), phrase(d, english, plural=plural))
        assert said(d, pair)[1] == expected


def test_object_clitic_precedes_the_verb_and_the_participle_agrees(d):
    letters = phrase(d, "letter", plural=True)
    pair = state(Predicate(group(verb("transitive", "send")), direct=pronoun_for(d, letters)), phrase(d, "judge"))
    assert said(d, pair) == ("The judge sent them.", "Le juge les a envoyées.")
    assert linked(pair) == "The~Le judge~juge sent~a sent~envoyées them~les"


def test_clitics_elide_and_stand_inside_the_negation(d):
    report = phrase(d, "report")
    predicate = Predicate(group(verb("transitive", "accept"), "present", ("not", "pas")), direct=pronoun_for(d, report))
    assert said(d, state(predicate, personal_pronoun(d, 0))) == ("I do not accept it.", "Je ne l'accepte pas.")


def test_two_clitics_keep_their_order(d):
    predicate = Predicate(
        group(verb("dative", "give"), "perfect"),
        direct=pronoun_for(d, phrase(d, "book")),
        indirect=pronoun_for(d, phrase(d, "judge")),
    )
    english, french = said(d, state(predicate, personal_pronoun(d, 0)))
    assert french == "Je le lui ai donné."
    assert english == "I have given him it."


def test_modal_and_clitic_before_the_infinitive(d):
    predicate = Predicate(
        group(verb("transitive", "read"), "modal", ("not", "pas"), modal=MODALS[1]),
        direct=pronoun_for(d, phrase(d, "letter")),
    )
    assert said(d, state(predicate, phrase(d, "judge"))) == (
        "The judge can not read it.",
        "Le juge ne peut pas la lire.",
    )


def test_contracted_negation_tokens():
    d = Derivation(Dice(np.random.default_rng(1)), CASUAL)
    predicate = Predicate(
        group(verb("transitive", "lose"), "past", ("not", "pas"), contracted=True), direct=phrase(d, "bag")
    )
    pair = state(predicate, personal_pronoun(d, 0))
    done = finish(pair, d.key(), ".")
    assert done.source == ("I", "didn", "'t", "lose", "the", "bag", ".")
    assert done.target == ("Je", "n'", "ai", "pas", "perdu", "le", "sac", ".")
    assert write(done.source, "en") == "I didn't lose the bag."


def test_passive(d):
    passive = group(verb("transitive", "reject", "rejeter"), "perfect", passive=True)
    pair = state(Predicate(passive), phrase(d, "proposal", plural=True))
    assert said(d, pair) == ("The proposals have been rejected.", "Les propositions ont été rejetées.")


def test_particle_and_reflexive(d):
    pair = state(Predicate(group(verb("intransitive", "get"), "present")), personal_pronoun(d, 3))
    assert said(d, pair) == ("We get up.", "Nous nous levons.")
    past = group(verb("transitive", "take", "occuper"))
    pair = state(Predicate(past, direct=phrase(d, "garden")), phrase(d, "girl"))
    assert said(d, pair) == ("The girl took care of the garden.", "La fille s'est occupée du jardin.")


def test_prepositional_object(d):
    pair = state(
        Predicate(group(verb("transitive", "answer")), direct=phrase(d, "message", plural=True)), phrase(d, "judge")
    )
    assert said(d, pair)[1] == "Le juge a répondu aux messages."
    both = coordinated(d, phrase(d, "minister"), phrase(d, "majority"))
    pair = state(Predicate(group(verb("transitive", "answer")), direct=both), phrase(d, "judge"))
    assert said(d, pair)[1] == "Le juge a répondu au ministre et à la majorité."


def test_participle_agrees_with_the_antecedent_of_an_object_relative(d):
    letters = phrase(d, "letter", plural=True)
    pair = state(Predicate(group(verb("transitive", "write"), "perfect"), antecedent=letters), phrase(d, "judge"))
    assert said(d, pair) == ("The judge has written.", "Le juge a écrites.")
    without = state(Predicate(group(verb("transitive", "write"), "perfect")), phrase(d, "judge"))
    assert said(d, without)[1] == "Le juge a écrit."


def test_dative_alternation(d):
    predicate = Predicate(group(verb("dative", "give")), direct=phrase(d, "book"), indirect=phrase(d, "minister"))
    french = "Le juge a donné le livre au ministre."
    judge = phrase(d, "judge")
    assert said(d, state(predicate, judge)) == ("The judge gave the book to the minister.", french)
    assert said(d, state(replace(predicate, alternate=True), judge)) == (
        "The judge gave the minister the book.",
        french,
    )


def test_particles_move(d):
    trial, judge = phrase(d, "trial", french="procès"), phrase(d, "judge")
    predicate = Predicate(group(verb("transitive", "put", "reporter")), direct=trial)
    french = "Le juge a reporté le procès."
    assert said(d, state(predicate, judge)) == ("The judge put off the trial.", french)
    assert said(d, state(replace(predicate, alternate=True), judge)) == ("The judge put the trial off.", french)
    predicate = replace(predicate, direct=pronoun_for(d, trial))
    assert said(d, state(predicate, judge)) == ("The judge put it off.", "Le juge l'a reporté.")


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
    chosen = group(verb("transitive", "accept"), tense, negation)
    noun_phrase = phrase(d, subject)
    core, _ = french_side(Predicate(chosen), noun_phrase)
    pair = Pair(words("x"), inverted(noun_phrase, core, chosen))
    assert said(d, pair)[1] == f"{expected}."


def test_english_question_needs_do(d):
    predicate = Predicate(group(verb("transitive", "accept")), direct=phrase(d, "law"))
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
    pair = state(Predicate(group(verb("verbal", "throw"))), phrase(d, "minister"))
    assert said(d, pair) == ("The minister threw in the towel.", "Le ministre a jeté l'éponge.")
    done = finish(pair, 10_000, ".")
    assert sum(2 <= i <= 5 and 2 <= j <= 5 for i, j in done.alignment) == 16


def adjective(english, french=None):
    return next(a for a in adjectives() if a.english == english and french in (None, a.forms[0]))


def test_adjectives_agree():
    assert adjective("old", "vieux|vieil").forms == ("vieux|vieil", "vieille", "vieux", "vieilles")
    assert adjective("national").forms == ("national", "nationale", "nationaux", "nationales")
    assert adjective("European").forms == ("européen", "européenne", "européens", "européennes")


def test_adjective_order_and_links(monkeypatch):
    d = Derivation(Dice(np.random.default_rng(1)), replace(PLAIN, adjective=1.0))
    chosen = [adjective("new"), adjective("national")]
    monkeypatch.setattr("neural_smt.corpus.grammar.common_nouns._attributes", lambda *_: chosen)
    entry = replace(noun("agreement"), numbers="ss")
    made = common_noun_phrase(d, "t", noun=entry, choice="the")
    pair = Pair(made.source, made.target)
    assert said(d, pair) == ("The new national agreement.", "Le nouvel accord national.")
    assert linked(pair) == "The~Le new~nouvel national~national agreement~accord"


def test_determiners(d):
    expected = {
        "a": ("A house.", "Une maison."),
        "this": ("This house.", "Cette maison."),
        "zero": ("Houses.", "Des maisons."),
        "generic": ("Houses.", "Les maisons."),
        "negated": ("Houses.", "De maisons."),
    }
    for choice, sides in expected.items():
        made = phrase(d, "house", choice, plural=choice in ("zero", "generic", "negated"))
        assert said(d, Pair(made.source, made.target)) == sides
    water = phrase(d, "milk", "zero")
    assert said(d, Pair(water.source, water.target)) == ("Milk.", "Du lait.")
    court = phrase(d, "officer", "this")
    assert said(d, Pair(court.source, court.target)) == ("This officer.", "Cet officier.")


def test_de_swallows_partitives(d):
    predicate = Predicate(group(verb("transitive", "need")), direct=phrase(d, "soldier", "zero", plural=True))
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
    assert Pair((), ()) == NOTHING
    assert words("a b", 1)[1].keys == (1,)
