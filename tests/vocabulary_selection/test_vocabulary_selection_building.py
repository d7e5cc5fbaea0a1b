"""The sets of sentences against brute force over small tables, and what sets cannot be built from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from vocabularies_world import brute_dictionary, brute_phrase, load_world, write_world

from neural_smt.errors import UserError
from neural_smt.io.files import write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.shortlist import most_frequent
from neural_smt.vocabulary import EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection import building
from neural_smt.vocabulary_selection.building import (
    _first_of_each,
    build_sets,
    frequent_ids,
    top_entries,
    word_lists,
    write_sets,
)
from neural_smt.vocabulary_selection.candidates import VocabularySettings, candidate_lists, text_digest
from neural_smt.vocabulary_selection.sources import Sources, load_sources

LINES = ["the red house", "", "a zebra is red", "zebra", "a car a car the house is red"]
REFERENCES = ["la maison rouge", "", "un zèbre est rouge", "</s> <unk>", "une voiture"]


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return load_world(tmp_path)


def words_of(sources: Sources, ids: np.ndarray) -> set[str]:
    return {sources.network.words[number] for number in ids}


def expected(sources: Sources, settings: VocabularySettings, line: str, reference: str | None) -> set[str]:
    tokens = line.split()
    found = {"<unk>", "</s>", *sources.network.words[3 : 3 + settings.frequent]}
    longest = settings.max_length or 3
    for start, token in enumerate(tokens):
        found |= set(brute_dictionary(sources.lexical, sources, token, settings.dictionary))
        for end in range(start + 1, min(start + longest, len(tokens)) + 1):
            if settings.phrases:
                found |= brute_phrase(sources.phrase_table, sources, tuple(tokens[start:end]), settings.phrases)
    known = set(sources.network.words[3:])
    return found | ({word for word in reference.split() if word in known} if reference is not None else set())


@pytest.mark.parametrize("size", [4, 100])
@pytest.mark.parametrize("with_references", [False, True])
@pytest.mark.parametrize(
    "sizes", [(2, 2, 1, 0), (1, 0, 0, 0), (0, 1, 0, 2), (0, 0, 3, 0), (10, 10, 2000, 0), (0, 0, 0, 0)]
)
def test_sets_equal_those_of_brute_force(
    tmp_path: Path, sizes: tuple[int, ...], with_references: bool, size: int
) -> None:
    sources, settings = load_world(tmp_path, size), VocabularySettings(*sizes)
    references = REFERENCES if with_references else None
    sets = build_sets(sources, settings, LINES, references).sets
    assert len(sets) == len(LINES)
    for sentence, line in enumerate(LINES):
        ids = sets.of(sentence)
        assert (np.diff(ids) > 0).all() and ids.dtype == np.int32
        assert words_of(sources, ids) == expected(sources, settings, line, references and references[sentence])
    assert (sets.common == frequent_ids(settings.frequent, len(sources.network))).all()


def test_literal_sets(sources: Sources) -> None:
    sets = build_sets(sources, VocabularySettings(1, 0, 0), ["the house"]).sets
    assert words_of(sources, sets.of(0)) == {"<unk>", "</s>", "la", "maison"}
    sets = build_sets(sources, VocabularySettings(0, 1, 0, max_length=2), ["red house"]).sets
    assert words_of(sources, sets.of(0)) == {"<unk>", "</s>", "rouge", "maison"}


def test_unknown_words_and_empty_sentences_have_the_common_words_only(sources: Sources) -> None:
    built = build_sets(sources, VocabularySettings(5, 5, 2), ["zebra", "", "zebra zebra"])
    assert [built.sets.of(i).tolist() for i in range(3)] == [[UNK, EOS, 3, 4]] * 3
    assert built.phrases == 0
    assert len(build_sets(sources, VocabularySettings(), []).sets) == 0


def test_a_text_in_pieces_gives_the_same_sets(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build_sets(sources, VocabularySettings(3, 3, 1), LINES, REFERENCES)
    monkeypatch.setattr(building, "PIECE", 2)
    pieces = build_sets(sources, VocabularySettings(3, 3, 1), LINES, REFERENCES)
    assert pieces.phrases == whole.phrases > 0
    assert [ids.tolist() for ids in pieces.sets.own] == [ids.tolist() for ids in whole.sets.own]


@pytest.mark.parametrize("lines", [LINES, LINES[:2], []])
def test_sets_written_in_pieces_are_those_written_whole(
    lines: list[str], sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build_sets(sources, VocabularySettings(3, 3, 1), lines, REFERENCES[: len(lines)])
    whole.sets.save(tmp_path / "whole")
    monkeypatch.setattr(building, "PIECE", 2)
    written = write_sets(tmp_path / "pieces", sources, VocabularySettings(3, 3, 1), lines, REFERENCES[: len(lines)])
    assert written == (whole.sets.sizes.sum(), whole.phrases)
    files = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "pieces").iterdir()} == files


def test_words_the_network_does_not_know_do_not_count_among_the_best(tmp_path: Path) -> None:
    sources = load_world(tmp_path)
    before = word_lists(sources.lexical, sources.ids, 1)
    assert sources.network.words[before[sources.source.index["car"]][0]] == "voiture"
    house = sources.source.index["house"]
    best, second = word_lists(sources.lexical, sources.ids, 2)[house]
    ids = sources.ids.copy()
    ids[sources.target.index[sources.network.words[best]]] = UNK
    assert word_lists(sources.lexical, ids, 1)[house].tolist() == [second]


def test_entries_are_ranked_by_the_direct_probability(sources: Sources) -> None:
    table = sources.phrase_table
    phrases = np.arange(len(table.source))[::-1].copy()
    for place, rows in enumerate(top_entries(table, phrases, 2)):
        number = int(phrases[place])
        entries = range(int(table.entry_offsets[number]), int(table.entry_offsets[number + 1]))
        assert rows.tolist() == sorted(entries, key=lambda row: (-table.scores[row, 2], row))[:2]


def test_the_first_wanted_of_each_list() -> None:
    lists = Ragged.from_lists([[7, 8, 9], [], [7, 7], [9]])
    wanted = np.array([False, True, True, True, True, False])
    assert [part.tolist() for part in _first_of_each(lists, wanted, 1)] == [[8], [], [7], []]


def test_origins_tell_what_was_used(sources: Sources) -> None:
    sets = build_sets(sources, VocabularySettings(2, 0, 3), LINES, REFERENCES).sets
    assert sets.origins == {
        "vocabulary": sources.network.digest,
        "source": text_digest(LINES),
        "reference": text_digest(REFERENCES),
        "dictionary": sources.dictionary_digest,
    }
    assert sets.settings == {"dictionary": 2, "phrases": 0, "frequent": 3, "max_length": 0}
    with_phrases = build_sets(sources, VocabularySettings(0, 2, 3), LINES).sets.origins
    assert with_phrases.keys() == {"vocabulary", "source", "phrase_table"}
    assert with_phrases["phrase_table"] == sources.phrase_table.digest


def test_candidate_lists_of_jean(sources: Sources) -> None:
    sets = build_sets(sources, candidate_lists(first=2, per_word=1), ["red car"]).sets
    assert words_of(sources, sets.of(0)) == {"<unk>", "</s>", *sources.network.words[3:5], "rouge", "voiture"}
    assert "phrase_table" not in sets.origins


def test_a_part_needs_its_table(sources: Sources) -> None:
    bare = Sources(sources.source, sources.target, sources.network, None, None)
    with pytest.raises(UserError, match=r"vocabularies\.dictionary is 10 but there is no word translation table"):
        build_sets(bare, VocabularySettings(), LINES)
    with pytest.raises(UserError, match=r"vocabularies\.phrases is 10 but there is no phrase table"):
        build_sets(bare, VocabularySettings(dictionary=0), LINES)
    assert build_sets(bare, VocabularySettings(0, 0, 1), LINES).sets.sizes.tolist() == [3] * len(LINES)


def test_a_phrase_table_without_the_direct_probability_is_refused(sources: Sources) -> None:
    poor = replace(sources.phrase_table, scores=sources.phrase_table.scores[:, :2])
    with pytest.raises(UserError, match=r"has 2 scores, but V\^P needs p\(e\|f\), the third"):
        build_sets(replace(sources, phrase_table=poor), VocabularySettings(), LINES)


def test_tables_of_other_vocabularies_are_refused(tmp_path: Path) -> None:
    paths = write_world(tmp_path, 100)
    other = Vocabulary.from_sentences(["un deux trois"])
    other.save(tmp_path / "other")
    with pytest.raises(UserError, match="lexical: made with other vocabularies"):
        load_sources(**{**paths, "target_vocabulary": tmp_path / "other"})
    with pytest.raises(UserError, match="phrase table was made with another target vocabulary"):
        load_sources(**{**paths, "target_vocabulary": tmp_path / "other", "lexical": None})


def test_settings_are_checked() -> None:
    assert VocabularySettings.read({"frequent": 50}) == VocabularySettings(10, 10, 50, 0)
    with pytest.raises(UserError, match=r"vocabularies\.phrases is -1; set it to 0 or more"):
        VocabularySettings.read({"phrases": -1})
    with pytest.raises(UserError, match=r"setting vocabularies\.frequnt is unknown"):
        VocabularySettings.read({"frequnt": 1})


def test_reserved_spellings_of_the_text_are_no_words_of_the_network(tmp_path: Path) -> None:
    sources = load_world(tmp_path)
    assert sources.encode_reference(["la </s> <s> <unk> x"]).values.tolist() == [
        sources.network.index["la"],
        0,
        0,
        0,
        0,
    ]
    assert sources.encode(["house x"]).values.tolist() == [sources.source.index["house"], -1]
    write_lines(tmp_path / "v", [])
    with pytest.raises(UserError, match="v: does not start with"):
        Vocabulary.load(tmp_path / "v")
    assert len(most_frequent(sources.target, 2)) == 5
