"""Moses' tables read over given vocabularies, for tests of all stages."""

from collections.abc import Iterable
from pathlib import Path

from neural_smt.io.files import write_lines
from neural_smt.phrases.moses_format import read_moses_text
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary


def moses_vocabularies(phrase_table: Path) -> tuple[Vocabulary, Vocabulary]:
    """The source and target vocabulary of the words of a Moses phrase table, counted over its rows."""
    return read_moses_text(phrase_table, None).vocabularies


def read_moses(phrase_table: Path, reordering: Path | None, source: Vocabulary, target: Vocabulary) -> PhraseTable:
    """A Moses phrase table and its reordering table over given vocabularies."""
    return read_moses_text(phrase_table, reordering).table(source, target)


def save_table(folder: Path, pairs: Iterable[tuple[str, str]]) -> tuple[dict[str, Path], tuple[Vocabulary, Vocabulary]]:
    """A phrase table of these pairs, all with the same scores, and its vocabularies: as files by the names that steps
    have for them, and the latter as they are. The table is there as text too, ``table.txt``.
    """
    rows = (f"{source} ||| {target} ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||" for source, target in sorted(pairs))
    write_lines(folder / "table.txt", rows)
    text = read_moses_text(folder / "table.txt", None)
    files = {name: folder / name for name in ("phrase_table", "source_vocabulary", "target_vocabulary")}
    for content, path in zip((text.table(*text.vocabularies), *text.vocabularies), files.values(), strict=True):
        content.save(path)
    return files, text.vocabularies
