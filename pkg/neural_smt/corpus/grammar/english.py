"""English forms: plurals, verb forms, and the article before a vowel."""

from functools import cache
from typing import NamedTuple

from neural_smt.corpus.grammar.fragments import mapping, word_list


class VerbForms(NamedTuple):
    """The principal parts of an English verb, without particle."""

    base: str
    past: str
    participle: str

    @property
    def third(self) -> str:
        """Third person singular present."""
        return mapping("third person").get(self.base) or pluralise(self.base)

    @property
    def gerund(self) -> str:
        """The -ing form."""
        base = self.base
        if base in _DOUBLING:
            return f"{base}{base[-1]}ing"
        if base.endswith("ie"):
            return f"{base[:-2]}ying"
        return f"{base if base.endswith(('ee', 'be', 'oe')) else base.removesuffix('e')}ing"


_DOUBLING = frozenset(word_list("doubling verb"))
"""Verbs that double their last consonant before -ed and -ing (British spelling)."""


def pluralise(noun: str) -> str:
    """The regular plural of a noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def verb_forms(entry: str) -> VerbForms:
    """Read ``write/wrote/written`` (irregular) or ``decide`` (regular)."""
    if "/" in entry:
        return VerbForms(*entry.split("/"))
    if entry in _DOUBLING:
        past = f"{entry}{entry[-1]}ed"
    elif entry.endswith("y") and entry[-2] not in "aeiou":
        past = f"{entry[:-1]}ied"
    else:
        past = f"{entry.removesuffix('e')}ed"
    return VerbForms(entry, past, past)


_CONSONANT_ONSETS = ("uni", "use", "usu", "euro", "one", "once")
_VOWEL_ONSETS = ("hour", "honest", "honour", "heir", "unin", "unim")


@cache
def vowel_sound(form: str) -> bool:
    """Whether ``an`` rather than ``a`` stands before the word."""
    lowered = form.lower()
    onsets = lowered[0] in "aeiou" and not lowered.startswith(_CONSONANT_ONSETS)
    return onsets or lowered.startswith(_VOWEL_ONSETS)
