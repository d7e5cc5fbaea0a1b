"""French forms, spelt out."""

from pathlib import Path

import pytest
import yaml

from neural_smt.corpus.grammar import inflection
from neural_smt.corpus.grammar.fragments import Word, words
from neural_smt.corpus.grammar.inflection import DE, LE, conjugate, feminise, french_plural, participle, prepositional

FORMS = yaml.safe_load(Path(__file__).with_name("french.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("infinitive", "mood", "forms"), FORMS["conjugated"])
def test_conjugation(infinitive, mood, forms):
    assert " ".join(conjugate(infinitive, mood, person) for person in range(6)) == forms


@pytest.mark.parametrize(("infinitive", "forms"), FORMS["participles"].items())
def test_participles_agree(infinitive, forms):
    found = [participle(infinitive, feminine, plural) for feminine in (False, True) for plural in (False, True)]
    assert " ".join(found) == forms


@pytest.mark.parametrize(("inflect", "name"), [(french_plural, "plurals"), (feminise, "feminines")])
def test_plurals_and_feminines(inflect, name):
    assert {word: inflect(word) for word in FORMS[name]} == FORMS[name]


@pytest.mark.parametrize(("preposition", "article", "noun", "expected"), FORMS["contracted"])
def test_contraction_and_elision(preposition, article, noun, expected):
    phrase = prepositional((Word(preposition, (1,)),), (Word(article, (2,)), Word(noun, (3,))))
    assert " ".join(word.form for word in inflection.resolve(phrase, "fr")) == expected


def test_contraction_keeps_both_keys():
    merged = prepositional(words(DE, 1), (*words(LE, 2), *words("ministre", 3)))
    assert [word.keys for word in merged] == [(1, 2), (3,)]
