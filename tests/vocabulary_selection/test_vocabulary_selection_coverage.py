"""Coverage of the reference and sizes of sets, by hand and by brute force; reasons for every word."""

from pathlib import Path

import numpy as np
import pytest
from vocabularies_world import SOURCE, TARGET, load_world

from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import EOS, UNK
from neural_smt.vocabulary_selection import coverage_steps
from neural_smt.vocabulary_selection.building import build_sets
from neural_smt.vocabulary_selection.candidates import CandidateSets, VocabularySettings
from neural_smt.vocabulary_selection.coverage_steps import Coverage, combinations, measure, measure_combinations
from neural_smt.vocabulary_selection.inspection import explain, reason_rows
from neural_smt.vocabulary_selection.sources import Sources


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return load_world(tmp_path)


def test_literal_coverage() -> None:
    sets = CandidateSets(Ragged.from_lists([[5, 7], [], [8]]), np.array([0, 2, 3], dtype=np.int32), 10)
    references = Ragged.from_lists([[3, 5, 7, 7], [0, 4], [8, 3, 9]])
    assert measure(sets, references, batch=3, seed=1) == Coverage(
        words=9, known=8, covered=6, sentences=3, complete=1, sentence_size=4.0, batch_size=6.0
    )
    one = measure(sets, references, batch=1, seed=1)
    assert one.batch_size == one.sentence_size
    assert 3 + 0.5 <= measure(sets, references, batch=2, seed=1).batch_size <= 6


def test_coverage_of_no_sentences() -> None:
    sets = CandidateSets.from_ids(Ragged.from_lists([]), 5)
    assert measure(sets, Ragged.from_lists([]), 80, 1) == Coverage(0, 0, 0, 0, 0, 0.0, 0.0)


def test_references_of_another_number_are_an_error(sources: Sources) -> None:
    sets = CandidateSets.from_ids(Ragged.from_lists([[3]]), 5)
    with pytest.raises(ValueError, match="1 sets but 2 references"):
        measure(sets, Ragged.from_lists([[3], [4]]), 80, 1)
    with pytest.raises(ValueError, match="2 sentences but 1 references"):
        build_sets(sources, VocabularySettings(), ["a house", "house"], ["une maison"])


def test_coverage_equals_brute_force(sources: Sources) -> None:
    for settings in (VocabularySettings(1, 0, 0), VocabularySettings(0, 1, 0), VocabularySettings(1, 1, 2)):
        sets = build_sets(sources, settings, SOURCE).sets
        references = [[sources.network.index[word] for word in line.split()] for line in TARGET]
        found = measure(sets, sources.encode_reference(TARGET), 2, 1)
        hits = [[word in sets.of(i) for word in words] for i, words in enumerate(references)]
        assert found.covered == sum(sum(hit) for hit in hits)
        assert found.complete == sum(all(hit) for hit in hits)
        assert found.words == found.known == sum(len(words) for words in references)
        assert found.sentence_size == np.mean([len(sets.of(i)) for i in range(len(TARGET))])


def test_the_columns_are_those_of_the_paper() -> None:
    columns = list(combinations(VocabularySettings(), [10, 20]))
    assert [(name, top) for name, top, _ in columns] == [
        ("V^P", None),
        ("V^D", 10),
        ("V^D", 20),
        ("V^P + V^D", 10),
        ("V^P + V^D", 20),
        ("V^P + V^D + V^T", 10),
        ("V^P + V^D + V^T", 20),
    ]
    assert columns[0][2] == VocabularySettings(0, 10, 0)
    assert columns[2][2] == VocabularySettings(20, 0, 0)
    assert columns[-1][2] == VocabularySettings(20, 10, 2000)


def test_unions_cover_more_than_their_parts_and_the_reference_all(sources: Sources) -> None:
    found = {
        (name, top): held
        for name, top, held in measure_combinations(
            sources, VocabularySettings(1, 1, 1), [1, 2], SOURCE, TARGET, batch=2, seed=1, training=True
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
    settings = VocabularySettings(2, 2, 1)
    arguments = sources, settings, [1], SOURCE, TARGET, 2, 1, True
    whole = list(measure_combinations(*arguments))
    monkeypatch.setattr(coverage_steps, "PIECE", 3)
    assert list(measure_combinations(*arguments)) == whole
    sets = build_sets(sources, settings, SOURCE, TARGET).sets
    assert whole[-1][2] == measure(sets, sources.encode_reference(TARGET), 2, 1)


@pytest.mark.parametrize("reference", [None, "la voiture zèbre"])
def test_every_word_of_a_set_has_a_reason_and_no_other(sources: Sources, reference: str | None) -> None:
    settings = VocabularySettings(2, 2, 1)
    for line in ["the red house is a zebra", "", "car"]:
        reasons = explain(sources, settings, line, reference)
        sets = build_sets(sources, settings, [line], None if reference is None else [reference]).sets
        assert list(reasons) == sets.of(0).tolist()
        assert all(r.dictionary or r.phrases or r.frequent is not None or r.reference for r in reasons.values())


def test_reasons_name_word_phrase_and_rank(sources: Sources) -> None:
    reasons = explain(sources, VocabularySettings(2, 1, 1), "red house", "une maison")
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
