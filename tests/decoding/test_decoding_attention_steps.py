"""The step translate_attention: what it writes, what stands for unknown words, and what it refuses."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attention_world import attention, decoding_settings, log_probabilities, random_network, save_sets, save_translator
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import change_system

from neural_smt.alignment.lexical import lexical_table
from neural_smt.cli import steps
from neural_smt.decoding.attention.results import Hypothesis
from neural_smt.decoding.attention.search import Translator, best_translations, plan_batches, replacement, shard_members
from neural_smt.decoding.attention_steps import translate_attention
from neural_smt.decoding.joining_steps import join_translations
from neural_smt.decoding.nbest import read_nbest
from neural_smt.errors import UserError
from neural_smt.io.files import read_json, read_lines, write_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionNetwork
from neural_smt.networks.folder import Trained
from neural_smt.shards import Shard
from neural_smt.vocabulary import EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection.building import load_sources
from neural_smt.vocabulary_selection.candidates import CandidateSets
from neural_smt.workflow.code_digest import PACKAGE, reached_files

SOURCE = ["das Haus ist rot", "", "Berlin ist rot", "das unerhörte Haus", "rot"]
KNOWN = Vocabulary.from_sentences(["das Haus ist rot"])
TARGET = Vocabulary.from_sentences(["the house is red", "the"])
WIDER = Vocabulary.from_sentences(["das Haus ist rot Berlin grün"])
TABLE_TARGET = Vocabulary.from_sentences(["the house is red", "the building Berlin"])


def network(unknown: float = 0.0, ending: float = 2.0) -> AttentionNetwork:
    return random_network(len(KNOWN), len(TARGET), unknown=unknown, ending=ending)


def write_tables(folder: Path) -> dict[str, Path]:
    """Word translations: Haus is building (twice) and house (once); rot is red; Berlin is the."""
    pairs = [("Haus", "building"), ("Haus", "building"), ("Haus", "house"), ("rot", "red"), ("Berlin", "the")]
    source, target = WIDER.encode(pair[0] for pair in pairs), TABLE_TARGET.encode(pair[1] for pair in pairs)
    links = Ragged.from_lists([np.zeros(2)] * len(pairs), dtype=np.int16)
    links = Ragged(links.values.reshape(-1, 2), links.offsets // 2)
    lexical_table(source, target, links, len(WIDER), len(TABLE_TARGET)).save(folder / "lexical")
    WIDER.save(folder / "source")
    TABLE_TARGET.save(folder / "target")
    names = {"lexical": "lexical", "source_vocabulary": "source", "target_vocabulary": "target"}
    return {option: folder / name for option, name in names.items()}


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    Trained(network(), KNOWN, TARGET).save(tmp_path / "model")
    write_lines(tmp_path / "text", SOURCE)
    paths = {name: tmp_path / name for name in ("text", "output", "statistics")}
    return paths | {"system": save_translator(tmp_path / "system", tmp_path / "model", beam=5)}


def translate(world: dict[str, Any], settings: dict[str, Any], **further: Any) -> None:
    """Run the step with other settings of the system."""
    change_system(world["system"], settings=settings)
    translate_attention(**world, **further)


def sets_of(folder: Path, lines: list[str], **origins: str) -> Path:
    """Sets of UNK, EOS, and one word, in turn, for each line."""
    return save_sets(folder, [[UNK, EOS, 3 + number % 4] for number in range(len(lines))], lines, TARGET, **origins)


def test_translations_lists_alignment_and_statistics_belong_together(world: dict[str, Any], tmp_path: Path) -> None:
    files = {"alignment": tmp_path / "links", "nbest": tmp_path / "nbest"}
    translate_attention(**world, **files, nbest_size=3)
    best, links, entries = read_lines(world["output"]), read_lines(files["alignment"]), read_nbest(files["nbest"])
    made, sources = network().double(), KNOWN.encode_words(SOURCE)
    assert best[1] == links[1] == ""
    for number, line in enumerate(best):
        lists = [entry for entry in entries if entry.sentence == number]
        assert " ".join(lists[0].tokens) == line
        assert len(lists) == (1 if number == 1 else 3)
        assert [entry.score for entry in lists] == sorted((entry.score for entry in lists), reverse=True)
        if number == 1:
            continue
        for entry in lists:
            target = TARGET.ids(entry.tokens)
            expected = log_probabilities(made, sources[number].tolist(), [target.tolist()])[0]
            assert entry.features["Attention0"] == pytest.approx([expected], rel=1e-4)
            assert entry.score == pytest.approx(expected / (len(target) + 1), rel=1e-4)
        looked = []
        if line:
            alpha = attention(made, sources[number], TARGET.ids(line.split()))
            looked = [f"{i}-{j}" for j, i in enumerate(alpha.argmax(1)) if i < len(sources[number])]
        assert links[number].split() == looked
    statistics = read_json(world["statistics"])
    words = " ".join(best).split()
    expected = {"sentences": 5, "words": len(words), "unknown_words": words.count("<unk>"), "unfinished": 0}
    expected |= {"mean_vocabulary": len(TARGET), "grown": 0}
    assert {name: statistics[name] for name in expected} == expected
    assert statistics["sentences_per_second"] > 0 > statistics["mean_score"]
    assert any(best) and any(links)


@pytest.mark.parametrize("count", [4, 16])
def test_shards_make_the_whole(world: dict[str, Any], tmp_path: Path, count: int) -> None:
    lines = [" ".join(words.split()[: 1 + number % 5]) for number, words in enumerate(SOURCE * 8)]
    write_lines(world["text"], lines)
    change_system(world["system"], settings={"beam": 3, "batch": 3})
    arguments = world | {"candidates": sets_of(tmp_path / "sets", lines)}
    translate_attention(**arguments, alignment=tmp_path / "links")
    parts = [tmp_path / f"{number}-of-{count}" for number in range(1, count + 1)]
    suffixes = {"part_statistics": ".json", "part_alignments": ".align"}
    files = {name: [part.with_suffix(suffix) for part in parts] for name, suffix in suffixes.items()}
    for part, statistics, alignment in zip(parts, *files.values(), strict=True):
        written = {"output": part, "statistics": statistics, "alignment": alignment, "shard": part.name}
        translate_attention(**arguments | written)
    joined = {"output": tmp_path / "o", "alignment": tmp_path / "l", "statistics": tmp_path / "s"}
    join_translations(text=world["text"], parts=parts, **files, **joined)
    assert joined["output"].read_bytes() == world["output"].read_bytes()
    assert joined["alignment"].read_bytes() == (tmp_path / "links").read_bytes()
    times = {"seconds": 0, "sentences_per_second": 0}
    whole = read_json(world["statistics"]) | times
    assert read_json(joined["statistics"]) | times == whole
    assert whole["sentences"] == 40 and whole["words"] > 0 and whole["unknown_words"] > 0
    with pytest.raises(UserError, match=r"1-of-\d+ and other shards do not make a translation of .*text; decode all"):
        join_translations(text=world["text"], parts=parts[:1], **{k: v[:1] for k, v in files.items()}, **joined)
    write_json(files["part_statistics"][0], whole)
    with pytest.raises(UserError, match=r"1-of-\d+\.json: not the statistics of a shard; decode the shards again"):
        join_translations(text=world["text"], parts=parts, **files, **joined)


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 7), st.integers(1, 9))
def test_shards_have_whole_batches(lengths: list[int], size: int, count: int) -> None:
    members = [shard_members(lengths, size, Shard(number, count)) for number in range(1, count + 1)]
    assert sorted(number for shard in members for number in shard) == list(range(len(lengths)))
    batches = {tuple(batch.tolist()) for batch in plan_batches(lengths, size)}
    found = [
        tuple(np.array(shard)[batch].tolist())
        for shard in members
        for batch in plan_batches([lengths[number] for number in shard], size)
    ]
    assert len(found) == len(batches) and set(found) == batches
    assert all(len(batch) <= size and min(lengths[number] for number in batch) > 0 for batch in batches)


def test_each_sentence_is_translated_with_its_own_words(world: dict[str, Any], tmp_path: Path) -> None:
    candidates = sets_of(tmp_path / "sets", SOURCE)
    translate_attention(**world, candidates=candidates, nbest=tmp_path / "nbest")
    entries = read_nbest(tmp_path / "nbest")
    written = [{word for e in entries if e.sentence == number for word in e.tokens} for number in range(5)]
    assert all(words <= {"<unk>", TARGET.words[3 + number % 4]} for number, words in enumerate(written))
    assert sum(len(words) for words in written) > 4
    statistics = read_json(world["statistics"])
    assert (statistics["mean_vocabulary"], statistics["grown"]) == (3, 0)


def test_sentences_that_do_not_end_are_named_and_their_sets_grow(
    world: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Trained(network(ending=-np.inf), KNOWN, TARGET).save(tmp_path / "model")
    settings = {"beam": 2, "max_length_ratio": 1, "max_length_extra": 1}
    with caplog.at_level(logging.WARNING):
        translate(world, settings)
    assert [len(line.split()) for line in read_lines(world["output"])] == [5, 0, 4, 4, 2]
    assert "4 sentences have no finished translation, the best unfinished is given: 1, 3, 4, 5" in caplog.text
    candidates = sets_of(tmp_path / "sets", SOURCE)
    # four sentences of five have words
    for grow, expected in ((True, (4, round((4 * len(TARGET) + 3) / 5, 2), 4)), (False, (0, 3, 4))):
        translate(world, settings | {"expand_on_failure": grow}, candidates=candidates)
        statistics = read_json(world["statistics"])
        assert tuple(statistics[name] for name in ("grown", "mean_vocabulary", "unfinished")) == expected


def test_a_text_without_sentences(world: dict[str, Any], tmp_path: Path) -> None:
    write_lines(world["text"], [])
    translate_attention(**world, alignment=tmp_path / "links", nbest=tmp_path / "nbest")
    assert [read_lines(tmp_path / name) for name in ("output", "links", "nbest")] == [[]] * 3
    assert read_json(world["statistics"])["sentences"] == 0


@pytest.mark.parametrize(
    ("heuristic", "expected"),
    [
        (0, "Haus rot unerhört Unerhört 1984 über"),
        (1, "building red unerhört Unerhört year over"),
        (2, "Haus red unerhört Unerhört 1984 over"),
    ],
)
def test_the_three_heuristics(heuristic: int, expected: str) -> None:
    dictionary = {"Haus": "building", "rot": "red", "1984": "year", "über": "over"}
    words = ["Haus", "rot", "unerhört", "Unerhört", "1984", "über"]
    assert " ".join(replacement(word, heuristic, dictionary) for word in words) == expected


def test_unknown_words_are_replaced_where_they_look() -> None:
    positions = np.array([2, 0, 1, 3])
    words = np.array([UNK, TARGET.index["the"], UNK, UNK], dtype=np.int32)
    # The third word looks at the end symbol most, and after it at "Haus".
    hypothesis = Hypothesis(words, -1.0, np.array([2, 0, 4, 3]), positions, complete=True)
    source, dictionary = ["das", "Haus", "rot", "Berlin"], {"rot": "red", "Haus": "house"}
    model = Trained(network(), KNOWN, TARGET)
    expected = {0: "rot the Haus Berlin", 1: "red the house Berlin", 2: "red the Haus Berlin"}
    plain = decoding_settings().replace(replace_unknown=False)
    assert Translator(model, plain).tokens(hypothesis, source) == ["<unk>", "the", "<unk>", "<unk>"]
    for heuristic, words in expected.items():
        settings = plain.replace(replace_unknown=True, heuristic=heuristic)
        assert " ".join(Translator(model, settings, dictionary).tokens(hypothesis, source)) == words


def test_the_dictionary_is_the_most_probable_word_of_each(tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    TARGET.save(tmp_path / "network")
    sources = load_sources(**tables, network_vocabulary=tmp_path / "network", phrase_table=None)
    # "building" is outside the network's vocabulary: that is what a dictionary is for.
    assert best_translations(sources) == {"Haus": "building", "rot": "red", "Berlin": "the"}


@pytest.mark.parametrize("heuristic", [0, 1, 2])
def test_the_step_replaces_unknown_words(world: dict[str, Any], tmp_path: Path, heuristic: int) -> None:
    Trained(network(unknown=3.0), KNOWN, TARGET).save(tmp_path / "model")
    translate_attention(**world)
    plain = [line.split() for line in read_lines(world["output"])]
    change_system(world["system"], dictionary={name: str(path) for name, path in write_tables(tmp_path).items()})
    translate(world, {"beam": 5, "replace_unknown": True, "heuristic": heuristic})
    replaced = [line.split() for line in read_lines(world["output"])]
    made, count = network(unknown=3.0), 0
    for sentence, before, after in zip(SOURCE, plain, replaced, strict=True):
        if before:
            alpha = attention(made, KNOWN.ids(sentence.split()), TARGET.ids(before))[:, :-1]
        for position, (word, written) in enumerate(zip(before, after, strict=True)):
            source = sentence.split()[alpha[position].argmax()]
            translation = {"rot": "red", "Haus": "building", "Berlin": "the"}.get(source, source)
            looked_up = heuristic == 1 or (heuristic == 2 and source in ("das", "ist", "rot", "unerhörte"))
            assert written == (word if word != "<unk>" else translation if looked_up else source)
            count += word == "<unk>"
    assert count > 3
    assert read_json(world["statistics"])["unknown_words"] == count


def test_a_dictionary_must_be_given_where_it_is_needed(world: dict[str, Any]) -> None:
    for heuristic in (1, 2):
        with pytest.raises(UserError, match=f"heuristic {heuristic} needs a dictionary"):
            translate(world, {"replace_unknown": True, "heuristic": heuristic})
    translate(world, {"replace_unknown": True, "heuristic": 0})


def test_sets_and_settings_that_do_not_fit_are_refused(world: dict[str, Any], tmp_path: Path) -> None:
    other = Vocabulary.from_sentences(["quite different words"])
    for name, ids, size in (("shorter", [[UNK, EOS]] * 4, len(TARGET)), ("sized", [[UNK, EOS, 99]] * 5, 100)):
        CandidateSets.from_ids(Ragged.from_lists(ids), size).save(tmp_path / name)
    refused = {
        "another network vocabulary": sets_of(tmp_path / "a", SOURCE, vocabulary=other.digest),
        "another source text": sets_of(tmp_path / "b", [*SOURCE[:-1], "grün"]),
        "target vocabularies of 4 sentences, but .* has 5": tmp_path / "shorter",
        "network of 100 words": tmp_path / "sized",
        "holds the words of references": sets_of(tmp_path / "c", SOURCE, reference="abc"),
    }
    for message, candidates in refused.items():
        with pytest.raises(UserError, match=message):
            translate_attention(**world, candidates=candidates)
    with pytest.raises(UserError, match="n-best size is -1"):
        translate_attention(**world, nbest=tmp_path / "nbest", nbest_size=-1)
    with pytest.raises(UserError, match=r"decoding\.attention: unknown key 'width'"):
        translate(world, {"width": 3})
    assert not world["output"].exists()


def test_phrase_based_decoding_does_not_depend_on_it() -> None:
    reached = {str(path.relative_to(PACKAGE)) for path in reached_files("neural_smt.decoding.steps")}
    assert not [name for name in reached if name.startswith(("decoding/attention", "networks/attention"))]
    known = {"decode", "decode_lattices", "measure_epochs", "rerank", "score_lists", "translate_attention"}
    assert known < set(steps("decoding"))
