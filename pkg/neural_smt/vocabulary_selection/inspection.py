"""Why a word is in the target vocabulary of a sentence: which source word or phrase brought it, and at which rank."""

from dataclasses import dataclass, field

import numpy as np

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import UNK
from neural_smt.vocabulary_selection.building import DIRECT, applicable_phrases, frequent_ids, top_entries, word_lists
from neural_smt.vocabulary_selection.candidates import VocabularySettings
from neural_smt.vocabulary_selection.sources import Sources


@dataclass
class Reasons:
    """Where one target word comes from.

    dictionary: (source word, rank in its list, w(t|s)); phrases: (source phrase, rank of the best of its target phrases
    with the word, that phrase, p(e|f)); frequent: rank among all words, from 1, where the word is of V^T (0 for UNK and
    EOS); reference: whether the reference has it. Ranks count from 1.
    """

    dictionary: list[tuple[str, int, float]] = field(default_factory=list)
    phrases: list[tuple[str, int, str, float]] = field(default_factory=list)
    frequent: int | None = None
    reference: bool = False

    @property
    def only_frequent(self) -> bool:
        """Whether the word is there for its frequency alone."""
        return not (self.dictionary or self.phrases or self.reference)


def explain(
    sources: Sources, settings: VocabularySettings, line: str, reference: str | None = None
) -> dict[int, Reasons]:
    """The reasons for every id of the set that ``build_sets`` makes of a sentence, in rising order of ids."""
    reasons: dict[int, Reasons] = {}
    sentence = sources.encode([line])
    if settings.dictionary:
        lists = word_lists(sources.lexical, sources.ids, settings.dictionary)
        for source in dict.fromkeys(word for word in sentence.values.tolist() if word >= 0):
            for rank, word in enumerate(lists[source].tolist(), start=1):
                given = sources.lexical.pair(source, sources.target_id(word))[1]
                entry = (sources.source.words[source], rank, given)
                reasons.setdefault(word, Reasons()).dictionary.append(entry)
    if settings.phrases:
        _explain_phrases(sources, settings, sentence, reasons)
    for rank, word in enumerate(frequent_ids(settings.frequent, len(sources.network)).tolist(), start=-1):
        reasons.setdefault(word, Reasons()).frequent = max(rank, 0)
    if reference is not None:
        for word in sources.encode_reference([reference]).values.tolist():
            reasons.setdefault(word, Reasons()).reference = True
    return dict(sorted(reasons.items()))


def _explain_phrases(
    sources: Sources, settings: VocabularySettings, sentence: Ragged, reasons: dict[int, Reasons]
) -> None:
    table = sources.phrase_table
    numbers = applicable_phrases(table, sentence, settings.max_length)[1]
    for number, rows in zip(numbers.tolist(), top_entries(table, numbers, settings.phrases), strict=True):
        phrase = sources.source.text(table.source[number].tolist())
        taken: set[int] = set()
        for rank, row in enumerate(rows.tolist(), start=1):
            target = table.target[row]
            entry = (phrase, rank, sources.target.text(target.tolist()), float(table.scores[row, DIRECT]))
            for word in np.unique(sources.ids[target]).tolist():
                if word != UNK and word not in taken:
                    taken.add(word)
                    reasons.setdefault(word, Reasons()).phrases.append(entry)


HEADER = ("word", "id", "V^D", "V^P", "V^T", "V^R")


def reason_rows(sources: Sources, reasons: dict[int, Reasons]) -> list[tuple[str, ...]]:
    """Rows of a table with the columns ``HEADER``; the most probable reason of a column comes first."""
    rows = []
    for number, found in reasons.items():
        words = sorted(found.dictionary, key=lambda entry: -entry[-1])
        dictionary = "; ".join(f"{source} #{rank} {given:.3f}" for source, rank, given in words)
        pairs = sorted(found.phrases, key=lambda entry: -entry[-1])
        phrases = "; ".join(f"{phrase} #{rank} {target} {p:.3f}" for phrase, rank, target, p in pairs)
        frequent = "" if found.frequent is None else f"#{found.frequent}" if found.frequent else "always"
        row = (sources.network.words[number], str(number), dictionary, phrases, frequent)
        rows.append((*row, "yes" if found.reference else ""))
    return rows
