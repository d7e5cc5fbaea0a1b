"""The steps translate_attention, with what stands for unknown words, and measure_epochs."""

import logging
from pathlib import Path
from typing import Any

import attention_world as toys
import numpy as np
import pytest
from attention_world import KNOWN, TARGET
from candidates import whole_sets
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_named, check_refused
from tiny_models import change_system, decode_in_shards

from neural_smt.bleu import bleu, corpus_statistics
from neural_smt.cli import steps
from neural_smt.decoding import attention_steps
from neural_smt.decoding.attention.results import Hypothesis
from neural_smt.decoding.attention.search import Translator, best_translations, plan_batches, replacement, shard_members
from neural_smt.decoding.attention_steps import measure_epochs, translate_attention
from neural_smt.decoding.nbest import read_nbest
from neural_smt.io.files import read_csv, read_json, read_lines, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.folder import Trained
from neural_smt.shards import Shard
from neural_smt.vocabulary import EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection.building import load_sources
from neural_smt.workflow.code_digest import PACKAGE, reached_files

SOURCE = ["das Haus ist rot", "", "Berlin ist rot", "das unerhörte Haus", "rot"]
WIDER = Vocabulary.from_sentences(["das Haus ist rot Berlin grün"])
TABLE_TARGET = Vocabulary.from_sentences(["the house is red", "the building Berlin"])
DICTIONARY = {"Haus": "building", "rot": "red", "Berlin": "the"}


def write_tables(folder: Path) -> dict[str, Path]:
    """Word translations: Haus is building (twice) and house (once); rot is red; Berlin is the."""
    pairs = [("Haus", "building"), ("Haus", "building"), ("Haus", "house"), ("rot", "red"), ("Berlin", "the")]
    toys.save_dictionary(folder / "lexical", pairs, WIDER, TABLE_TARGET)
    WIDER.save(folder / "source")
    TABLE_TARGET.save(folder / "target")
    names = {"lexical": "lexical", "source_vocabulary": "source", "target_vocabulary": "target"}
    return {option: folder / name for option, name in names.items()}


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    Trained(toys.small_network(ending=2.0), KNOWN, TARGET).save(tmp_path / "model")
    write_lines(tmp_path / "text", SOURCE)
    paths = {name: tmp_path / name for name in ("text", "output", "statistics")}
    return paths | {"system": toys.save_translator(tmp_path / "system", tmp_path / "model", beam=5)}


def translate(world: dict[str, Any], settings: dict[str, Any], **further: Any) -> None:
    """Run the step with other settings of the system."""
    change_system(world["system"], settings=settings)
    translate_attention(**world, **further)


def sets_of(folder: Path, lines: list[str]) -> Path:
    """Sets of UNK, EOS, and one word, in turn, for each line."""
    return toys.save_sets(folder, [[UNK, EOS, 3 + number % 4] for number in range(len(lines))], lines)


def test_translations_lists_alignment_and_statistics_belong_together(world: dict[str, Any], tmp_path: Path) -> None:
    files = {"alignment": tmp_path / "links", "nbest": tmp_path / "nbest"}
    translate_attention(**world, **files, nbest_size=3)
    best, links, entries = read_lines(world["output"]), read_lines(files["alignment"]), read_nbest(files["nbest"])
    made, sources = toys.small_network(ending=2.0).double(), KNOWN.encode_words(SOURCE)
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
            expected = toys.log_probabilities(made, sources[number].tolist(), [target.tolist()])[0]
            assert entry.features["Attention0"] == pytest.approx([expected], rel=1e-4)
            assert entry.score == pytest.approx(expected / (len(target) + 1), rel=1e-4)
        looked = []
        if line:
            alpha = toys.attention(made, sources[number], TARGET.ids(line.split()))
            looked = [f"{i}-{j}" for j, i in enumerate(alpha.argmax(1)) if i < len(sources[number])]
        assert links[number].split() == looked
    statistics = read_json(world["statistics"])
    words = " ".join(best).split()
    expected = {"sentences": 5, "words": len(words), "unknown_words": words.count("<unk>"), "unfinished": 0}
    expected |= {"mean_vocabulary": len(TARGET), "expanded": 0}
    assert {name: statistics[name] for name in expected} == expected
    assert statistics["sentences_per_second"] > 0 > statistics["mean_score"]
    assert any(best) and any(links)


