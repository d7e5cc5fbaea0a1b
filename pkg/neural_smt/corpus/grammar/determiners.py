"""Determiners and quantities of both languages, and the French partitive."""

from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import Words, words
from neural_smt.corpus.grammar.french import DE, LA, LE, LES, prepositional

_ARTICLES = {True: (LE, LA), False: ("un", "une")}


_POSSESSIVES = (
    ("my", ("mon", "ma|mon", "mes")),
    ("your", ("ton", "ta|ton", "tes")),
    ("his", ("son", "sa|son", "ses")),
    ("our", ("notre", "notre", "nos")),
    ("your", ("votre", "votre", "vos")),
    ("their", ("leur", "leur", "leurs")),
    ("her", ("son", "sa|son", "ses")),
    ("its", ("son", "sa|son", "ses")),
)


_QUANTITIES = (
    ("several", "plusieurs"),
    ("many", "de_nombreux/de_nombreuses"),
    ("some", "quelques"),
    ("two", "deux"),
    ("three", "trois"),
    ("most", "la_plupart_des"),
    ("all_the", "tous_les/toutes_les"),
    ("a_few", "quelques"),
    ("four", "quatre"),
    ("both", "les_deux"),
    ("five", "cinq"),
    ("certain", "certains/certaines"),
    ("ten", "dix"),
    ("hundreds_of", "des_centaines_de"),
    ("twenty", "vingt"),
    ("dozens_of", "des_dizaines_de"),
)


def determiner_choice(d: Derivation, plural: bool, mass: bool) -> str:
    """Which determiner: the, zero, a, this, that, possessive or quantity."""
    roll = d.dice.fraction()
    possessive = 0.16 if d.domain.letter == "e" else 0.06
    if roll < possessive:
        return "possessive"
    if roll < possessive + 0.08:
        return "this" if d.chance(0.75) else "that"
    if roll < 0.68:
        return "the"
    if mass:
        return "the" if d.chance(0.5) else "zero"
    if plural:
        return "quantity" if d.chance(0.45) else "zero"
    return "every" if d.chance(0.06) else "a"


def _target_possessive(d: Derivation, feminine: bool, plural: bool) -> tuple[str, str]:
    if d.domain.letter == "p":
        source, forms = _POSSESSIVES[d.dice.choice((0, 3, 3, 3, 4, 5))]
    elif d.domain.letter == "n":
        source, forms = _POSSESSIVES[d.dice.choice((2, 2, 5, 5, 6, 7))]
    else:
        source, forms = _POSSESSIVES[d.dice.choice((0, 0, 0, 1, 1, 2, 3, 5, 6))]
    return source, forms[2 if plural else int(feminine)]


def _partitive(key: int, feminine: bool, rest: Words) -> tuple[Words, int]:
    """``du``, ``de la`` or ``de l'`` before ``rest``, and how many words that is."""
    phrase = prepositional(words(DE, key), (*words(LA if feminine else LE, key), *rest))
    return phrase, len(phrase) - len(rest)


def determine(
    d: Derivation, choice: str, noun_key: int, rest: Words, feminine: bool, source_plural: bool, plural: bool, pre: bool
) -> tuple[Words, Words, int]:
    """English determiner, complete French phrase, and the length of its partitive article.

    ``rest``: the French words after the determiner; ``pre``: whether an adjective opens them.
    """
    key = d.key()
    if choice == "the":
        return words("the", key), (*words(LES if plural else _ARTICLES[True][feminine], key), *rest), 0
    if choice == "a":
        return words("a|an", key), (*words(_ARTICLES[False][feminine], key), *rest), 0
    if choice == "negated":  # a direct object under negation
        source = () if source_plural else words("a|an", key)
        return source, (*words(DE, key, noun_key), *rest), 1
    if choice in ("this", "that"):
        source = {"this": "these", "that": "those"}[choice] if source_plural else choice
        form = "ces" if plural else ("ce|cet", "cette")[feminine]
        return words(source, key), (*words(form, key), *rest), 0
    if choice == "possessive":
        source, form = _target_possessive(d, feminine, plural)
        return words(source, key), (*words(form, key), *rest), 0
    if choice == "every":
        return words("every" if d.chance(0.7) else "each", key), (*words("chaque", key), *rest), 0
    if choice == "quantity":
        source, form = d.dice.skewed(_QUANTITIES)
        masculine, _, other = form.partition("/")
        target = words((other if feminine and other else masculine).replace("_", " "), key)
        target = tuple(word._replace(form=DE) if word.form == "de" else word for word in target)
        return words(source.replace("_", " "), key), (*target, *rest), 0
    if choice == "generic":
        article = LES if plural else _ARTICLES[True][feminine]
        return (), (*words(article, noun_key), *rest), 0
    if plural:
        return (), (*words(DE if pre else "des", noun_key), *rest), 1
    phrase, length = _partitive(noun_key, feminine, rest)
    return (), phrase, length
