"""French forms: conjugation, agreement, contraction and elision.

Persons are numbered 0 to 5: je, tu, il/elle, nous, vous, ils/elles.
"""

from enum import Enum
from functools import cache
from typing import NamedTuple

from neural_smt.corpus.grammar.fragments import Word, Words


class Mood(Enum):
    """Simple tenses of a French verb."""

    PRESENT = "présent"
    IMPERFECT = "imparfait"
    FUTURE = "futur simple"
    CONDITIONAL = "conditionnel présent"


class Paradigm(NamedTuple):
    """What the forms of a verb are made from."""

    present: tuple[str, ...]
    imperfect_stem: str
    future_stem: str
    participle: str


_IRREGULAR_TABLE = """
être       | suis es est sommes êtes sont                  | ser    | été
avoir      | ai as a avons avez ont                        | aur    | eu
aller      | vais vas va allons allez vont                 | ir     | allé
faire      | fais fais fait faisons faites font            | fer    | fait
dire       | dis dis dit disons dites disent               | dir    | dit
voir       | vois vois voit voyons voyez voient            | verr   | vu
prévoir    | prévois prévois prévoit prévoyons prévoyez prévoient | prévoir | prévu
savoir     | sais sais sait savons savez savent            | saur   | su
pouvoir    | peux peux peut pouvons pouvez peuvent         | pourr  | pu
vouloir    | veux veux veut voulons voulez veulent         | voudr  | voulu
devoir     | dois dois doit devons devez doivent           | devr   | dû
prendre    | prends prends prend prenons prenez prennent   | prendr | pris
mettre     | mets mets met mettons mettez mettent          | mettr  | mis
battre     | bats bats bat battons battez battent          | battr  | battu
venir      | viens viens vient venons venez viennent       | viendr | venu
tenir      | tiens tiens tient tenons tenez tiennent       | tiendr | tenu
partir     | pars pars part partons partez partent         | partir | parti
sortir     | sors sors sort sortons sortez sortent         | sortir | sorti
sentir     | sens sens sent sentons sentez sentent         | sentir | senti
mentir     | mens mens ment mentons mentez mentent         | mentir | menti
dormir     | dors dors dort dormons dormez dorment         | dormir | dormi
servir     | sers sers sert servons servez servent         | servir | servi
ouvrir     | ouvre ouvres ouvre ouvrons ouvrez ouvrent     | ouvrir | ouvert
offrir     | offre offres offre offrons offrez offrent     | offrir | offert
souffrir   | souffre souffres souffre souffrons souffrez souffrent | souffrir | souffert
écrire     | écris écris écrit écrivons écrivez écrivent   | écrir  | écrit
lire       | lis lis lit lisons lisez lisent               | lir    | lu
rire       | ris ris rit rions riez rient                  | rir    | ri
vivre      | vis vis vit vivons vivez vivent               | vivr   | vécu
suivre     | suis suis suit suivons suivez suivent         | suivr  | suivi
connaître  | connais connais connaît connaissons connaissez connaissent | connaîtr | connu
paraître   | parais parais paraît paraissons paraissez paraissent | paraîtr | paru
naître     | nais nais naît naissons naissez naissent      | naîtr  | né
croire     | crois crois croit croyons croyez croient      | croir  | cru
boire      | bois bois boit buvons buvez boivent           | boir   | bu
cevoir     | çois çois çoit cevons cevez çoivent           | cevr   | çu
uire       | uis uis uit uisons uisez uisent               | uir    | uit
aindre     | ains ains aint aignons aignez aignent         | aindr  | aint
eindre     | eins eins eint eignons eignez eignent         | eindr  | eint
oindre     | oins oins oint oignons oignez oignent         | oindr  | oint
courir     | cours cours court courons courez courent      | courr  | couru
mourir     | meurs meurs meurt mourons mourez meurent      | mourr  | mort
plaire     | plais plais plaît plaisons plaisez plaisent   | plair  | plu
envoyer    | envoie envoies envoie envoyons envoyez envoient | enverr | envoyé
vaincre    | vaincs vaincs vainc vainquons vainquez vainquent | vaincr | vaincu
conclure   | conclus conclus conclut concluons concluez concluent | conclur | conclu
pleuvoir   | pleus pleus pleut pleuvons pleuvez pleuvent   | pleuvr | plu
"""

_STRONG_E = ("lever", "mener", "acheter", "peser", "geler", "semer")
_DOUBLED = ("appeler", "jeter", "rappeler", "rejeter", "renouveler", "projeter")

_MOTION_AND_CHANGE = """
aller arriver partir venir revenir devenir parvenir intervenir rester tomber mourir naître entrer rentrer
retourner
"""
ETRE_VERBS = frozenset(_MOTION_AND_CHANGE.split())
"""Verbs whose compound tenses take être: their participle agrees with the subject."""


def _irregular() -> dict[str, Paradigm]:
    table = {}
    for line in _IRREGULAR_TABLE.strip().splitlines():
        infinitive, present, future, participle = (field.strip() for field in line.split("|"))
        forms = tuple(present.split())
        table[infinitive] = Paradigm(forms, forms[3].removesuffix("ons"), future, participle)
    table["être"] = table["être"]._replace(imperfect_stem="ét")
    return table


_IRREGULAR = _irregular()
_BY_LENGTH = sorted(_IRREGULAR, key=len, reverse=True)
_WHOLE_ONLY = frozenset(("être", "avoir", "aller", "rire", "lire", "naître"))
"""Patterns too short to be taken for the ending of another verb."""


