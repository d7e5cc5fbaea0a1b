"""Steps of the stage ``vocabularies``, from files to files."""

import logging
import time
from pathlib import Path
from typing import Any

from neural_smt.errors import UserError
from neural_smt.io.files import read_lines, read_parallel, write_csv
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import RESERVED, Vocabulary
from neural_smt.vocabulary_selection.building import write_sets
from neural_smt.vocabulary_selection.candidates import VocabularySettings
from neural_smt.vocabulary_selection.inspection import HEADER, explain, reason_rows
from neural_smt.vocabulary_selection.sources import Sources, load_sources

log = logging.getLogger(__name__)


def build_network_vocabulary(*, text: Path, size: int, output: Path) -> None:
    """Choose the words that a network predicts: the ``size`` most frequent ones of a tokenised target text."""
    if size < 1:
        raise UserError(f"the size of the network vocabulary is {size}; set it to 1 or more words")
    words = Vocabulary.from_sentences(read_lines(text))
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

    settings: ``VocabularySettings``; lexical, phrase_table: folders that V^D and V^P are read from, needed where the
    part is not switched off; reference: the translations of a training text. Writes the folder of ``CandidateSets``.
    """
    chosen = VocabularySettings.read(settings)
    vocabularies = source_vocabulary, target_vocabulary, network_vocabulary
    sources = _needed_sources(chosen, *vocabularies, lexical, phrase_table)
    lines, references = _read(source, reference)
    start = time.monotonic()
    written = write_sets(output, sources, chosen, lines, references)
    seconds = max(time.monotonic() - start, 1e-9)
    log.info(
        "%d sentences, %d applicable phrases, %.0f phrases/s; %.1f words a sentence on average",
        *(len(lines), written.phrases, written.phrases / seconds, written.ids / max(len(lines), 1)),
    )


def inspect_sentence(
    *,
    source: Path,
    line: int,
    source_vocabulary: Path,
    target_vocabulary: Path,
    network_vocabulary: Path,
    settings: dict[str, Any],
    lexical: Path | None = None,
    phrase_table: Path | None = None,
    reference: Path | None = None,
    everything: bool = False,
    output: Path | None = None,
) -> None:
    """Show, for a sentence, which target word came from which set, by which source word or phrase and at which rank.

    line: number of the sentence in ``source``, from 1; reference: the text of its translations, for V^R; settings,
    lexical, phrase_table: as for build_candidates; everything: also words of V^T that nothing else brought; output: a
    CSV file (on the terminal without it).
    """
    chosen = VocabularySettings.read(settings)
    vocabularies = source_vocabulary, target_vocabulary, network_vocabulary
    sources = _needed_sources(chosen, *vocabularies, lexical, phrase_table)
    lines, references = _read(source, reference)
    if not 1 <= line <= len(lines):
        raise UserError(f"{source}: has {len(lines)} lines, so there is no line {line}; name one of them")
    reasons = explain(sources, chosen, lines[line - 1], None if references is None else references[line - 1])
    shown = {number: why for number, why in reasons.items() if everything or not why.only_frequent}
    rows = reason_rows(sources, shown)
    if output is not None:
        write_csv(output, HEADER, rows)
        return
    print("\n".join("\t".join(cells) for cells in (HEADER, *rows)))
    print(f"{len(reasons)} words; {len(reasons) - len(shown)} of V^T alone are not shown")


def _needed_sources(
    settings: VocabularySettings,
    source_vocabulary: Path,
    target_vocabulary: Path,
    network_vocabulary: Path,
    lexical: Path | None,
    phrase_table: Path | None,
) -> Sources:
    """What sets are drawn from; a table whose part is switched off is not read."""
    for part, table, given in (("dictionary", "lexical", lexical), ("phrases", "phrase_table", phrase_table)):
        if getattr(settings, part) and given is None:
            raise UserError(
                f"setting vocabularies.{part} is {getattr(settings, part)}, but no {table} is given; give one, or set "
                "it to 0"
            )
    return load_sources(
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        network_vocabulary=network_vocabulary,
        lexical=lexical if settings.dictionary else None,
        phrase_table=phrase_table if settings.phrases else None,
    )


def _read(source: Path, reference: Path | None) -> tuple[list[str], list[str] | None]:
    """The sentences, and their translations if there are any."""
    return (read_lines(source), None) if reference is None else read_parallel(source, reference)
