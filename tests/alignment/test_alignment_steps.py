"""The steps of the alignment stage, from files to files."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import check_refused

from neural_smt.alignment.error_rate_steps import COLUMNS, measure_error_rate
from neural_smt.alignment.lexical import LexicalTable
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.alignment.steps import align, align_sets, build_lexical_tables, symmetrise
from neural_smt.io.files import read_csv, read_lines, write_lines
from neural_smt.vocabulary import Vocabulary

WORDS = {"the": "la", "a": "une", "house": "maison", "blue": "bleue", "old": "vieille", "door": "porte", "and": "et"}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A folder with a small parallel text (nouns and adjectives swapped) and a gold set of two pairs."""
    source, target = [], []
    for determiner, noun in itertools.product(("the", "a"), ("house", "door")):
        for adjective in ("blue", "old"):
            source.append(f"{determiner} {adjective} {noun} and the door")
            target.append(f"{WORDS[determiner]} {WORDS[noun]} {WORDS[adjective]} et la porte")
        source.append(f"{determiner} {noun}")
        target.append(f"{WORDS[determiner]} {WORDS[noun]}")
    texts = {"train.en": source * 6, "train.fr": target * 6, "gold.align": ["0-0 1-2 2-1", "0-0 1?1"]}
    texts |= {"gold.en": ["the blue house", "a door"], "gold.fr": ["la maison bleue", "une porte"]}
    for name, lines in texts.items():
        write_lines(tmp_path / name, lines)
    return tmp_path


def given(folder: Path, *names: str, aligner: str = "fast_align") -> dict[str, Any]:
    """What is aligned, both sides of these texts, and how."""
    sides = {"sources": "en", "targets": "fr"}
    texts = {side: [folder / f"{name}.{language}" for name in names] for side, language in sides.items()}
    return {**texts, "settings": {"aligner": aligner, "heuristic": "grow-diag-final-and"}, "seed": 1}


def run(folder: Path, aligner: str, backward: bool) -> None:
    name = "backward" if backward else "forward"
    outputs = {"output": folder / f"{name}.align", "gold_output": folder / f"gold.{name}.align"}
    align(**given(folder, "train", "gold", aligner=aligner), backward=backward, **outputs)


@pytest.mark.parametrize("aligner", ["fast_align", "eflomal"])
def test_text_is_aligned_in_both_directions(text: Path, aligner: str) -> None:
    for backward in (False, True):
        run(text, aligner, backward)
    source, target = ([line.split() for line in read_lines(text / f"train.{side}")] for side in ("en", "fr"))
    for name in ("forward", "backward"):
        alignments = read_alignments(text / f"{name}.align")
        assert len(alignments) == len(source)
        assert len(read_alignments(text / f"gold.{name}.align")) == 2
        right = [WORDS[source[k][i]] == target[k][j] for k, links in enumerate(alignments) for i, j in links.tolist()]
        # eflomal draws another seed every time and so little text leaves it doubts.
        assert np.mean(right) > (0.95 if aligner == "fast_align" else 0.6)
    # One link at most for each generated word: target words forward, source words in backward.
    for name, side in (("forward", 1), ("backward", 0)):
        for pair in read_alignments(text / f"{name}.align"):
            assert len(set(pair[:, side].tolist())) == len(pair)


def test_from_directions_to_tables_and_error_rates(text: Path) -> None:
    for backward in (False, True):
        run(text, "fast_align", backward)
    first = (text / "backward.align").read_bytes()
    run(text, "fast_align", backward=True)
    assert (text / "backward.align").read_bytes() == first, "fast_align repeats itself"
    directions = {name: text / f"{name}.align" for name in ("forward", "backward")}
    symmetrise(**directions, heuristic="grow-diag-final-and", output=text / "symmetrised.align")
    paths = {"alignment": text / "symmetrised.align"}
    for side, language in (("source", "en"), ("target", "fr")):
        paths |= {side: text / f"train.{language}", f"{side}_vocabulary": text / f"vocabulary.{language}"}
        Vocabulary.from_sentences(read_lines(paths[side])).save(paths[f"{side}_vocabulary"])
    build_lexical_tables(**paths, output=text / "lexical")
    source, target = (Vocabulary.load(text / f"vocabulary.{language}") for language in ("en", "fr"))
    best = LexicalTable.load(text / "lexical").top_translations(1)
    assert {w: target.words[best[source.index[w]][0]] for w in WORDS} == WORDS
    gold = {name: text / f"gold.{name}.align" for name in directions}
    gold |= {side: paths for side, paths in given(text, "gold").items() if side in ("sources", "targets")}
    gold |= {"gold": [text / "gold.align"], "names": ["gold"], "table": text / "error_rate.csv"}
    measure_error_rate(**gold)
    rows = read_csv(text / "error_rate.csv")
    assert [row["method"] for row in rows][:3] == ["forward", "backward", "intersection"]
    assert rows[0] == dict(zip(COLUMNS, ["gold", "forward", "1.0000", "1.0000", "0.0000", "5"], strict=True))
    write_lines(text / "gold.align", ["0-0", "2-0"])
    check_refused(["gold.align", "line 2", "0-2", "links_from"], measure_error_rate, **gold, turned=gold["gold"])


