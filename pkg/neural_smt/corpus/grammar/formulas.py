"""What is said in set words: openings of speeches, opinions, the weather."""

from neural_smt.corpus.grammar.adjuncts import adjunct, comma, join, numbered
from neural_smt.corpus.grammar.clauses import (
    clause,
    passive_clause,
)
from neural_smt.corpus.grammar.derivation import Derivation
from neural_smt.corpus.grammar.fragments import Pair, words
from neural_smt.corpus.grammar.statements import copular, passive, simple

_OPINIONS = (
    ("I.1 believe.2 that.3", "je.1 crois.2 que.3"),
    ("I.1 think.2 that.3", "je.1 pense.2 que.3"),
    ("we.1 know.2 that.3", "nous.1 savons.2 que.3"),
    ("I.1 would.2 like.2 to.3 stress.3 that.4", "je.1 voudrais.2 souligner.3 que.4"),
    ("it.1 is.2 clear.3 that.4", "il.1 est.2 clair.3 que.4"),
    ("there is no doubt that", "il ne fait aucun doute que"),
    ("my.1 group.2 considers.3 that.4", "mon.1 groupe.2 estime.3 que.4"),
    ("I.1 am.2 convinced.3 that.4", "je.1 suis.2 convaincu.3 que.4"),
    ("I.1 have.2 to.2 say.3 that.4", "je.1 dois.2 dire.3 que.4"),
    ("let.1 me.1 remind.2 you.3 that.4", "permettez-moi.1 de.2 vous.3 rappeler.2 que.4"),
)
"""How speakers say what they think; the numbers tie words as in ``adjuncts.TIMES``."""

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
    pair = numbered(d, source, target)
    elided = {"que": "que|qu'", "je": "je|j'", "de": "de|d'"}
    return Pair(pair.source, tuple(word._replace(form=elided.get(word.form, word.form)) for word in pair.target))


def opinion(d: Derivation) -> Pair:
    """I believe that ..., there is no doubt that ..."""
    opening = _labelled(d, *d.dice.skewed(_OPINIONS))
    inner = copular(d) if d.chance(0.35) else passive_clause(d).pair if d.chance(0.2) else clause(d).pair
    return join(opening, inner)


def address(d: Derivation) -> Pair:
    """A speaker turns to the chair or the house."""
    english, french = d.dice.skewed(_ADDRESSES)
    key = d.key()
    rest = d.dice.choice((opinion, opinion, simple, copular, passive))(d)
    return join(Pair(words(english, key), words(french, key)), comma(d), rest)


_WEATHER = (
    ("it.1 is.2 raining.2 cats.3 and.3 dogs.3", "il.1 pleut.2 des.3 cordes.3"),
    ("it.1 is.2 cold.3", "il.1 fait.2 froid.3"),
    ("it.1 was.2 very.4 hot.3", "il.1 faisait.2 très.4 chaud.3"),
    ("it.1 is.2 snowing.2", "il.1 neige.2"),
    ("it.1 was.2 raining.2", "il.1 pleuvait.2"),
    ("the.1 sun.2 is.3 shining.3", "le.1 soleil.2 brille.3"),
    ("it.1 will.2 be.2 windy.3", "il.1 y.2 aura.2 du.3 vent.3"),
)


def weather(d: Derivation) -> Pair:
    """It rains cats and dogs: in French, ropes."""
    pair = _labelled(d, *d.dice.skewed(_WEATHER))
    return join(pair, adjunct(d)) if d.chance(0.7) else pair
