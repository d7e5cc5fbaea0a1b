"""The 2,000 sentence pairs of the reference data, through Moses' steps 4 to 7 and through ours."""

from pathlib import Path

import numpy as np
import pytest
from aligned_texts import assert_same_table
from alignments import rounded
from moses_tables import read_moses

from neural_smt.alignment.lexical import lexical_table
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.consolidation import unpack_links
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.moses_format import write_moses
from neural_smt.phrases.scoring import score_pairs
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

Vocabularies = tuple[Vocabulary, Vocabulary]
AlignedText = tuple[Ragged, Ragged, Ragged]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "oracle" / "extraction"


@pytest.fixture(scope="module")
def vocabularies(folder: Path) -> Vocabularies:
    return tuple(Vocabulary.from_sentences(read_lines(folder / f"train.{side}.gz")) for side in ("en", "fr"))


@pytest.fixture(scope="module")
def aligned(folder: Path, vocabularies: Vocabularies) -> AlignedText:
    sides = zip(vocabularies, ("en", "fr"), strict=True)
    texts = [vocabulary.encode(read_lines(folder / f"train.{side}.gz")) for vocabulary, side in sides]
    return *texts, read_alignments(folder.parent / "symmetrization" / "grow-diag-final-and.align.gz")


@pytest.fixture(scope="module")
def table(aligned: AlignedText, vocabularies: Vocabularies) -> PhraseTable:
    """Lexical probabilities are rounded to seven decimals: Moses passes them on as such text."""
    lexical = rounded(lexical_table(*aligned, *map(len, vocabularies)))
    return score_pairs(extract_pairs(*aligned), lexical, *vocabularies)


@pytest.fixture(scope="module")
def reference(folder: Path, vocabularies: Vocabularies) -> PhraseTable:
    reordering = folder / "reordering-table.wbe-msd-bidirectional-fe.gz"
    return read_moses(folder / "phrase-table.gz", reordering, *vocabularies)


def test_moses_extracted_pairs(folder: Path, aligned: AlignedText, vocabularies: Vocabularies) -> None:
    pairs = extract_pairs(*aligned)
    texts = [
        [vocabulary.text(phrase.tolist()) for phrase in phrases]
        for vocabulary, phrases in zip(vocabularies, (pairs.source_phrases, pairs.target_phrases), strict=True)
    ]
    links = [" ".join(f"{i}-{j}" for i, j in rows.tolist()) for rows in unpack_links(pairs.links)]
    rows = zip(pairs.source.tolist(), pairs.target.tolist(), links, strict=True)
    ours = sorted(f"{texts[0][source]} ||| {texts[1][target]} ||| {inside}" for source, target, inside in rows)
    assert ours == sorted(read_lines(folder / "extract.sorted.gz"))


def test_moses_phrase_and_reordering_tables(table: PhraseTable, reference: PhraseTable) -> None:
    assert len(table) == 72517
    assert_same_table(table, reference, "counts")
    np.testing.assert_allclose(table.scores, reference.scores, rtol=1e-5)
    np.testing.assert_allclose(table.reordering, reference.reordering, rtol=1e-5)


def test_moses_text_is_the_same_byte_for_byte(
    tmp_path: Path, folder: Path, table: PhraseTable, vocabularies: Vocabularies
) -> None:
    write_moses(table, vocabularies, tmp_path / "phrase-table", tmp_path / "reordering-table")
    assert read_lines(tmp_path / "phrase-table") == read_lines(folder / "phrase-table.gz")
