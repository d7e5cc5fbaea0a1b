"""Coverage of the reference and sizes of sets, by hand and by brute force; reasons for every word."""

import numpy as np
import pytest
from vocabularies_world import SOURCE, TARGET, sizes

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import EOS, UNK
from neural_smt.vocabulary_selection import coverage_steps
from neural_smt.vocabulary_selection.building import Sources, build_sets
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.vocabulary_selection.coverage_steps import Coverage, combinations, measure, measure_combinations
from neural_smt.vocabulary_selection.steps import explain, reason_rows


def test_literal_coverage() -> None:
    sets = CandidateSets(Ragged.from_lists([[5, 7], [], [8]]), np.array([0, 2, 3], dtype=np.int32), 10)
    references = Ragged.from_lists([[3, 5, 7, 7], [0, 4], [8, 3, 9]])
    assert measure(sets, references, batch=3, seed=1) == Coverage(
        words=9, known=8, covered=6, sentences=3, complete=1, sentence_size=4.0, batch_size=6.0
    )
    one = measure(sets, references, batch=1, seed=1)
    assert one.batch_size == one.sentence_size
    assert 3 + 0.5 <= measure(sets, references, batch=2, seed=1).batch_size <= 6


def test_coverage_of_no_sentences_and_of_other_references() -> None:
    empty, one = (CandidateSets.from_ids(Ragged.from_lists(lists), 5) for lists in ([], [[3]]))
    assert measure(empty, Ragged.from_lists([]), 80, 1) == Coverage(0, 0, 0, 0, 0, 0.0, 0.0)
    with pytest.raises(ValueError, match="1 sets but 2 references"):
        measure(one, Ragged.from_lists([[3], [4]]), 80, 1)


def test_coverage_equals_brute_force(sources: Sources) -> None:
    for settings in (sizes(1, 0, 0), sizes(0, 1, 0), sizes(1, 1, 2)):
        sets = build_sets(sources, settings, SOURCE)
        references = [[sources.network.index[word] for word in line.split()] for line in TARGET]
        found = measure(sets, sources.encode_reference(TARGET), 2, 1)
        hits = [[word in sets.of(i) for word in words] for i, words in enumerate(references)]
        assert found.covered == sum(sum(hit) for hit in hits)
        assert found.complete == sum(all(hit) for hit in hits)
        assert found.words == found.known == sum(len(words) for words in references)
        assert found.sentence_size == np.mean([len(sets.of(i)) for i in range(len(TARGET))])


def test_the_columns_are_those_of_the_paper() -> None:
    assert list(combinations(sizes(), [10, 20])) == [
        ("V^P", None, sizes(0, 10, 0)),
        ("V^D", 10, sizes(10, 0, 0)),
        ("V^D", 20, sizes(20, 0, 0)),
        ("V^P + V^D", 10, sizes(10, 10, 0)),
        ("V^P + V^D", 20, sizes(20, 10, 0)),
        ("V^P + V^D + V^T", 10, sizes(10, 10, 2000)),
        ("V^P + V^D + V^T", 20, sizes(20, 10, 2000)),
    ]


def test_unions_cover_more_than_their_parts_and_the_reference_all(sources: Sources) -> None:
    found = {
        (name, top): held
        for name, top, held in measure_combinations(
            sources, sizes(1, 1, 1), [1, 2], SOURCE, TARGET, batch=2, seed=1, training=True
        )
    }
    for top in (1, 2):
        both, alone = found["V^P + V^D", top], found["V^D", top]
        assert found["V^P + V^D + V^T", top].covered >= both.covered >= max(alone.covered, found["V^P", None].covered)
        assert both.sentence_size >= max(alone.sentence_size, found["V^P", None].sentence_size)
        assert both.batch_size >= both.sentence_size
    trained = found["V^P + V^D + V^T + V^R", 1]
    assert trained.covered == trained.words and trained.complete == len(SOURCE)


def test_a_text_measured_in_pieces_gives_the_same_coverage(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = sizes(2, 2, 1)
    arguments = sources, settings, [1], SOURCE, TARGET, 2, 1, True
    whole = list(measure_combinations(*arguments))
    monkeypatch.setattr(coverage_steps, "PIECE", 3)
    assert list(measure_combinations(*arguments)) == whole
    sets = build_sets(sources, settings, SOURCE, TARGET)
    assert whole[-1][2] == measure(sets, sources.encode_reference(TARGET), 2, 1)


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
