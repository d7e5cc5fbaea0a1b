"""What is written for the unknown words of a translation (Jean et al. 2015, section 4.1; ``replace_UNK.py``).

The source word with the largest attention, the end symbol left out, is copied or looked up:

- heuristic 0: copied;
- heuristic 1: its most probable translation, copied if the dictionary has none;
- heuristic 2: as 1 where it starts with a lowercase letter, copied otherwise.
"""

from collections.abc import Mapping, Sequence

from neural_smt.decoding.attention.hypotheses import Hypothesis
from neural_smt.decoding.attention.settings import Heuristic
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary
from neural_smt.vocabulary_selection.sources import Sources


def best_translations(sources: Sources) -> dict[str, str]:
    """The target word with the largest w(t|s) of each source word that has one, ties by id, network's or not."""
    assert sources.lexical is not None
    ranked = sources.lexical.top_translations(1 + len(RESERVED))
    found = {}
    for source, words in zip(sources.source.words, ranked, strict=True):
        known = [word for word in words.tolist() if word >= len(RESERVED)]
        if known and source not in RESERVED:
            found[source] = sources.target.words[known[0]]
    return found


def replacement(word: str, heuristic: Heuristic, dictionary: Mapping[str, str]) -> str:
    """What is written for an unknown word that looks at the source word ``word``."""
    if heuristic == 1 or (heuristic == 2 and word[0].islower()):
        return dictionary.get(word, word)
    return word


def spell(
    hypothesis: Hypothesis,
    source: Sequence[str],
    vocabulary: Vocabulary,
    heuristic: Heuristic | None = None,
    dictionary: Mapping[str, str] | None = None,
) -> list[str]:
    """The words of a translation of the tokens ``source``; with a heuristic the unknown ones are replaced.

    An unknown word stays as it is (``<unk>``) without a heuristic.
    """
    words = [vocabulary.words[word] for word in hypothesis.words.tolist()]
    if heuristic is not None:
        for position, word in enumerate(hypothesis.words.tolist()):
            if word == UNK:
                words[position] = replacement(source[hypothesis.aligned[position]], heuristic, dictionary or {})
    return words
