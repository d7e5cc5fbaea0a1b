"""The step of the representations stage, and the folders it writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from alignments import link_sets
from refusals import check_refused

from neural_smt.io.arrays import read_arrays, write_arrays
from neural_smt.io.files import read_json, read_yaml, write_json, write_lines
from neural_smt.io.ragged import Ragged
from neural_smt.networks.folder import Trained
from neural_smt.networks.recurrent.configuration import AuxiliaryInputs, RecurrentConfig, WordClasses
from neural_smt.networks.recurrent.network import RecurrentNetwork
from neural_smt.representations.lsa import LatentSemantics, analyse
from neural_smt.representations.projection import cosines
from neural_smt.representations.representation import load_representation, save_representation
from neural_smt.representations.steps import build_representation
from neural_smt.shortlist import repeated_words
from neural_smt.vocabulary import UNK, Vocabulary

SOURCE = ["un", "une", "chien", "chat", "fille", "noir", "court", "saute", "mange", "dort"]
TARGET = ["a", "a", "dog", "cat", "girl", "black", "runs", "jumps", "eats", "sleeps"]
TRANSLATIONS = dict(zip(SOURCE, TARGET, strict=True))

CASES = read_yaml(Path(__file__).with_name("cases.yaml"))
KINDS: dict[str, dict[str, Any]] = CASES["kinds"]

Build = Callable[..., tuple[Path, dict[str, Any]]]


def sentences(seed: int, count: int) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [random.choice(list(TRANSLATIONS), size=n).tolist() for n in random.integers(1, 8, count)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    source = sentences(1, 200)
    write_lines(tmp_path / "train.fr", [" ".join(line) for line in source])
    write_lines(tmp_path / "train.en", [" ".join(TRANSLATIONS[word] for word in line) for line in source])
    return tmp_path


@pytest.fixture
def build(text: Path) -> Build:
    def call(name: str, recurrent: Path | None = None, **changes: Any) -> tuple[Path, dict[str, Any]]:
        files = {"source": text / "train.fr", "target": text / "train.en", "recurrent": recurrent}
        outputs = {"output": text / name, "statistics": text / f"{name}.json"}
        build_representation(settings=KINDS[name] | changes, **files, **outputs, seed=1)
        return text / name, read_json(outputs["statistics"])

    return call


def vectors_of(inputs: AuxiliaryInputs, numbers: np.ndarray) -> np.ndarray:
    return inputs.table[inputs.rows[numbers]].reshape(len(numbers), -1)


def analysed() -> tuple[Vocabulary, Ragged, LatentSemantics]:
    """The source side of the training text."""
    lines = [" ".join(tokens) for tokens in sentences(1, 200)]
    vocabulary = repeated_words(lines)
    ids = vocabulary.encode(lines)
    return vocabulary, ids, analyse(ids, len(vocabulary), 4, seed=1)


def test_a_sentence_has_its_row_of_r_whatever_the_word_is_aligned_to(build: Build, text: Path) -> None:
    folder, statistics = build("sentence_lsa", length=3.0)
    found = load_representation(folder)
    assert (found.slots, found.dimensions, found.input_rows, found.settings.side) == (1, 4, 0, "source")
    training, (_, ids, semantics) = sentences(1, 200), analysed()
    inputs = found.inputs([*training, ["loup"], []], link_sets((7, [0]), (7, []), (199, [0]), (200, []), (201, [])))
    assert inputs.rows.dtype == np.int32 and inputs.table.dtype == np.float32
    vectors = vectors_of(inputs, np.arange(5))
    rows = semantics.sentences(ids)
    scale = 3 / np.sqrt((rows**2).sum() / 200)
    assert scale == pytest.approx(3 * np.sqrt(200 / 4))  # R's columns have length 1
    np.testing.assert_allclose(vectors[[0, 1, 2]], scale * rows[[7, 7, 199]], rtol=1e-5, atol=1e-6)
    assert not vectors[3:].any() and not inputs.table[0].any()
    assert statistics.items() >= {"kind": "sentence_lsa", "sentences": 200, "words": 13, "slots": 1}.items()
    assert 0 < statistics["energy_share"] < 1


def test_the_oracle_reads_references(build: Build) -> None:
    found = load_representation(build("oracle")[0])
    assert found.settings.side == "target"
    known, unknown = vectors_of(found.inputs([["dog"], ["chien"]], link_sets((0, []), (1, []))), np.arange(2))
    assert known.any() and not unknown.any()


def test_words_of_a_window_have_rows_of_t_equally_long(build: Build) -> None:
    found = load_representation(build("word_lsa", length=2.0)[0])
    assert (found.slots, found.dimensions, found.input_rows) == (3, 4, 0)
    inputs = found.inputs([["chien", "loup", "dort", "noir"]], link_sets((0, [2]), (0, [])))
    words = vectors_of(inputs, np.array([0, 1])).reshape(2, 3, 4)
    np.testing.assert_allclose((words[0] ** 2).sum(), 2.0**2 * 2 / 3, rtol=1e-5)  # two of three words are known
    assert not words[0, 1].any() and not words[1, 2].any(), "an unknown word and what is behind the end are zeros"
    np.testing.assert_array_equal(words[1, 1], words[0, 2])
    vocabulary, _, semantics = analysed()
    found, expected = words[0, 2], semantics.words[vocabulary.index["noir"]]
    np.testing.assert_allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected), rtol=1e-5)


def test_learned_vectors_are_rows_only(build: Build) -> None:
    folder, _ = build("learned")
    found = load_representation(folder)
    assert (found.slots, found.dimensions, found.input_rows) == (2, 7, 14)
    inputs = found.inputs([["chien", "loup"]], link_sets((0, [0, 1]), (0, [])))
    assert inputs.table is None
    assert inputs.rows.tolist() == [[found.vocabulary.index["chien"] + 1, UNK + 1], [0, 0]]


def test_the_projection_comes_near_the_reference(build: Build) -> None:
    folder, statistics = build("projected_lsa")
    cosine = statistics["cosine"]
    assert cosine["training"] > 0.97 and cosine["held_out"] > 0.9 > cosine["constant"]
    assert statistics["features"] == 10 + 10 * 10
    assert statistics["features_sharing_a_number"] == 2, "two of these happen to agree in their lowest 20 bits"
    assert 100 <= statistics["trained_features"] <= 110, "but for those of held-out sentences alone"
    projected, oracle = load_representation(folder), load_representation(build("oracle")[0])
    new = sentences(2, 50)
    every = link_sets(*((number, []) for number in range(50)))
    theirs = vectors_of(projected.inputs(new, every), np.arange(50))
    references = [[TRANSLATIONS[word] for word in sentence] for sentence in new]
    ours = vectors_of(oracle.inputs(references, every), np.arange(50))
    assert cosines(theirs, ours).mean() > 0.9
    training = projected.inputs(sentences(1, 200), link_sets(*((n, []) for n in range(200)))).table[1:]
    assert np.sqrt((training**2).sum(axis=1).mean()) == pytest.approx(2, rel=1e-4)


@pytest.mark.parametrize("name", KINDS)
def test_the_same_seed_gives_the_same_bytes_and_a_folder_comes_back(build: Build, tmp_path: Path, name: str) -> None:
    folder, _ = build(name)
    save_representation(tmp_path / "copy", load_representation(folder))
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()} == first
    again, _ = build(name)
    assert {path.name: path.read_bytes() for path in again.iterdir()} == first


def test_words_of_a_recurrent_model_keep_their_proportions(build: Build, text: Path) -> None:
    vocabulary = Vocabulary.from_sentences(["chien chien chien noir"])
    classes = WordClasses(np.array([0, 2, 3, 4], dtype=np.int32), np.array([0, 4]))
    network = RecurrentNetwork(RecurrentConfig(5, 1, hidden=2, direct_size=0), classes, seed=1)
    with torch.no_grad():
        network.embedding.copy_(torch.tensor([[9.0, 9], [9, 9], [9, 9], [0, 1], [3, 4]]))
    Trained(network, vocabulary).save(text / "recurrent")
    folder, statistics = build("learned", text / "recurrent", kind="word_rnn", window="n4", length=2.0)
    found = load_representation(folder)
    assert (found.slots, found.dimensions, found.input_rows) == (4, 2, 0)
    length = np.sqrt((3 * 1 + 25) / 4)  # of running words
    vectors = vectors_of(found.inputs([["chien", "noir"]], link_sets((0, [0]))), np.array([0]))[0]
    np.testing.assert_allclose(vectors, [3 / length, 4 / length, *[0] * 6], rtol=1e-6)
    assert statistics["length_in_the_model"] == pytest.approx(length)


@pytest.mark.parametrize(("changes", "pieces"), CASES["refused"])
def test_settings_that_cannot_be_are_refused(build: Build, text: Path, changes: dict[str, Any], pieces: list) -> None:
    check_refused(pieces, build, "sentence_lsa", **changes)
    assert not (text / "sentence_lsa").exists()


def test_links_of_no_sentence_are_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="sentences that are not there"):
        load_representation(build("sentence_lsa")[0]).inputs([["chien"]], link_sets((1, [])))


def test_broken_folders_are_refused(build: Build) -> None:
    folder, _ = build("projected_lsa")
    arrays, description = read_arrays(folder / "vectors.safetensors"), read_json(folder / "config.json")
    weights, features = arrays["weights"], {"features": arrays["features"]}
    for fault in ({}, features | {"weights": weights[1:]}, features | {"weights": weights + np.float32(np.nan)}):
        write_arrays(folder / "vectors.safetensors", {"weights": weights} | fault)
        check_refused(["vectors.safetensors", "damaged"], load_representation, folder)
    (folder / "vectors.safetensors").write_bytes(b"short")
    check_refused(["vectors.safetensors", "damaged"], load_representation, folder)
    for broken in ([], {"vocabulary": ""}, description | {"settings": {"kind": "lsa"}}, description | {"settings": 3}):
        write_json(folder / "config.json", broken)
        check_refused(["config.json", "settings"], load_representation, folder)
    write_json(folder / "config.json", description)
    Vocabulary.from_sentences(["un chat"]).save(folder / "vocabulary.tsv")
    check_refused(["vocabulary.tsv", "not the vocabulary"], load_representation, folder)
