"""How news, parliament and everyday talk differ: topics, constructions and their frequencies."""

from dataclasses import dataclass

from neural_smt.corpus.grammar.lexicon import Weighted


@dataclass(frozen=True)
class Domain:
    """One register of the language; rates are probabilities.

    ``letter`` selects its lexicon. ``formal``: inversion in French questions, ``vous`` for ``you``, no contractions.
    """

    name: str
    letter: str
    formal: bool
    topics: Weighted[str]
    patterns: Weighted[str]  # names of the sentence rules
    tenses: Weighted[str]  # names of tenses
    negation: float
    adjective: float
    relative: float
    pronoun_subject: float
    proper_name: float
    passive: float
    adjunct: float
    time: float
    adverb: float
    modifier_noun: float
    complement: float  # a noun with an of-phrase or genitive


def _weighted(text: str) -> Weighted[str]:
    names, weights = zip(*(item.split(":") for item in text.split()), strict=True)
    return Weighted.of(names, [float(weight) for weight in weights])


NEWS = Domain(
    name="news",
    letter="n",
    formal=True,
    topics=_weighted(
        "politics:5 finance:4 law:4 army:3 sport:3 health:2.5 industry:2 culture:2 crime:1.5 energy:1 fire:.8 "
        "school:1.5 farm:1 river:.8 sea:.8 season:.8 -:3"
    ),
    patterns=_weighted(
        "simple:30 reported:16 coordinated:9 subordinate:14 copular:8 existential:3 anaphoric:12 question:1 "
        "passive:9 percentage:5"
    ),
    tenses=_weighted(
        "past:50 perfect:14 present:10 future:8 imperfect:3 progressive:5 pluperfect:4 conditional:3 modal:5"
    ),
    negation=0.1,
    adjective=0.34,
    relative=0.1,
    pronoun_subject=0.06,
    proper_name=0.3,
    passive=0.12,
    adjunct=0.4,
    time=0.4,
    adverb=0.14,
    modifier_noun=0.1,
    complement=0.16,
)

PARLIAMENT = Domain(
    name="parliament",
    letter="p",
    formal=True,
    topics=_weighted("politics:12 finance:4 energy:3 farm:2 -:3"),
    patterns=_weighted(
        "simple:20 reported:8 opinion:22 coordinated:8 subordinate:12 copular:12 existential:3 anaphoric:10 "
        "question:5 passive:10 address:14"
    ),
    tenses=_weighted("past:14 perfect:20 present:26 future:12 imperfect:2 progressive:4 conditional:7 modal:22"),
    negation=0.17,
    adjective=0.4,
    relative=0.12,
    pronoun_subject=0.3,
    proper_name=0.1,
    passive=0.14,
    adjunct=0.35,
    time=0.15,
    adverb=0.2,
    modifier_noun=0.14,
    complement=0.2,
)

EVERYDAY = Domain(
    name="everyday",
    letter="e",
    formal=False,
    topics=_weighted(
        "home:5 kitchen:4 travel:3 school:3 music:2 sport:2 health:2 office:1.5 weather:1.5 garden:2 fire:1 "
        "workshop:1 mail:1.5 river:1.5 sea:1.5 season:1.5 law:.6 science:.8 culture:1.2 farm:.6 -:4"
    ),
    patterns=_weighted(
        "simple:30 reported:7 coordinated:9 subordinate:11 copular:12 existential:4 anaphoric:12 question:16 "
        "imperative:5 swapped:3 weather:2"
    ),
    tenses=_weighted("past:32 perfect:12 present:24 future:9 imperfect:6 progressive:9 conditional:3 modal:9"),
    negation=0.2,
    adjective=0.26,
    relative=0.07,
    pronoun_subject=0.5,
    proper_name=0.3,
    passive=0.02,
    adjunct=0.3,
    time=0.3,
    adverb=0.16,
    modifier_noun=0.05,
    complement=0.05,
)

DOMAINS = {domain.name: domain for domain in (NEWS, PARLIAMENT, EVERYDAY)}
