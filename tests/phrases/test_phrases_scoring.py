"""Scores against a slow reading of their definitions, and extracted pairs against Moses' own."""

from collections import Counter, defaultdict
from math import prod
from pathlib import Path

import numpy as np
from aligned_texts import assert_same_table, random_text, real_text, spelt
from alignments import alignments_of

from neural_smt.alignment.lexical import LexicalTable, lexical_table
from neural_smt.io.files import read_lines
from neural_smt.io.ragged import Ragged
from neural_smt.phrases.extraction import extract_pairs
from neural_smt.phrases.scoring import score_pairs, unpack_links
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
    lexical = lexical_table([(source, target, alignments)], len(VOCABULARY), len(VOCABULARY))
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


def test_links_unpack_by_target_then_source() -> None:
    links = unpack_links(np.array([1 << 1 | 1 << 8, 0, 1 << 63], dtype=np.uint64))
    assert [row.tolist() for row in links] == [[[1, 0], [0, 1]], [], [[7, 7]]]


def test_word_pairs_without_lexical_entry_count_as_one() -> None:
    text, other = Ragged.from_lists([[3, 4]]), Ragged.from_lists([[5]])
    lexical = lexical_table([(other, other, alignments_of([[(0, 0)]]))], len(VOCABULARY), len(VOCABULARY))
    pairs = extract_pairs(text, text, alignments_of([[(0, 0)]]), 7)
    assert score_pairs(pairs, lexical, VOCABULARY, VOCABULARY, 7, 0.5).scores.tolist() == [[0.5, 1, 0.5, 1]] * 4


def test_moses_extracted_pairs(shared: Path) -> None:
    real = real_text(shared)
    pairs = extract_pairs(*real.text, 7)
    phrases = zip(real.vocabularies, (pairs.source_phrases, pairs.target_phrases), strict=True)
    texts = [[vocabulary.text(phrase) for phrase in own] for vocabulary, own in phrases]
    links = [" ".join(f"{i}-{j}" for i, j in rows.tolist()) for rows in unpack_links(pairs.links)]
    rows = zip(pairs.source.tolist(), pairs.target.tolist(), links, strict=True)
    ours = sorted(f"{texts[0][source]} ||| {texts[1][target]} ||| {inside}" for source, target, inside in rows)
    assert ours == sorted(read_lines(real.folder / "extract.sorted.gz"))
