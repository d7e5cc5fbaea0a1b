"""From tokens to ordinary text: the inverse of the tokeniser on what the grammar says."""

from collections.abc import Sequence

_NO_SPACE_BEFORE = frozenset(".,)")


def write(tokens: Sequence[str], language: str) -> str:
    """Join tokens as ``en`` or ``fr`` prints them.

    English clitics and closing punctuation lean on the word before (``it`` ``'s`` ``.``), French elided words on the
    word after (``l'`` ``eau``); French sets a space before ``?``, ``!``, ``:`` and ``%``, English does not.
    """
    if language == "en":
        leans_left = [token[0] in ".,)?!:%'" for token in tokens]
        leans_right = [False] * len(tokens)
    else:
        leans_left = [token in _NO_SPACE_BEFORE for token in tokens]
        leans_right = [token.endswith("'") for token in tokens]
    text = []
    for position, token in enumerate(tokens):
        if position and not leans_left[position] and not leans_right[position - 1]:
            text.append(" ")
        text.append(token)
    return "".join(text)
