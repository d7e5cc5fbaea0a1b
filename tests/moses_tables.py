"""Moses' tables read over given vocabularies, for tests of all stages."""

from pathlib import Path

from neural_smt.phrases.moses_format import read_moses_text
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary


def moses_vocabularies(phrase_table: Path) -> tuple[Vocabulary, Vocabulary]:
    """The source and target vocabulary of the words of a Moses phrase table, counted over its rows."""
    return read_moses_text(phrase_table, None).vocabularies


def read_moses(phrase_table: Path, reordering: Path | None, source: Vocabulary, target: Vocabulary) -> PhraseTable:
    """A Moses phrase table and its reordering table over given vocabularies."""
    return read_moses_text(phrase_table, reordering).table(source, target)
