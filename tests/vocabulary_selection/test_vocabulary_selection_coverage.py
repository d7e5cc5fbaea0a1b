"""Coverage of the reference and sizes of sets, by hand and by brute force; reasons for every word."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from candidates import whole_sets
from vocabularies_world import CASES, SOURCE, TARGET, sizes

from neural_smt.io.files import write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import EOS, UNK
from neural_smt.vocabulary_selection import coverage_steps
from neural_smt.vocabulary_selection.building import Sources, build_sets
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.vocabulary_selection.coverage_steps import (
    Coverage,
    combinations,
    draw_pairs,
    measure_combinations,
    measure_pieces,
)
from neural_smt.vocabulary_selection.steps import explain, reason_rows


def test_literal_coverage() -> None:
    sets = CandidateSets(Ragged.from_lists([[5, 7], [], [8]]), np.array([0, 2, 3], dtype=np.int32), 10)
    references = Ragged.from_lists([[3, 5, 7, 7], [0, 4], [8, 3, 9]])
    for batch, size in ((3, 6.0), (2, 4.5), (1, 4.0)):
        assert measure_pieces([(sets, references)], batch) == Coverage(9, 8, 6, 3, 1, 4.0, size)
    pieces = [(sets.take(np.array(rows)), references.take(np.array(rows))) for rows in ([0, 1], [2])]
    assert measure_pieces(pieces, 2) == measure_pieces([(sets, references)], 2)


def test_coverage_of_no_sentences() -> None:
    nothing = Ragged.from_lists([])
    assert measure_pieces([(whole_sets(nothing, 5), nothing)], 80) == Coverage(0, 0, 0, 0, 0, 0.0, 0.0)


def test_coverage_equals_brute_force(sources: Sources) -> None:
    for settings in (sizes(1, 0, 0), sizes(0, 1, 0), sizes(1, 1, 2)):
        sets = build_sets(sources, settings, SOURCE)
        references = [[sources.network.index[word] for word in line.split()] for line in TARGET]
        found = measure_pieces([(sets, sources.network.encode_words(TARGET))], 2)
        hits = [[word in sets.of(i) for word in words] for i, words in enumerate(references)]
        assert found.covered == sum(sum(hit) for hit in hits)
        assert found.complete_sentences == sum(all(hit) for hit in hits)
        assert found.reference_words == found.known == sum(len(words) for words in references)
        assert found.sentence_size == np.mean([len(sets.of(i)) for i in range(len(TARGET))])


def test_the_columns_are_those_of_the_paper() -> None:
    expected = [(parts, top, sizes(*chosen)) for parts, top, chosen in CASES["columns"]]
    assert list(combinations(sizes(), [10, 20])) == expected


def test_unions_cover_more_than_their_parts_and_the_reference_all(sources: Sources) -> None:
    ids = sources.encode(SOURCE), sources.network.encode_words(TARGET)
    measured = measure_combinations(sources, sizes(1, 1, 1), [1, 2], *ids, batch=2, training=True)
    found = {(name, top): held for name, top, held in measured}
    for top in (1, 2):
        both, alone = found["V^P + V^D", top], found["V^D", top]
        assert found["V^P + V^D + V^T", top].covered >= both.covered >= max(alone.covered, found["V^P", None].covered)
        assert both.sentence_size >= max(alone.sentence_size, found["V^P", None].sentence_size)
        assert both.batch_size >= both.sentence_size
    trained = found["V^P + V^D + V^T + V^R", 1]
    assert trained.covered == trained.reference_words and trained.complete_sentences == len(SOURCE)


def test_a_text_measured_in_pieces_gives_the_same_coverage(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = sizes(2, 2, 1)
    ids = sources.encode(SOURCE), sources.network.encode_words(TARGET)
    arguments = sources, settings, [1], *ids, 2, True
    whole = list(measure_combinations(*arguments))
    monkeypatch.setattr(coverage_steps, "PIECE", 3)
    assert list(measure_combinations(*arguments)) == whole
    sets, references = build_sets(sources, settings, SOURCE, TARGET), sources.network.encode_words(TARGET)
    assert whole[-1][2] == measure_pieces([(sets, references)], 2)


def test_pairs_are_drawn_from_all_of_a_text_and_stay_together(tmp_path: Path) -> None:
    sides = [tmp_path / name for name in ("source", "target")]
    for side in sides:
        write_lines(side, [f"{side.name} {number}" for number in range(100)])

    def encode(lines: Iterable[str]) -> Ragged:
        return Ragged.from_lists([[int(line.split()[1])] for line in lines])

    numbers = []
    for count, seed in ((100, 1), (1000, 1), (10, 1), (10, 2)):
        source, target = draw_pairs(*sides, (encode, encode), count, seed)
        assert source.values.tolist() == target.values.tolist()
        numbers.append(source.values.tolist())
    assert numbers[0] == numbers[1] != sorted(numbers[0]) == list(range(100))
    assert numbers[2] == numbers[0][:10] != numbers[3]


@pytest.mark.parametrize("reference", [None, "la voiture zèbre"])
def test_every_word_of_a_set_has_a_reason_and_no_other(sources: Sources, reference: str | None) -> None:
    settings = sizes(2, 2, 1)
    for line in ["the red house is a zebra", "", "car"]:
        reasons = explain(sources, settings, line, reference)
        sets = build_sets(sources, settings, [line], None if reference is None else [reference])
        assert list(reasons) == sets.of(0).tolist()
        assert all(r.dictionary or r.phrases or r.frequent is not None or r.reference for r in reasons.values())


def test_reasons_name_word_phrase_and_rank(sources: Sources) -> None:
    reasons = explain(sources, sizes(2, 1, 1), "red house", "une maison")
    assert reasons[UNK].frequent == reasons[EOS].frequent == 0
    assert reasons[3].frequent == 1
    house = reasons[sources.network.index["maison"]]
    assert house.frequent is None
    assert house.dictionary == [("house", 1, pytest.approx(0.75))]
    assert house.phrases[0] == ("house", 1, "maison", pytest.approx(0.75))
    assert ("red house", 1, "maison rouge", pytest.approx(1)) in house.phrases
    assert house.reference
    rows = {row[0]: row for row in reason_rows(sources, reasons)}
    assert rows["demeure"][2:] == ("house #2 0.250", "", "", "")
    assert rows["maison"][2] == "house #1 0.750" and rows["maison"][5] == "yes"
    assert "red house #1 maison rouge 1.000" in rows["maison"][3]
    assert rows["<unk>"] == ("<unk>", "0", "", "", "always", "")
