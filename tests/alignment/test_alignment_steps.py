"""The steps of the alignment stage, from files to files."""

from pathlib import Path

import numpy as np
import pytest

from neural_smt.alignment.error_rate_steps import measure_error_rate
from neural_smt.alignment.lexical import LexicalTable
from neural_smt.alignment.pharaoh import read_alignments
from neural_smt.alignment.steps import align, align_sets, build_lexical_tables, symmetrise
from neural_smt.errors import UserError
from neural_smt.io.files import read_csv, read_lines, write_lines
from neural_smt.vocabulary import Vocabulary

WORDS = {"the": "la", "a": "une", "house": "maison", "blue": "bleue", "old": "vieille", "door": "porte", "and": "et"}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A folder with a small parallel text (nouns and adjectives swapped) and a gold set of two pairs."""
    source, target = [], []
    for determiner in ("the", "a"):
        for noun in ("house", "door"):
            for adjective in ("blue", "old"):
                source.append(f"{determiner} {adjective} {noun} and the door")
                target.append(f"{WORDS[determiner]} {WORDS[noun]} {WORDS[adjective]} et la porte")
            source.append(f"{determiner} {noun}")
            target.append(f"{WORDS[determiner]} {WORDS[noun]}")
    write_lines(tmp_path / "train.en", source * 6)
    write_lines(tmp_path / "train.fr", target * 6)
    write_lines(tmp_path / "gold.en", ["the blue house", "a door"])
    write_lines(tmp_path / "gold.fr", ["la maison bleue", "une porte"])
    write_lines(tmp_path / "gold.align", ["0-0 1-2 2-1", "0-0 1?1"])
    return tmp_path


def run(folder: Path, aligner: str, backward: bool) -> None:
    name = "backward" if backward else "forward"
    align(
        sources=[folder / "train.en", folder / "gold.en"],
        targets=[folder / "train.fr", folder / "gold.fr"],
        settings={"aligner": aligner, "heuristic": "grow-diag-final-and"},
        backward=backward,
        seed=1,
        output=folder / f"{name}.align",
        gold_output=folder / f"gold.{name}.align",
    )


@pytest.mark.parametrize("aligner", ["fast_align", "eflomal"])
def test_text_is_aligned_in_both_directions(text: Path, aligner: str) -> None:
    run(text, aligner, backward=False)
    run(text, aligner, backward=True)
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


def test_fast_align_repeats_itself(text: Path) -> None:
    run(text, "fast_align", backward=True)
    first = (text / "backward.align").read_bytes()
    run(text, "fast_align", backward=True)
    assert (text / "backward.align").read_bytes() == first


def test_from_directions_to_tables_and_error_rates(text: Path) -> None:
    run(text, "fast_align", backward=False)
    run(text, "fast_align", backward=True)
    symmetrise(
        forward=text / "forward.align",
        backward=text / "backward.align",
        heuristic="grow-diag-final-and",
        output=text / "symmetrised.align",
    )
    for language in ("en", "fr"):
        Vocabulary.from_sentences(read_lines(text / f"train.{language}")).save(text / f"vocabulary.{language}")
    build_lexical_tables(
        source=text / "train.en",
        target=text / "train.fr",
        alignment=text / "symmetrised.align",
        source_vocabulary=text / "vocabulary.en",
        target_vocabulary=text / "vocabulary.fr",
        output=text / "lexical",
    )
    source, target = (Vocabulary.load(text / f"vocabulary.{language}") for language in ("en", "fr"))
    best = LexicalTable.load(text / "lexical").top_translations(1)
    assert {w: target.words[best[source.index[w]][0]] for w in WORDS} == WORDS
    measure_error_rate(
        forward=text / "gold.forward.align",
        backward=text / "gold.backward.align",
        gold=[text / "gold.align"],
        names=["gold"],
        table=text / "error_rate.csv",
    )
    rows = read_csv(text / "error_rate.csv")
    assert [row["method"] for row in rows][:3] == ["forward", "backward", "intersection"]
    assert rows[0] == {
        "set": "gold", "method": "forward", "precision": "1.0000", "recall": "1.0000", "aer": "0.0000", "links": "5",
    }  # fmt: skip


def test_further_sets_are_aligned_along_with_the_training_text(text: Path) -> None:
    write_lines(text / "test.en", ["the old door and a house", "", "a house"])
    write_lines(text / "test.fr", ["la porte vieille et une maison", "", "une maison"])
    names = ("train", "gold", "test")
    align_sets(
        sources=[text / f"{name}.en" for name in names],
        targets=[text / f"{name}.fr" for name in names],
        settings={"aligner": "fast_align", "heuristic": "grow-diag-final-and"},
        seed=1,
        outputs=[text / "sets" / "gold.align", text / "sets" / "test.align"],
    )
    assert read_lines(text / "sets" / "gold.align") == ["0-0 1-2 2-1", "0-0 1-1"]
    assert read_lines(text / "sets" / "test.align") == ["0-0 1-2 2-1 3-3 4-4 5-5", "", "0-0 1-1"]
    assert sorted(path.name for path in (text / "sets").iterdir()) == ["gold.align", "test.align"]


def test_a_set_without_its_translation_is_refused(text: Path) -> None:
    write_lines(text / "gold.fr", ["la maison bleue"])
    with pytest.raises(UserError, match=r"gold\.en has 2 lines but .*gold\.fr has 1"):
        align_sets(
            sources=[text / "train.en", text / "gold.en"],
            targets=[text / "train.fr", text / "gold.fr"],
            settings={"aligner": "fast_align", "heuristic": "union"},
            seed=1,
            outputs=[text / "links"],
        )
    assert not (text / "links").exists()


def test_several_gold_sets_are_summed_up(tmp_path: Path) -> None:
    write_lines(tmp_path / "links", ["0-0", "0-1"])
    write_lines(tmp_path / "one", ["0-0"])
    write_lines(tmp_path / "two", ["0-0"])
    measure_error_rate(
        forward=tmp_path / "links",
        backward=tmp_path / "links",
        gold=[tmp_path / "one", tmp_path / "two"],
        names=["one", "two"],
        table=tmp_path / "table.csv",
    )
    rates = {(row["set"], row["method"]): row["aer"] for row in read_csv(tmp_path / "table.csv")}
    assert [rates[name, "union"] for name in ("one", "two", "all")] == ["0.0000", "1.0000", "0.5000"]


def test_gold_of_another_length_is_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "links", ["0-0", "0-1"])
    write_lines(tmp_path / "gold", ["0-0"])
    with pytest.raises(UserError, match="has 2 lines but the gold alignments"):
        measure_error_rate(
            forward=tmp_path / "links",
            backward=tmp_path / "links",
            gold=[tmp_path / "gold"],
            names=["g"],
            table=tmp_path / "t",
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"aligner": "giza"}, "alignment.aligner: 'giza' is unknown; use eflomal or fast_align"),
        (
            {"aligner": "fast_align", "fast_align": {"p1": 1}},
            "alignment.fast_align.p1 is unknown; use one of iterations",
        ),
        ({"aligner": "eflomal", "eflomal": {"seed": 1}}, "alignment.steps.seed is unknown; use one of model"),
    ],
)
def test_wrong_settings_are_named(text: Path, settings: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        align(
            sources=[text / "train.en"],
            targets=[text / "train.fr"],
            settings=settings,
            backward=False,
            seed=1,
            output=text / "o",
        )
    assert not (text / "o").exists()


def test_empty_training_text_is_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "e", [])
    with pytest.raises(UserError, match="e: holds no words to align"):
        align(
            sources=[tmp_path / "e"],
            targets=[tmp_path / "e"],
            settings={"aligner": "fast_align"},
            backward=False,
            seed=1,
            output=tmp_path / "o",
        )


def test_eflomal_that_stops_is_reported(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import eflomal

    monkeypatch.setattr(eflomal.Aligner, "align", lambda *arguments, **options: None)
    with pytest.raises(UserError, match="eflomal aligned 0 of 74 sentence pairs and stopped; install it again"):
        run(text, "eflomal", backward=False)
