"""The steps from files to files and from the command line, and what they refuse."""

from itertools import product
from pathlib import Path

import pytest
from refusals import check_refused
from vocabularies_world import SOURCE, TARGET, write_world

from neural_smt.cli import main
from neural_smt.experiment.settings import section_settings
from neural_smt.io.files import digest_lines, read_csv, read_lines, write_lines
from neural_smt.vocabulary import EOS, UNK, Vocabulary
from neural_smt.vocabulary_selection.building import load_sources
from neural_smt.vocabulary_selection.candidates import SIZES, CandidateSets
from neural_smt.vocabulary_selection.coverage_steps import measure_candidates
from neural_smt.vocabulary_selection.steps import build_candidates, build_network_vocabulary, explain, reason_rows

SETTINGS = {"dictionary": 1, "phrases": 1, "frequent": 1}


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Path]:
    return write_world(tmp_path, 100)


def options(world: dict[str, Path], folder: Path) -> list[str]:
    """The world's tables and its source text, for the command line."""
    given = world | {"source": folder / "source"}
    return [f"--{name.replace('_', '-')}={path}" for name, path in given.items()]


def test_the_network_knows_the_most_frequent_words(tmp_path: Path) -> None:
    write_lines(tmp_path / "text", ["b a b", "c a", "b <unk>"])
    build_network_vocabulary(text=tmp_path / "text", size=2, output=tmp_path / "network")
    assert Vocabulary.load(tmp_path / "network").words == ["<unk>", "<s>", "</s>", "b", "a"]


def test_candidates_are_written_with_what_they_were_made_from(world: dict[str, Path], tmp_path: Path) -> None:
    settings = ["--settings", '{"dictionary": 1, "phrases": 1, "frequent": 1}', f"--reference={tmp_path / 'target'}"]
    command = ["vocabulary_selection", "build_candidates", *options(world, tmp_path), *settings]
    command.append(f"--output={tmp_path / 'sets'}")
    assert main(command) == 0
    network = Vocabulary.load(world["network_vocabulary"])
    found = {"vocabulary": network.digest, "source": digest_lines(SOURCE), "reference": digest_lines(TARGET)}
    sets = CandidateSets.load(tmp_path / "sets", **found)
    assert main([*command[:-1], f"--output={tmp_path / 'again'}"]) == 0
    assert CandidateSets.load(tmp_path / "again").digest == sets.digest
    assert len(sets) == len(SOURCE) and sets.settings == {**SETTINGS, "max_length": 0}
    assert sets.origins.keys() == {*found, "dictionary", "phrase_table"}
    assert sets.of(6).tolist() == [UNK, EOS, 3]
    for line, words in enumerate(TARGET):
        assert {network.index[word] for word in words.split()} <= set(sets.of(line).tolist())


def test_a_part_that_is_off_needs_no_table(world: dict[str, Path], tmp_path: Path) -> None:
    names = ("source_vocabulary", "target_vocabulary", "network_vocabulary")
    vocabularies = {name: world[name] for name in names}
    settings = {"dictionary": 0, "phrases": 0, "frequent": 2}
    build_candidates(source=tmp_path / "source", **vocabularies, settings=settings, output=tmp_path / "sets")
    assert CandidateSets.load(tmp_path / "sets").sizes.tolist() == [4] * len(SOURCE)


def test_coverage_is_written_beside_the_papers(world: dict[str, Path], tmp_path: Path) -> None:
    write_lines(tmp_path / "dev.source", ["the red car", "a zebra"])
    write_lines(tmp_path / "dev.target", ["la voiture rouge", "un zèbre | rare"])
    texts = {name: [str(tmp_path / f"{start}{side}") for side in ("source", "target")] for name, start in NAMES.items()}
    outputs = {"csv_output": tmp_path / "c.csv", "markdown_output": tmp_path / "c.md"}
    inputs = {
        "texts": texts,
        "settings": SETTINGS,
        "batch": 2,
        "measured": 99,
        "training": "train",
        "seed": 1,
        **world,
        **outputs,
    }
    measure_candidates(**inputs, dictionary_sizes=[2])
    rows = {(row["text"], row["parts"], row["top"]): row for row in read_csv(tmp_path / "c.csv")}
    columns = {("V^P", ""), *product(("V^D", "V^P + V^D", "V^P + V^D + V^T"), "12")}
    references = ("train", "V^P + V^D + V^T + V^R", "1")
    assert rows.keys() == {references, *((text, *column) for text in NAMES for column in columns)}
    dev = rows["dev", "V^P + V^D + V^T", "1"]
    assert (dev["reference_words"], dev["known"], dev["covered"]) == ("7", "3", "3")
    assert (dev["coverage"], dev["sentences"], dev["complete_sentences"]) == ("0.428571", "2", "1")
    trained = rows[references]
    assert trained["coverage"] == "1.000000" and trained["complete_sentences"] == str(len(SOURCE))
    lines = table_cells(tmp_path / "c.md")
    assert next(line for line in lines if "V^P + V^D (2)" in line)[1:5] == ["known", "V^P", "V^D (1)", "V^D (2)"]
    assert ["dev", "42.9"] in [line[:2] for line in lines]
    assert ["paper, dev", "", "73.5"] in [line[:3] for line in lines]
    assert ["paper, train", "2080", "6153", ""] in lines
    changes = {"settings": SETTINGS | {"dictionary": 10}, "training": ""}
    measure_candidates(**inputs | changes, dictionary_sizes=[20, 10, 50])
    lines = table_cells(tmp_path / "c.md")
    header = next(line for line in lines if "V^D (50)" in line)
    paper = dict(zip(header, next(line for line in lines if line[:1] == ["paper, train"]), strict=True))
    assert paper["V^P"] == "73.6" and paper["V^D (20)"] == "87.8" and paper["V^P + V^D + V^T (50)"] == "96.2"
    check_refused(["batches", "2"], measure_candidates, **inputs, dictionary_sizes=[-1])
    check_refused(["batches", "0 sentences"], measure_candidates, **inputs | {"measured": 0}, dictionary_sizes=[2])


NAMES = {"train": "", "dev": "dev."}


def table_cells(path: Path) -> list[list[str]]:
    """The cells of each line of Markdown tables."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in read_lines(path)]


def reasons(world: dict[str, Path], sizes: dict[str, int], line: str, reference: str | None = None) -> dict[str, tuple]:
    """The rows of a table of reasons by their words."""
    settings = section_settings(SIZES, sizes)
    sources = load_sources(**world, settings=settings)
    return {row[0]: row for row in reason_rows(sources, explain(sources, settings, line, reference))}


def test_each_word_has_its_reasons(world: dict[str, Path], tmp_path: Path) -> None:
    words = reasons(world, {}, read_lines(tmp_path / "source")[1])
    assert "demeure" in words and words["maison"][2].startswith("house #1 ")
    assert "the house #1 la maison " in words["maison"][3]
    assert words.keys() >= {"<unk>", "</s>", "voiture"} and len(words) == 9
    assert {word for word, row in words.items() if row[2] or row[3]} == {"demeure", "la", "maison"}


def test_words_of_the_reference_are_marked(world: dict[str, Path], tmp_path: Path) -> None:
    line, reference = (read_lines(tmp_path / side)[2] for side in ("source", "target"))
    words = reasons(world, {"dictionary": 0, "phrases": 0, "frequent": 0}, line, reference)
    assert {word: row[4:] for word, row in words.items() if row[5]} == {"une": ("", "yes"), "maison": ("", "yes")}
