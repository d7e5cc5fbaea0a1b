"""The sets of sentences against brute force over small tables, and what sets cannot be built from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import check_refused
from vocabularies_world import CASES, brute_dictionary, brute_phrase, load_world, sizes, write_world

from neural_smt.experiment.settings import Settings
from neural_smt.io.files import digest_lines
from neural_smt.io.ragged import Ragged
from neural_smt.vocabulary import UNK, Vocabulary
from neural_smt.vocabulary_selection import building
from neural_smt.vocabulary_selection.building import Sources, build_sets
from neural_smt.vocabulary_selection.candidates import save_pieces

LINES = ["the red house", "", "a zebra is red", "zebra", "a car a car the house is red"]
REFERENCES = ["la maison rouge", "", "un zèbre est rouge", "</s> <unk>", "une voiture"]


def words_of(sources: Sources, ids: np.ndarray) -> set[str]:
    return {sources.network.words[number] for number in ids}


def expected(sources: Sources, settings: Settings, line: str, reference: str | None) -> set[str]:
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
@pytest.mark.parametrize("chosen", CASES["sizes"], ids=str)
def test_sets_equal_those_of_brute_force(tmp_path: Path, chosen: list[int], with_references: bool, size: int) -> None:
    sources, settings = load_world(tmp_path, size), sizes(*chosen)
    references = REFERENCES if with_references else None
    sets = build_sets(sources, settings, LINES, references)
    assert len(sets) == len(LINES)
    for sentence, line in enumerate(LINES):
        ids = sets.of(sentence)
        assert (np.diff(ids) > 0).all() and ids.dtype == np.int32
        assert words_of(sources, ids) == expected(sources, settings, line, references and references[sentence])
    assert (sets.common == building.frequent_ids(settings.frequent, len(sources.network))).all()


@pytest.mark.parametrize("lines", [LINES, LINES[:2], []])
def test_sets_in_pieces_are_those_of_the_whole(
    lines: list[str], sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = sources, sizes(3, 3, 1), lines, REFERENCES[: len(lines)]
    whole = build_sets(*arguments)
    whole.save(tmp_path / "whole")
    monkeypatch.setattr(building, "PIECE", 2)
    assert [ids.tolist() for ids in build_sets(*arguments).own] == [ids.tolist() for ids in whole.own]
    assert save_pieces(tmp_path / "pieces", building.build_pieces(*arguments)) == whole.sizes.sum()
    written = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("whole", "pieces")]
    assert written[0] == written[1] and len(whole) == len(lines)


def test_the_first_wanted_of_each_list() -> None:
    lists = Ragged.from_lists([[7, 8, 9], [], [7, 7], [9]])
    wanted = np.array([False, True, True, True, True, False])
    assert [part.tolist() for part in building._first_of_each(lists, wanted, 1)] == [[8], [], [7], []]


def test_origins_tell_what_was_used(sources: Sources) -> None:
    sets = build_sets(sources, sizes(2, 0, 3), LINES, REFERENCES)
    made_from = {"vocabulary": sources.network.digest, "source": digest_lines(LINES)}
    dictionary = {"reference": digest_lines(REFERENCES), "dictionary": sources.dictionary_digest}
    assert sets.origins == {**made_from, **dictionary}
    assert sets.settings == {"dictionary": 2, "phrases": 0, "frequent": 3, "max_length": 0}
    with_phrases = build_sets(sources, sizes(0, 2, 3), LINES)
    assert with_phrases.origins == {**made_from, "phrase_table": sources.phrase_table.digest}


def test_what_sets_cannot_be_built_from_is_refused(sources: Sources, tmp_path: Path) -> None:
    paths = write_world(tmp_path, 100)
    other = tmp_path / "other"
    Vocabulary.from_sentences(["un deux trois"]).save(other)
    check_refused(["lexical", "other vocabularies"], building.load_sources, **{**paths, "target_vocabulary": other})
    paths |= {"target_vocabulary": other, "lexical": None}
    check_refused(["phrase table", "another target vocabulary"], building.load_sources, **paths)
    poor = replace(sources.phrase_table, scores=sources.phrase_table.scores[:, :2])
    check_refused(["2 scores", "p(e|f)"], build_sets, replace(sources, phrase_table=poor), sizes(), LINES)
    with pytest.raises(ValueError, match="2 sentences but 1 references"):
        build_sets(sources, sizes(), ["a house", "house"], ["une maison"])


def test_reserved_spellings_of_the_text_are_no_words_of_the_network(sources: Sources) -> None:
    known = sources.network.index["la"]
    assert sources.network.encode_words(["la </s> <s> <unk> x"]).values.tolist() == [known, 0, 0, 0, 0]
    assert sources.encode(["house x"]).values.tolist() == [sources.source.index["house"], -1]


def test_words_the_network_does_not_know_do_not_count_among_the_best(sources: Sources) -> None:
    house = sources.source.index["house"]
    best, second = building.word_lists(sources.lexical, sources.ids, 2)[house]
    ids = sources.ids.copy()
    ids[sources.target.index[sources.network.words[best]]] = UNK
    assert building.word_lists(sources.lexical, ids, 1)[house].tolist() == [second]


def test_entries_are_ranked_by_the_direct_probability(sources: Sources) -> None:
    table = sources.phrase_table
    phrases = np.arange(len(table.source))[::-1].copy()
    for place, rows in enumerate(building.top_entries(table, phrases, 2)):
        number = int(phrases[place])
        entries = range(int(table.entry_offsets[number]), int(table.entry_offsets[number + 1]))
        assert rows.tolist() == sorted(entries, key=lambda row: (-table.scores[row, 2], row))[:2]
