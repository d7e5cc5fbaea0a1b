"""Phrase tables in files, as the steps of rescoring read them."""

from pathlib import Path

from moses_tables import moses_vocabularies, read_moses

from neural_smt.io.files import write_lines
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import Vocabulary


def save_table(folder: Path, lines: list[str]) -> dict[str, Path]:
    """Write a phrase table, given as Moses writes it, and its vocabularies; the files as arguments of a step."""
    write_lines(folder / "table.txt", lines)
    vocabularies = moses_vocabularies(folder / "table.txt")
    read_moses(folder / "table.txt", None, *vocabularies).save(folder / "table")
    files = {"phrase_table": folder / "table"}
    for vocabulary, side in zip(vocabularies, ("source", "target"), strict=True):
        files[f"{side}_vocabulary"] = folder / side
        vocabulary.save(folder / side)
    return files


def load_words(folder: Path, count: int) -> tuple[list[Vocabulary], list[Vocabulary]]:
    """The vocabularies of a table of ``save_table``, and the shortlists of their most frequent words."""
    vocabularies = [Vocabulary.load(folder / side) for side in ("source", "target")]
    return vocabularies, [most_frequent(vocabulary, count) for vocabulary in vocabularies]