def test_the_table_of_fast_align_is_in_the_ids_of_the_vocabularies(text: Path) -> None:
    """It comes of the training that gives the links; words of gold sets alone are left out."""
    write_lines(text / "gold.fr", ["la maison azur", "une porte"])
    vocabularies = {}
    for side, language in (("source", "en"), ("target", "fr")):
        words = Vocabulary.from_sentences(read_lines(text / f"train.{language}"))
        words.save(vocabularies.setdefault(f"{side}_vocabulary", text / f"vocabulary.{language}"))
    paths = {"backward": False, "output": text / "links", "gold_output": text / "gold.links", "table": text / "table"}
    align(**given(text, "train", "gold"), **vocabularies, **paths)
    run(text, "fast_align", backward=False)
    assert (text / "links").read_bytes() == (text / "forward.align").read_bytes()
    source, target = map(Vocabulary.load, vocabularies.values())
    table = LexicalTable.load(text / "table")
    best = table.top_translations(1)
    assert {w: target.words[best[source.index[w]][0]] for w in WORDS} == WORDS
    assert table.pair(source.index["door"], target.index["porte"])[1] == pytest.approx(0.8954, abs=1e-4)
    refused = given(text, "train", aligner="eflomal") | vocabularies | paths
    check_refused(["table", "fast_align"], align, **refused)


def test_further_sets_are_aligned_along_with_the_training_text(text: Path) -> None:
    write_lines(text / "test.en", ["the old door and a house", "", "a house"])
    write_lines(text / "test.fr", ["la porte vieille et une maison", "", "une maison"])
    outputs = [text / "sets" / "gold.align", text / "sets" / "test.align"]
    align_sets(**given(text, "train", "gold", "test"), outputs=outputs)
    assert read_lines(text / "sets" / "gold.align") == ["0-0 1-2 2-1", "0-0 1-1"]
    assert read_lines(text / "sets" / "test.align") == ["0-0 1-2 2-1 3-3 4-4 5-5", "", "0-0 1-1"]
    assert sorted(path.name for path in (text / "sets").iterdir()) == ["gold.align", "test.align"]


def test_several_gold_sets_are_summed_up(tmp_path: Path) -> None:
    links, one, two, table = (tmp_path / name for name in ("links", "one", "two", "table.csv"))
    for path, lines in ((links, ["0-0", "0-1"]), (one, ["0-0"]), (two, ["0-0"]), (tmp_path / "text", ["a b"])):
        write_lines(path, lines)
    sides = dict.fromkeys(("sources", "targets"), [tmp_path / "text"] * 2)
    sets = {"gold": [one, two], "names": ["one", "two"], "forward": links, "backward": links, "table": table}

    def rates(*turned: Path) -> list[str]:
        measure_error_rate(**sets, **sides, turned=turned)
        found = {(row["set"], row["method"]): row["aer"] for row in read_csv(table)}
        return [found[name, "union"] for name in ("one", "two", "all")]

    assert rates() == ["0.0000", "1.0000", "0.5000"]
    write_lines(two, ["1-0"])
    assert rates(two) == ["0.0000", "0.0000", "0.0000"]


def test_eflomal_that_stops_is_reported(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import eflomal

    monkeypatch.setattr(eflomal.Aligner, "align", lambda *arguments, **options: None)
    check_refused(["eflomal", "0 of 74"], run, text, "eflomal", backward=False)
