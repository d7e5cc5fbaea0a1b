"""French forms, spelt out."""

import pytest

from neural_smt.corpus.grammar.fragments import Word, resolve, words
from neural_smt.corpus.grammar.french import (
    DE,
    LA,
    LE,
    LES,
    Mood,
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
        ("adopter", Mood.PRESENT, "adopte adoptes adopte adoptons adoptez adoptent"),
        ("manger", Mood.IMPERFECT, "mangeais mangeais mangeait mangions mangiez mangeaient"),
        ("annoncer", Mood.PRESENT, "annonce annonces annonce annonçons annoncez annoncent"),
        ("annoncer", Mood.IMPERFECT, "annonçais annonçais annonçait annoncions annonciez annonçaient"),
        ("acheter", Mood.FUTURE, "achèterai achèteras achètera achèterons achèterez achèteront"),
        ("espérer", Mood.PRESENT, "espère espères espère espérons espérez espèrent"),
        ("rejeter", Mood.PRESENT, "rejette rejettes rejette rejetons rejetez rejettent"),
        ("nettoyer", Mood.PRESENT, "nettoie nettoies nettoie nettoyons nettoyez nettoient"),
        ("finir", Mood.PRESENT, "finis finis finit finissons finissez finissent"),
        ("réussir", Mood.IMPERFECT, "réussissais réussissais réussissait réussissions réussissiez réussissaient"),
        ("attendre", Mood.PRESENT, "attends attends attend attendons attendez attendent"),
        ("être", Mood.IMPERFECT, "étais étais était étions étiez étaient"),
        ("devoir", Mood.CONDITIONAL, "devrais devrais devrait devrions devriez devraient"),
        ("comprendre", Mood.PRESENT, "comprends comprends comprend comprenons comprenez comprennent"),
        ("reconnaître", Mood.PRESENT, "reconnais reconnais reconnaît reconnaissons reconnaissez reconnaissent"),
        ("construire", Mood.FUTURE, "construirai construiras construira construirons construirez construiront"),
        ("prévoir", Mood.FUTURE, "prévoirai prévoiras prévoira prévoirons prévoirez prévoiront"),
        ("détruire", Mood.PRESENT, "détruis détruis détruit détruisons détruisez détruisent"),
        ("atteindre", Mood.PRESENT, "atteins atteins atteint atteignons atteignez atteignent"),
        ("faire", Mood.IMPERFECT, "faisais faisais faisait faisions faisiez faisaient"),
    ],
)
def test_conjugation(infinitive, mood, forms):
    assert " ".join(conjugate(infinitive, mood, person) for person in range(6)) == forms


def test_participles_agree():
    assert [participle("adopter", f, p) for f in (False, True) for p in (False, True)] == [
        "adopté",
        "adoptés",
        "adoptée",
        "adoptées",
    ]
    assert [participle("mettre", f, p) for f in (False, True) for p in (False, True)] == ["mis", "mis", "mise", "mises"]
    assert [participle("devoir", f, p) for f in (False, True) for p in (False, True)] == ["dû", "dus", "due", "dues"]
    assert participle("ouvrir", True, False) == "ouverte"
    assert participle("mourir", False, True) == "morts"


def test_plurals_and_feminines():
    assert [pluralise(word) for word in ("journal", "bateau", "voix", "maison")] == [
        "journaux",
        "bateaux",
        "voix",
        "maisons",
    ]
    assert [
        feminise(word) for word in ("actuel", "européen", "financier", "législatif", "nombreux", "grave", "fort")
    ] == [
        "actuelle",
        "européenne",
        "financière",
        "législative",
        "nombreuse",
        "grave",
        "forte",
    ]


def _said(phrase):
    return " ".join(word.form for word in resolve(phrase, vowel_sound))


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
    assert _said(phrase) == expected


def test_contraction_keeps_both_keys():
    merged = prepositional(words(DE, 1), (*words(LE, 2), *words("ministre", 3)))
    assert [word.keys for word in merged] == [(1, 2), (3,)]