@cache
def paradigm(infinitive: str) -> Paradigm:
    """The paradigm of a verb: irregular by its longest known ending, else of the -er, -ir (finir) or -re class."""
    for pattern in _BY_LENGTH:
        if infinitive == pattern or (infinitive.endswith(pattern) and pattern not in _WHOLE_ONLY):
            prefix = infinitive.removesuffix(pattern)
            base = _IRREGULAR[pattern]
            return Paradigm(
                tuple(prefix + form for form in base.present),
                prefix + base.imperfect_stem,
                prefix + base.future_stem,
                prefix + base.participle,
            )
    if infinitive.endswith("er"):
        return _first_group(infinitive)
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        endings = ("is", "is", "it", "issons", "issez", "issent")
        return Paradigm(tuple(stem + ending for ending in endings), stem + "iss", infinitive, stem + "i")
    endings = ("s", "s", "", "ons", "ez", "ent")
    return Paradigm(tuple(stem + ending for ending in endings), stem, stem + "r", stem + "u")


def _first_group(infinitive: str) -> Paradigm:
    weak = infinitive[:-2]
    strong, future = weak, infinitive
    if infinitive.endswith(_STRONG_E):
        strong = f"{weak[:-2]}è{weak[-1]}"
        future = f"{strong}er"
    elif infinitive in _DOUBLED:
        strong = weak + weak[-1]
        future = f"{strong}er"
    elif infinitive.endswith(("oyer", "uyer")):
        strong = f"{weak[:-1]}i"
        future = f"{strong}er"
    elif len(weak) > 2 and weak[-2] == "é" and weak[-1] not in "aeiouy":
        strong = f"{weak[:-2]}è{weak[-1]}"
    broad = {"g": f"{weak}e", "c": f"{weak[:-1]}ç"}.get(weak[-1], weak)
    present = (f"{strong}e", f"{strong}es", f"{strong}e", f"{broad}ons", f"{weak}ez", f"{strong}ent")
    return Paradigm(present, broad, future, f"{weak}é")


_IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTURE = ("ai", "as", "a", "ons", "ez", "ont")


@cache
def conjugate(infinitive: str, mood: Mood, person: int) -> str:
    """The form of a verb in a simple tense."""
    forms = paradigm(infinitive)
    if mood is Mood.PRESENT:
        return forms.present[person]
    if mood is Mood.FUTURE:
        return forms.future_stem + _FUTURE[person]
    if mood is Mood.CONDITIONAL:
        return forms.future_stem + _IMPERFECT[person]
    stem = forms.imperfect_stem
    if person in (3, 4):  # mangeais but mangions, commençais but commencions
        stem = f"{stem[:-1]}c" if stem.endswith("ç") else stem.removesuffix("e") if stem.endswith("ge") else stem
    return stem + _IMPERFECT[person]


def participle(infinitive: str, feminine: bool = False, plural: bool = False) -> str:
    """The past participle, agreeing."""
    form = paradigm(infinitive).participle
    if form == "dû" and (feminine or plural):
        form = "du"
    return _add_s(form + "e" if feminine else form) if plural else form + "e" if feminine else form


def _add_s(form: str) -> str:
    return form if form.endswith(("s", "x", "z")) else f"{form}s"


def pluralise(noun: str) -> str:
    """The regular plural of a noun or masculine adjective."""
    if noun.endswith("al"):
        return f"{noun[:-1]}ux"
    if noun.endswith(("eau", "eu")):
        return f"{noun}x"
    return _add_s(noun)


def feminise(adjective: str) -> str:
    """The regular feminine singular of an adjective."""
    for ending, feminine in (
        ("e", "e"),
        ("eux", "euse"),
        ("if", "ive"),
        ("er", "ère"),
        ("el", "elle"),
        ("en", "enne"),
        ("et", "ète"),
    ):
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + feminine
    return f"{adjective}e"


_ASPIRATED = ("haut-parleur", "hausse", "haut", "héros", "honte", "huit", "onze", "hasard", "handicap", "hors")


@cache
def vowel_sound(form: str) -> bool:
    """Whether a French word makes the word before it elide (its h is mute, unless it is listed as aspirated)."""
    lowered = form.lower()
    return lowered[0] in "aeiouhàâéèêëîïôœ" and not lowered.startswith(_ASPIRATED)


LE, LA, LES = "le|l'", "la|l'", "les"
DE, QUE, NE = "de|d'", "que|qu'", "ne|n'"

_CONTRACTED = {(DE, LE): "du", (DE, LES): "des", ("à", LE): "au", ("à", LES): "aux"}


def prepositional(preposition: Words, phrase: Words) -> Words:
    """A preposition before a noun phrase: ``de``/``à`` contract with ``le``/``les`` unless the article elides.

    ``de`` swallows a partitive or plural article (``beaucoup de`` + ``des livres``).
    """
    if not preposition or not phrase:
        return (*preposition, *phrase)
    last, article = preposition[-1], phrase[0]
    if last.form == DE and article.form in ("des", "du|de l'", "de la|de l'", DE):
        return (*preposition[:-1], Word(DE, (*last.keys, *article.keys)), *phrase[1:])
    contracted = _CONTRACTED.get((last.form, article.form))
    elides = article.form == LE and len(phrase) > 1 and vowel_sound(phrase[1].form)
    if contracted is None or elides:
        return (*preposition, *phrase)
    return (*preposition[:-1], Word(contracted, (*last.keys, *article.keys)), *phrase[1:])


def elidable(text: str, *keys: int) -> Words:
    """The words of ``text``, with ``de`` and ``que`` ready to elide."""
    forms = {"de": DE, "que": QUE}
    return tuple(Word(forms.get(form, form), keys) for form in text.split())
