"""The steps of the stage ``phrases``."""

import logging
from pathlib import Path
from typing import Any

from neural_smt.alignment.lexical import LexicalTable
from neural_smt.alignment.pharaoh import check_alignments, read_alignments
from neural_smt.errors import UserError
from neural_smt.io.files import read_parallel
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.scoring import score_pairs
from neural_smt.vocabulary import Vocabulary

log = logging.getLogger(__name__)


def build_phrase_table(
    *,
    source: Path,
    target: Path,
    alignment: Path,
    lexical: Path,
    source_vocabulary: Path,
    target_vocabulary: Path,
    settings: dict[str, Any],
    output: Path,
    threads: int = 1,
) -> None:
    """Extract the phrase pairs of an aligned text, score them, and write the phrase table with its reordering model.

    settings: ``max_length`` (words a side, 1 to 8), ``reordering_smoothing`` (added to each orientation count).
    """
    vocabularies = Vocabulary.load(source_vocabulary), Vocabulary.load(target_vocabulary)
    lines = read_parallel(source, target)
    texts = [vocabulary.encode(side) for vocabulary, side in zip(vocabularies, lines, strict=True)]
    del lines
    alignments = read_alignments(alignment)
    check_alignments(alignments, texts[0].lengths, texts[1].lengths, alignment, source)
    table = LexicalTable.load(lexical, mapped=False)
    sizes = len(table.source_given_null), len(table.target_given_null)
    if sizes != (len(vocabularies[0]), len(vocabularies[1])):
        raise UserError(f"{lexical}: made with other vocabularies; build the lexical tables again")
    max_length = settings["max_length"]
    pairs = extract_pairs(*texts, alignments, max_length, threads)
    log.info("%d phrase pairs extracted from %d sentence pairs", len(pairs), len(alignments))
    phrase_table = score_pairs(pairs, table, *vocabularies, max_length, settings["reordering_smoothing"], threads)
    log.info("%d entries of %d source phrases", len(phrase_table), len(phrase_table.source))
    phrase_table.save(output)
