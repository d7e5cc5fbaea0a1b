"""French forms, spelt out."""

import pytest

from neural_smt.corpus.grammar.fragments import Word, resolve, words
from neural_smt.corpus.grammar.french import (
    DE,
    LA,
    LE,
    LES,
    conjugate,
    feminise,
    participle,
    pluralise,
    prepositional,
    vowel_sound,
)


@pytest.mark.parametrize(
    ("infinitive", "mood", "forms"),
    [
        ("adopter", "present", "adopte adoptes adopte adoptons adoptez adoptent"),
        ("manger", "imperfect", "mangeais mangeais mangeait mangions mangiez mangeaient"),
        ("annoncer", "present", "annonce annonces annonce annonçons annoncez annoncent"),
        ("annoncer", "imperfect", "annonçais annonçais annonçait annoncions annonciez annonçaient"),
        ("acheter", "future", "achèterai achèteras achètera achèterons achèterez achèteront"),
        ("espérer", "present", "espère espères espère espérons espérez espèrent"),
        ("rejeter", "present", "rejette rejettes rejette rejetons rejetez rejettent"),
        ("nettoyer", "present", "nettoie nettoies nettoie nettoyons nettoyez nettoient"),
        ("finir", "present", "finis finis finit finissons finissez finissent"),
        ("réussir", "imperfect", "réussissais réussissais réussissait réussissions réussissiez réussissaient"),
        ("attendre", "present", "attends attends attend attendons attendez attendent"),
        ("être", "imperfect", "étais étais était étions étiez étaient"),
        ("devoir", "conditional", "devrais devrais devrait devrions devriez devraient"),
        ("comprendre", "present", "comprends comprends comprend comprenons comprenez comprennent"),
        ("reconnaître", "present", "reconnais reconnais reconnaît reconnaissons reconnaissez reconnaissent"),
        ("construire", "future", "construirai construiras construira construirons construirez construiront"),
        ("prévoir", "future", "prévoirai prévoiras prévoira prévoirons prévoirez prévoiront"),
        ("détruire", "present", "détruis détruis détruit détruisons détruisez détruisent"),
        ("atteindre", "present", "atteins atteins atteint atteignons atteignez atteignent"),
        ("faire", "imperfect", "faisais faisais faisait faisions faisiez faisaient"),
    ],
)
def test_conjugation(infinitive, mood, forms):
    assert " ".join(conjugate(infinitive, mood, person) for person in range(6)) == forms


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("adopter", "adopté adoptés adoptée adoptées"),
        ("mettre", "mis mis mise mises"),
        ("devoir", "dû dus due dues"),
        ("ouvrir", "ouvert ouverts ouverte ouvertes"),
        ("mourir", "mort morts morte mortes"),
    ],
)
def test_participles_agree(infinitive, forms):
    found = [participle(infinitive, feminine, plural) for feminine in (False, True) for plural in (False, True)]
    assert " ".join(found) == forms


def test_plurals_and_feminines():
    for inflect, words_in, words_out in (
        (pluralise, "journal bateau voix maison", "journaux bateaux voix maisons"),
        (feminise, "actuel européen financier législatif", "actuelle européenne financière législative"),
        (feminise, "nombreux grave fort", "nombreuse grave forte"),
    ):
        assert list(map(inflect, words_in.split())) == words_out.split()


@pytest.mark.parametrize(
    ("preposition", "article", "noun", "expected"),
    [
        (DE, LE, "ministre", "du ministre"),
        (DE, LE, "avocat", "de l' avocat"),
        (DE, LA, "loi", "de la loi"),
        (DE, LES, "avocats", "des avocats"),
        ("à", LE, "marché", "au marché"),
        ("à", LE, "hôpital", "à l' hôpital"),
        ("à", LES, "enfants", "aux enfants"),
        ("à", LA, "école", "à l' école"),
        ("avec", LE, "juge", "avec le juge"),
        (DE, "un", "héros", "d' un héros"),
        ("à", LE, "haut-parleur", "au haut-parleur"),
    ],
)
def test_contraction_and_elision(preposition, article, noun, expected):
    phrase = prepositional((Word(preposition, (1,)),), (Word(article, (2,)), Word(noun, (3,))))
    assert " ".join(word.form for word in resolve(phrase, vowel_sound)) == expected


def test_contraction_keeps_both_keys():
    merged = prepositional(words(DE, 1), (*words(LE, 2), *words("ministre", 3)))
    assert [word.keys for word in merged] == [(1, 2), (3,)]