@pytest.mark.parametrize("count", [4, 16])
def test_shards_make_the_whole(world: dict[str, Any], tmp_path: Path, count: int) -> None:
    lines = [" ".join(words.split()[: 1 + number % 5]) for number, words in enumerate(SOURCE * 8)]
    write_lines(world["text"], lines)
    change_system(world["system"], settings={"beam": 3, "batch": 3})
    files = {"system": world["system"], "text": world["text"], "candidates": sets_of(tmp_path / "sets", lines)}
    one, other = (decode_in_shards(files, tmp_path / str(n), n, translate_attention, "alignment") for n in (1, count))
    assert one == other
    assert other[1]["sentences"] == 40 and other[1]["words"] > 0 and other[1]["unknown_words"] > 0


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 7), st.integers(1, 9))
def test_shards_have_whole_batches(lengths: list[int], size: int, count: int) -> None:
    members = [shard_members(lengths, size, Shard(number, count)) for number in range(1, count + 1)]
    assert sorted(number for shard in members for number in shard) == list(range(len(lengths)))
    batches = {tuple(batch.tolist()) for batch in plan_batches(lengths, size)}
    planned = [(np.array(own), plan_batches([lengths[number] for number in own], size)) for own in members]
    found = [tuple(own[batch].tolist()) for own, batches_of in planned for batch in batches_of]
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
    assert (statistics["mean_vocabulary"], statistics["expanded"]) == (3, 0)


