"""Scores against a slow reading of their definitions, and against Moses' own on 2,000 sentence pairs."""

from collections import Counter, defaultdict
from math import prod
from pathlib import Path

import numpy as np
import pytest
from aligned_texts import assert_same_table, random_text, spelt
from alignments import alignments_of, rounded
from moses_tables import read_moses

from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.errors import UserError
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.moses_format import write_moses
from neural_smt.phrases.scoring import alignment_rank, score_pairs, transpose_links, unpack_links
from neural_smt.phrases.table import PhraseTable
from neural_smt.vocabulary import Vocabulary

WORDS = 5
VOCABULARY = Vocabulary(["<unk>", "<s>", "</s>", *"abcde"], [0] * (3 + WORDS))


def rows_of(links: tuple[tuple[int, int], ...], side: int, words: int) -> list[list[int]]:
    """For each word of one side (0 source, 1 target), its partners in ascending order."""
    return [sorted(link[1 - side] for link in links if link[side] == word) for word in range(words)]


def slow_weight(phrases: tuple, side: int, kinds: Counter, lexical: LexicalTable) -> float:
    """The lexical weight of the words of one side, given the other, by the most frequent links of a pair."""
    predicted = phrases[side]
    best = max(kinds, key=lambda links: (kinds[links], rows_of(links, side, len(predicted))))
    null = (lexical.source_given_null, lexical.target_given_null)[side]
    factors = []
    for word, partners in zip(predicted, rows_of(best, side, len(predicted)), strict=True):
        pairs = [(phrases[0][p], word) if side else (word, phrases[1][p]) for p in partners]
        factors.append(np.mean([lexical.pair(s, t)[side] for s, t in pairs]) if pairs else null[word])
    return prod(factors)


def text_and_table(seed: int, threads: int = 1, step: int = 1) -> tuple[list[tuple], LexicalTable, PhraseTable]:
    """step: -1 for links in the opposite order."""
    source, target, links = random_text(seed, sentences=150, words=WORDS)
    alignments = alignments_of([own[::step] for own in links])
    lexical = lexical_table(source, target, alignments, len(VOCABULARY), len(VOCABULARY))
    pairs = extract_pairs(source, target, alignments, 4, threads)
    return spelt(pairs), lexical, score_pairs(pairs, lexical, VOCABULARY, VOCABULARY, 4, 0.5, threads)


def test_every_entry_has_the_scores_of_its_definition() -> None:
    occurrences, lexical, table = text_and_table(seed=5)
    source_counts, target_counts = (Counter(pair[side] for pair in occurrences) for side in (0, 1))
    kinds: dict[tuple, Counter] = defaultdict(Counter)
    orientations: dict[tuple, np.ndarray] = defaultdict(lambda: np.zeros(6))
    for source, target, links, previous, following in occurrences:
        kinds[source, target][links] += 1
        orientations[source, target][[previous, 3 + following]] += 1
    shortlex = sorted(kinds, key=lambda pair: [(len(phrase), phrase) for phrase in pair])
    entries = zip(table.entry_source.tolist(), table.target, strict=True)
    assert [(tuple(table.source[s].tolist()), tuple(t.tolist())) for s, t in entries] == shortlex
    ties = 0
    for entry, pair in enumerate(shortlex):
        count = kinds[pair].total()
        assert table.counts[entry].tolist() == [target_counts[pair[1]], source_counts[pair[0]], count]
        weights = [slow_weight(pair, side, kinds[pair], lexical) for side in (0, 1)]
        scores = [count / target_counts[pair[1]], weights[0], count / source_counts[pair[0]], weights[1]]
        np.testing.assert_allclose(table.scores[entry], scores, rtol=1e-6)
        np.testing.assert_allclose(table.reordering[entry], (orientations[pair] + 0.5) / (count + 1.5), rtol=1e-6)
        best = max(kinds[pair], key=lambda links: (kinds[pair][links], rows_of(links, 1, len(pair[1]))))
        assert table.alignment[entry].tolist() == [list(link) for link in best]
        ties += list(kinds[pair].values()).count(max(kinds[pair].values())) > 1
    assert ties > 10


def test_threads_and_order_of_links_do_not_change_the_table() -> None:
    one, two = text_and_table(seed=6)[2], text_and_table(seed=6, threads=2, step=-1)[2]
    assert_same_table(one, two, "scores", "counts", "reordering", "source_index")


def test_order_of_alignments_is_that_of_lists_of_lists() -> None:
    rng = np.random.default_rng(8)
    drawn = rng.random((300, 3, 3)) < 0.5
    packed = [np.uint64(sum(1 << (8 * int(j) + int(i)) for i, j in np.argwhere(links))) for links in drawn]
    lists = [[np.flatnonzero(links[:, j]).tolist() for j in range(3)] for links in drawn]
    for a, b in zip(range(0, 300, 2), range(1, 300, 2), strict=True):
        assert (alignment_rank(packed[a]) > alignment_rank(packed[b])) == (lists[a] > lists[b])
        assert transpose_links(transpose_links(packed[a])) == packed[a]


def test_links_unpack_by_target_then_source() -> None:
    links = unpack_links(np.array([1 << 1 | 1 << 8, 0, 1 << 63], dtype=np.uint64))
    assert [row.tolist() for row in links] == [[[1, 0], [0, 1]], [], [[7, 7]]]


def test_word_pairs_without_lexical_entry_count_as_one() -> None:
    text, other = Ragged.from_lists([[3, 4]]), Ragged.from_lists([[5]])
    lexical = lexical_table(other, other, alignments_of([[(0, 0)]]), len(VOCABULARY), len(VOCABULARY))
    pairs = extract_pairs(text, text, alignments_of([[(0, 0)]]))
    assert (
        score_pairs(pairs, lexical, VOCABULARY, VOCABULARY).scores.tolist() == [[0.5, 1, 0.5, 1], [0.5, 1, 0.5, 1]] * 2
    )


def test_nothing_extracted_is_refused() -> None:
    text = Ragged.from_lists([[3, 4]])
    alignments = alignments_of([[]])
    lexical = lexical_table(text, text, alignments, len(VOCABULARY), len(VOCABULARY))
    with pytest.raises(UserError, match="no phrase pair"):
        score_pairs(extract_pairs(text, text, alignments), lexical, VOCABULARY, VOCABULARY)


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
