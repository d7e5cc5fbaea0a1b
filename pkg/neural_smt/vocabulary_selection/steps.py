"""Steps of the stage ``vocabulary_selection``: vocabularies of networks and of sentences, and why a word is in one."""

import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neural_smt.errors import UserError, required
from neural_smt.experiment.settings import Settings, section_settings
from neural_smt.io.ragged import Ragged
from neural_smt.io.streams import TextLines, parallel_lines, stream_lines
from neural_smt.phrases.table import DIRECT
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import RESERVED, UNK, Vocabulary
from neural_smt.vocabulary_selection.building import (
    Sources,
    applicable_phrases,
    build_pieces,
    frequent_ids,
    load_sources,
    top_entries,
    word_lists,
)
from neural_smt.vocabulary_selection.candidates import SIZES, save_pieces

log = logging.getLogger(__name__)

HEADER = ("word", "id", "V^D", "V^P", "V^T", "V^R")


def build_network_vocabulary(*, text: Path, size: int, output: Path) -> None:
    """Choose the words that a network predicts: the ``size`` most frequent ones of a tokenised target text."""
    if size < 1:
        raise UserError(f"the size of the network vocabulary is {size}; set it to 1 or more words")
    words = Vocabulary.from_sentences(stream_lines(text))
    if len(words) == len(RESERVED):
        raise UserError(f"{text}: holds no words to choose from; check the corpus stage")
    kept = most_frequent(words, size)
    kept.save(output)
    log.info("%d of %d words kept", len(kept) - len(RESERVED), len(words) - len(RESERVED))


def build_candidates(
    *,
    source: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    network_vocabulary: Path,
    settings: dict[str, Any],
    output: Path,
    lexical: Path | None = None,
    phrase_table: Path | None = None,
    reference: Path | None = None,
) -> None:
    """Write the target vocabulary of every sentence of a text (Mi et al. 2016): V^D, V^P, V^T and, for training, V^R.

    settings: sizes of ``vocabulary_selection``; lexical, phrase_table: folders that V^D and V^P are read from, needed
    where the part is not switched off; reference: the translations of a training text. Writes the folder of
    ``CandidateSets``.
    """
    chosen = section_settings(SIZES, settings)
    sources = load_sources(source_vocabulary, target_vocabulary, network_vocabulary, lexical, phrase_table, chosen)
    lines, references = text_lines(source, reference)
    start = time.monotonic()
    ids = save_pieces(output, build_pieces(sources, chosen, lines, references))
    sentences = max(len(lines), 1)
    speed = sentences / max(time.monotonic() - start, 1e-9)
    log.info("%d sentences, %.0f a second; %.1f words a sentence on average", len(lines), speed, ids / sentences)


def text_lines(source: Path, reference: Path | None) -> tuple[TextLines, TextLines | None]:
    """The sentences, and their translations if there are any."""
    return (TextLines(source), None) if reference is None else parallel_lines(source, reference)


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


def explain(sources: Sources, settings: Settings, line: str, reference: str | None = None) -> dict[int, Reasons]:
    """The reasons for every id of the set that ``build_sets`` makes of a sentence, in rising order of ids."""
    reasons: dict[int, Reasons] = {}
    sentence = sources.encode([line])
    if settings.dictionary:
        lexical = required(sources.lexical)
        lists = word_lists(lexical, sources.ids, settings.dictionary)
        for source in dict.fromkeys(word for word in sentence.values.tolist() if word >= 0):
            for rank, word in enumerate(lists[source].tolist(), start=1):
                given = lexical.pair(source, sources.target.index[sources.network.words[word]])[1]
                entry = (sources.source.words[source], rank, given)
                reasons.setdefault(word, Reasons()).dictionary.append(entry)
    if settings.phrases:
        _explain_phrases(sources, settings, sentence, reasons)
    for rank, word in enumerate(frequent_ids(settings.frequent, len(sources.network)).tolist(), start=-1):
        reasons.setdefault(word, Reasons()).frequent = max(rank, 0)
    if reference is not None:
        for word in sources.network.encode_words([reference]).values.tolist():
            reasons.setdefault(word, Reasons()).reference = True
    return dict(sorted(reasons.items()))


def _explain_phrases(sources: Sources, settings: Settings, sentence: Ragged, reasons: dict[int, Reasons]) -> None:
    table = required(sources.phrase_table)
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


def reason_rows(sources: Sources, reasons: dict[int, Reasons]) -> list[tuple[str, ...]]:
    """Rows of a table with the columns ``HEADER``; the most probable reason of a column comes first."""
    rows: list[tuple[str, ...]] = []
    for number, found in reasons.items():
        dictionary, phrases = (sorted(why, key=lambda entry: -entry[-1]) for why in (found.dictionary, found.phrases))
        cells = (
            "; ".join(f"{source} #{rank} {given:.3f}" for source, rank, given in dictionary),
            "; ".join(f"{phrase} #{rank} {target} {given:.3f}" for phrase, rank, target, given in phrases),
            "" if found.frequent is None else f"#{found.frequent}" if found.frequent else "always",
            "yes" if found.reference else "",
        )
        rows.append((sources.network.words[number], str(number), *cells))
    return rows