def test_sentences_that_do_not_end_are_named_and_their_sets_grow(
    world: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Trained(toys.small_network(ending=-1e30), KNOWN, TARGET).save(tmp_path / "model")
    settings = {"beam": 2, "max_length_ratio": 1, "max_length_extra": 1}
    with caplog.at_level(logging.WARNING):
        translate(world, settings)
    assert [len(line.split()) for line in read_lines(world["output"])] == [5, 0, 4, 4, 2]
    check_named(caplog.text, ["4 sentences", "1, 3, 4, 5"])
    candidates = sets_of(tmp_path / "sets", SOURCE)
    # four sentences of five have words
    for grow, expected in ((True, (4, round((4 * len(TARGET) + 3) / 5, 2), 4)), (False, (0, 3, 4))):
        translate(world, settings | {"expand_on_failure": grow}, candidates=candidates)
        statistics = read_json(world["statistics"])
        assert tuple(statistics[name] for name in ("expanded", "mean_vocabulary", "unfinished")) == expected


def test_a_text_without_sentences(world: dict[str, Any], tmp_path: Path) -> None:
    write_lines(world["text"], [])
    translate_attention(**world, alignment=tmp_path / "links", nbest=tmp_path / "nbest")
    assert [read_lines(tmp_path / name) for name in ("output", "links", "nbest")] == [[]] * 3
    assert read_json(world["statistics"])["sentences"] == 0


def test_unknown_words_are_replaced_where_they_look() -> None:
    source = ["Haus", "rot", "unerhört", "Unerhört", "1984", "über"]
    dictionary = {"Haus": "building", "rot": "red", "1984": "year", "über": "over"}
    words = np.array([UNK, TARGET.index["the"], *[UNK] * 5], dtype=np.int32)
    # the last word looks at the end symbol most, and after it at "Haus"
    looked_at, aligned = np.array([1, 0, 2, 3, 4, 5, 6]), np.array([1, 0, 2, 3, 4, 5, 0])
    hypothesis = Hypothesis(words, -1.0, looked_at, aligned, complete=True)
    model, plain = Trained(toys.small_network(), KNOWN, TARGET), toys.decoding_settings().replace(replace_unknown=False)
    assert Translator(model, plain).tokens(hypothesis, source) == ["<unk>", "the", *["<unk>"] * 5]
    written = ["rot the unerhört Unerhört 1984 über Haus", "red the unerhört Unerhört year over building"]
    for heuristic, expected in enumerate([*written, "red the unerhört Unerhört 1984 over Haus"]):
        settings = plain.replace(replace_unknown=True, heuristic=heuristic)
        assert " ".join(Translator(model, settings, dictionary).tokens(hypothesis, source)) == expected


def test_the_dictionary_is_the_most_probable_word_of_each(tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    TARGET.save(tmp_path / "network")
    sources = load_sources(**tables, network_vocabulary=tmp_path / "network", phrase_table=None)
    # "building" is outside the network's vocabulary: that is what a dictionary is for.
    assert best_translations(sources) == DICTIONARY


@pytest.mark.parametrize("heuristic", [0, 1, 2])
def test_the_step_replaces_unknown_words(world: dict[str, Any], tmp_path: Path, heuristic: int) -> None:
    made = toys.small_network(unknown=3.0, ending=2.0)
    Trained(made, KNOWN, TARGET).save(tmp_path / "model")
    translate_attention(**world)
    plain = [line.split() for line in read_lines(world["output"])]
    change_system(world["system"], dictionary={name: str(path) for name, path in write_tables(tmp_path).items()})
    translate(world, {"beam": 5, "replace_unknown": True, "heuristic": heuristic})
    replaced = [line.split() for line in read_lines(world["output"])]
    count = 0
    for sentence, before, after in zip(SOURCE, plain, replaced, strict=True):
        if before:
            alpha = toys.attention(made, KNOWN.ids(sentence.split()), TARGET.ids(before))[:, :-1]
        for position, (word, written) in enumerate(zip(before, after, strict=True)):
            source = sentence.split()[alpha[position].argmax()]
            assert written == (replacement(source, heuristic, DICTIONARY) if word == "<unk>" else word)
            count += word == "<unk>"
    assert count > 3
    assert read_json(world["statistics"])["unknown_words"] == count


def test_a_dictionary_must_be_given_where_it_is_needed(world: dict[str, Any]) -> None:
    for heuristic in (1, 2):
        settings = {"replace_unknown": True, "heuristic": heuristic}
        check_refused([f"heuristic {heuristic}", "dictionary"], translate, world, settings)
    translate(world, {"replace_unknown": True, "heuristic": 0})


def test_sets_and_settings_that_do_not_fit_are_refused(world: dict[str, Any], tmp_path: Path) -> None:
    for pieces, candidates in toys.misfits(tmp_path, SOURCE).items():
        check_refused(pieces, translate_attention, **world, candidates=candidates)
    check_refused(["n-best", -1], translate_attention, **world, nbest=tmp_path / "nbest", nbest_size=-1)
    check_refused(["decoding.attention", "'width'"], translate, world, {"width": 3})
    assert not world["output"].exists()


def test_phrase_based_decoding_does_not_depend_on_it() -> None:
    reached = {str(path.relative_to(PACKAGE)) for path in reached_files("neural_smt.decoding.steps")}
    assert not [name for name in reached if name.startswith(("decoding/attention", "networks/attention"))]
    known = {"decode", "decode_lattices", "measure_epochs", "rerank", "score_lists", "translate_attention"}
    assert known < set(steps("decoding"))


WORDS = Vocabulary.from_sentences([" ".join(f"w{word}" for word in range(8))])


def save_random(folder: Path, seed: int, updates: int, noise: float = 0.0) -> None:
    network = toys.random_network(len(WORDS), len(WORDS), seed, noise=noise)
    Trained(network, WORDS, WORDS).save(folder, {"updates": updates})


@pytest.fixture
def measured(tmp_path: Path) -> dict[str, Any]:
    """Three epochs of 50 updates; the reference is what the second model writes, but for its last sentences, and the
    third model is much like it.
    """
    for epoch, seed, noise in ((1, 1, 0.0), (2, 2, 0.0), (3, 2, 0.2)):
        save_random(tmp_path / "epochs" / str(epoch), seed, 50 * epoch, noise)
    random = np.random.default_rng(0)
    lines = [" ".join(f"w{word}" for word in random.integers(0, 9, random.integers(3, 9))) for _ in range(12)]
    write_lines(tmp_path / "text", lines)
    write_lines(tmp_path / "curve", ["updates,validation_perplexity", "50,9.5000", "75,9.1000", "150,8.2500"])
    translate_epoch(tmp_path, 2)
    write_lines(tmp_path / "reference", [*read_lines(tmp_path / "written")[:9], *lines[9:]])
    names = ("epochs", "curve", "text", "reference", "output", "state")
    return {**{name: tmp_path / name for name in names}, "settings": {"beam": 3}}


def translate_epoch(folder: Path, epoch: int, **further: Any) -> list[list[str]]:
    """What the step that translates writes with the model of an epoch."""
    files = {"text": folder / "text", "output": folder / "written", "statistics": folder / "statistics"}
    system = toys.save_translator(folder / "system", folder / "epochs" / str(epoch), beam=3)
    translate_attention(**files, system=system, **further)
    return [line.split() for line in read_lines(folder / "written")]


def count_searches(monkeypatch: pytest.MonkeyPatch, most: int = 100) -> list[int]:
    """Has an entry for every text that is translated from now on; most: so many are, then the program is killed."""
    searches: list[int] = []
    original = Translator.search

    def counted(self: Translator, lines: list[str], *rest: Any) -> Any:
        if len(searches) == most:
            raise KeyboardInterrupt
        searches.append(len(lines))
        return original(self, lines, *rest)

    monkeypatch.setattr(Translator, "search", counted)
    return searches


def measure(measured: dict[str, Any], **further: Any) -> list[float]:
    """Run the step; the BLEU of every epoch."""
    measure_epochs(**measured, **further)
    return [float(row["bleu"]) for row in read_csv(measured["output"])]


def test_each_epoch_has_the_bleu_of_its_translations(measured: dict[str, Any], tmp_path: Path) -> None:
    found = measure(measured)
    answers = [line.split() for line in read_lines(measured["reference"])]
    expected = [100 * bleu(corpus_statistics(translate_epoch(tmp_path, epoch), answers)) for epoch in (1, 2, 3)]
    assert found == pytest.approx(expected, abs=1e-4)
    assert expected[1] > expected[2] > expected[0]
    rows = read_csv(measured["output"])
    found = [(row["epoch"], row["updates"], row["perplexity"]) for row in rows]
    assert found == [("1", "50", "9.5000"), ("2", "100", ""), ("3", "150", "8.2500")]
    assert all(float(row["seconds"]) > 0 for row in rows)


def test_each_epoch_keeps_to_the_words_of_a_sentence(measured: dict[str, Any], tmp_path: Path) -> None:
    lines = read_lines(measured["text"])
    for name, origin in (("sets", {}), ("others", {"source": "another"})):
        ids = [[UNK, EOS, *range(3, 4 + number % 6)] for number in range(len(lines))]
        toys.save_sets(tmp_path / name, ids, lines, WORDS, **origin)
    freely, limited = measure(measured), measure(measured, candidates=tmp_path / "sets")
    answers = [line.split() for line in read_lines(measured["reference"])]
    written = translate_epoch(tmp_path, 2, candidates=tmp_path / "sets")
    assert limited[1] == pytest.approx(100 * bleu(corpus_statistics(written, answers)), abs=1e-4)
    assert limited != freely
    check_refused("another source text", measure_epochs, **measured, candidates=tmp_path / "others")


def test_unknown_words_are_not_replaced_to_measure_epochs(measured: dict[str, Any]) -> None:
    plain = measure(measured)
    measured["settings"] |= {"heuristic": 2}  # would need a dictionary
    assert measure(measured) == plain


def test_what_is_measured_is_not_translated_again(measured: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    measure_epochs(**measured)
    whole = measured["output"].read_bytes()
    searches = count_searches(monkeypatch)
    measured["output"].unlink()
    measure_epochs(**measured)
    assert (measured["output"].read_bytes(), searches) == (whole, [])
    save_random(measured["epochs"] / "3", 7, 150)
    save_random(measured["epochs"] / "4", 2, 200)
    found = measure(measured)
    assert searches == [12, 12]  # the third has other weights, the fourth those of the second but more updates
    assert found[3] == found[1]
    assert len(read_json(measured["state"])) == 4


def test_a_killed_measurement_goes_on(measured: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        count_searches(patch, most=2)
        measure_epochs(**measured)
    assert not measured["output"].exists()
    again = count_searches(monkeypatch)
    measure_epochs(**measured)
    assert again == [12]
    assert [row["epoch"] for row in read_csv(measured["output"])] == ["1", "2", "3"]


@pytest.mark.parametrize("change", ["settings", "text", "reference", "candidates", "program"])
def test_whatever_decides_on_it_is_measured_again(
    measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    measure_epochs(**measured)
    searches = count_searches(monkeypatch)
    if change == "settings":
        measured["settings"] = {"beam": 2}
    elif change == "candidates":
        ids = Ragged.from_lists([np.arange(len(WORDS))] * 12)
        whole_sets(ids, len(WORDS)).save(tmp_path / "sets")
        measured["candidates"] = tmp_path / "sets"
    elif change == "program":
        monkeypatch.setattr(attention_steps, "code_digest", lambda module: "another")
    else:
        write_lines(measured[change], [*read_lines(measured[change])[:-1], "w1 w2 w3"])
    measure_epochs(**measured)
    assert searches == [12, 12, 12]
    assert len(read_json(measured["state"])) == 3  # nothing piles up


def test_inputs_that_do_not_go_together_are_refused(measured: dict[str, Any], tmp_path: Path) -> None:
    write_lines(tmp_path / "short", ["w1"])
    Trained(toys.random_network(len(WORDS), len(WORDS)), WORDS, WORDS).save(tmp_path / "old" / "1")
    for change, pieces in (
        ({"reference": tmp_path / "short"}, ["12 lines", "short", 1]),
        ({"epochs": tmp_path}, [tmp_path, "epochs"]),
        ({"settings": {"width": 3}}, ["decoding.attention", "'width'"]),
        ({"epochs": tmp_path / "old"}, ["old", "updates"]),
    ):
        check_refused(pieces, measure_epochs, **measured | change)
    assert not measured["output"].exists()
