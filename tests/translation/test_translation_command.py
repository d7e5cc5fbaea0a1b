"""The verb translate: raw text in and out, lists, alignments, explanations, JSON, while the text still comes."""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_results import translator, write_experiment

from neural_smt.cli import main
from neural_smt.translation.formats import as_data, explanation_lines, feature_shares, rest_shares
from neural_smt.translation.text import TextTranslator, cut, join
from neural_smt.translation.translators import Candidate, Origin, Phrase, Translated
from neural_smt.workflow.code_digest import PACKAGE

ODD = 'a "b" c\u00a0| <b> & [c] \u200b\ud83d\ude00'.encode("utf-16", "surrogatepass").decode("utf-16")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_experiment(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> TextTranslator:
    return TextTranslator(translator(tmp_path_factory.mktemp("again")), "en", "fr")


def arguments(config: Path, *further: str, system: str = "baseline") -> list[str]:
    return ["translate", str(config), "--directory", str(config.parent), "--system", system, *further]


def run(config: Path, capfd: pytest.CaptureFixture[str], *further: str, system: str = "baseline") -> list[str]:
    status = main(arguments(config, *further, system=system))
    shown = capfd.readouterr()
    assert status == 0, shown.err
    return shown.out.splitlines()


def start(config: Path, *further: str, **options: Any) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "neural_smt", *arguments(config, *further)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_files_are_translated_line_by_line(
    config: Path, text: TextTranslator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one").write_text(f"a b c\n\n{ODD}\nc b", encoding="utf-8")
    (tmp_path / "two.gz").write_bytes(gzip.compress(b"b a\r\n"))
    lines = run(config, capfd, str(tmp_path / "one"), str(tmp_path / "two.gz"))
    sources = ["a b c", "", ODD, "c b", "b a"]
    assert lines == [sentence.text for sentence in text.translate(sources)]
    assert lines[1] == "" and "&" in lines[2] and "&amp;" not in lines[2]
    links = run(config, capfd, "--alignment", str(tmp_path / "one"))
    assert [line.split(" ||| ")[0] for line in links] == lines[:4]
    assert links[1] == " ||| "
    expected = sorted(text.translate(["a b c"])[0].translated.best.alignment)
    assert links[0].split(" ||| ")[1] == " ".join(f"{i}-{j}" for i, j in expected)


def test_lists_have_the_form_of_moses(
    config: Path, text: TextTranslator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("a b\n\nc\n", encoding="utf-8")
    lines = run(config, capfd, "--nbest", "3", "--alignment", str(tmp_path / "text"))
    fields = [line.split(" ||| ") for line in lines]
    assert [row[0] for row in fields] == ["0", "0", "0", "1", "2"]
    wanted = text.translate(["a b"], nbest=3)[0]
    assert [row[1] for row in fields[:3]] == wanted.texts
    assert [float(row[3]) for row in fields[:3]] == pytest.approx([c.score for c in wanted.translated.candidates], 1e-4)
    scores = fields[0][2].split()
    assert scores[0] == "LexicalReordering0=" and scores.count("TranslationModel0=") == 1
    values = [float(score) for score in scores if not score.endswith("=")]
    assert values == pytest.approx(wanted.translated.best.features.tolist(), rel=1e-4)
    assert len(fields[0]) == 5


def test_json_has_a_line_for_each_line(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("a <c>\n\n", encoding="utf-8")
    lines = run(config, capfd, "--output", "json", "--explain", "--nbest", "2", str(tmp_path / "text"))
    first, second = map(json.loads, lines)
    assert first["words"] == ["a", "<", "c", ">"] and first["line"] == "a <c>"
    assert len(first["candidates"]) == 2 and first["translation"] == first["candidates"][0]["text"]
    best = first["candidates"][0]
    assert sum(best["shares"].values()) == pytest.approx(best["score"], abs=1e-4)
    parts = [sum(phrase["shares"].values()) for phrase in best["phrases"]]
    assert sum(parts) == pytest.approx(best["score"], abs=1e-4) and best["whole_sentence"] == {}
    assert {i for phrase in best["phrases"] for i in range(*phrase["source"])} == {0, 1, 2, 3}
    assert second["words"] == [] and second["candidates"][0]["words"] == []


def test_an_explanation_names_phrases_and_their_shares(config: Path, tmp_path: Path, capfd) -> None:
    (tmp_path / "text").write_text("a c\n", encoding="utf-8")
    shown = run(config, capfd, "--explain", str(tmp_path / "text"))
    assert shown[1].startswith("  score ") and "LM0" in shown[1]
    assert any(line.startswith("  c -> c: ") and "UnknownWordPenalty0 -100.000" in line for line in shown[2:])
    shown = run(config, capfd, "--explain", str(tmp_path / "text"), system="network")
    assert shown[1].startswith("  score ") and "Attention0" in shown[1]
    assert all(" <- " in line for line in shown[2:])


def test_a_translation_comes_while_the_next_line_is_awaited(config: Path) -> None:
    process = start(config, stdin=subprocess.PIPE, bufsize=0)
    assert process.stdin and process.stdout
    answers = []
    for line in (b"a b c\n", b"\n", b"c\n"):
        process.stdin.write(line)
        answers.append(process.stdout.readline())  # comes before anything else is written
    process.stdin.write(b"b a")  # the last line has no end
    rest, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert answers[1] == b"\n" and all(answer.endswith(b"\n") for answer in (*answers, rest))
    assert rest.count(b"\n") == 1


def test_a_reader_that_goes_away_ends_it_quietly(config: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c\n" * 5000, encoding="utf-8")
    process = start(config, str(tmp_path / "text"))
    assert process.stdout and process.stderr
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read().decode()
    assert process.wait(timeout=300) == 128 + 13
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("further", "fault"),
    [
        (["missing"], "missing: no such file; check the path"),
        (["--nbest", "-1"], "--nbest -1 --threads 1: take 0 or more translations and 1 thread or more"),
        (["--threads", "0"], "--nbest 0 --threads 0: take 0 or more translations and 1 thread or more"),
        (["--nbest", "2", "--explain"], "--nbest and --explain: lists are explained as JSON; add --output json or"),
        (["--system", "none"], "there is no system 'none'; experiment small has baseline"),
        (["--run", "9"], "--run 9: system 'baseline' has runs 1 to 2"),
        (["--settings", "no.yaml"], "no.yaml: no such file; name a configuration file of Snakemake"),
        (["."], ".: cannot be read ([Errno 21] Is a directory: '.'); fetch or write the file again"),
        (["text"], "text, line 2: not valid UTF-8 (byte 0xff); convert the file to UTF-8"),
    ],
)
def test_bad_arguments_and_texts_get_one_sentence(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd, further: list[str], fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_bytes(b"a b\n\xff\n")
    assert main(arguments(config, *further)) == 1
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[-1].startswith(f"error: {fault}")


def test_a_very_long_line_is_translated_in_pieces(text: TextTranslator) -> None:
    words = ["a", "b", "c", "."] * 500
    began = time.perf_counter()
    (sentence,) = text.translate([" ".join(words)], nbest=2)
    assert time.perf_counter() - began < 120
    assert sentence.source == words
    best = sentence.translated.best
    assert [i for phrase in sorted(p.source for p in best.phrases) for i in range(*phrase)] == list(range(2000))
    assert [j for phrase in best.phrases for j in range(*phrase.target)] == list(range(len(best.tokens)))
    shares = feature_shares(text.translator, best.features)
    assert sum(shares.values()) == pytest.approx(best.score, rel=1e-4)


@given(st.lists(st.sampled_from(["a", "b", ".", ",", ";"]), max_size=60), st.integers(2, 9))
def test_pieces_are_the_line_and_none_is_too_long(tokens: list[str], longest: int) -> None:
    pieces = cut(tokens, longest)
    assert [word for piece in pieces for word in piece] == tokens
    assert all(len(piece) <= longest for piece in pieces)
    assert all(pieces) or pieces == [[]]


def test_lines_are_cut_after_the_best_stop_of_the_second_half() -> None:
    assert cut(["a", ".", "b", ";", "c", ",", "d", "e", "f"], 7) == [["a", ".", "b", ";"], ["c", ",", "d", "e", "f"]]
    assert cut(["a", ".", "b", "c", "d", ",", "e", "f"], 7) == [["a", ".", "b", "c", "d", ","], ["e", "f"]]
    assert cut(["a", "b", "c", "d", "e", "f", "g", "h"], 3) == [["a", "b", "c"], ["d", "e", "f"], ["g", "h"]]


def test_joined_pieces_keep_their_places() -> None:
    phrase = Phrase((0, 2), (0, 1), np.array([1.0]))
    first = Translated(["a", "b"], [Candidate(["x"], -1.0, np.array([1.0]), [(1, 0)], [phrase])])
    others = [Candidate(["y"], score, np.array([2.0]), [(0, 0)], [], [Origin(replaced=0)]) for score in (-2.0, -3.0)]
    joined = join([first, Translated(["c"], others)], nbest=2)
    assert joined.source == ["a", "b", "c"]
    assert [candidate.score for candidate in joined.candidates] == [-3.0, -4.0]
    best = joined.best
    assert best.tokens == ["x", "y"] and best.alignment == [(1, 0), (2, 1)] and best.features.tolist() == [3.0]
    assert best.phrases[0].source == (0, 2) and best.origins[0].replaced == 2


class Named:
    """A translator of which only names and weights are asked."""

    names = ("TranslationModel0_0", "TranslationModel0_1", "LM0", "Cslm0")
    weights = np.array([0.5, 1.0, 2.0, 0.25])
    batch = 1


def test_shares_add_up_the_scores_of_a_feature() -> None:
    assert feature_shares(Named(), np.array([-2.0, -1.0, -3.0, 0.0])) == {
        "TranslationModel0": -2.0,
        "LM0": -6.0,
        "Cslm0": 0.0,
    }


def test_what_no_phrase_has_is_of_the_whole_sentence() -> None:
    phrases = [Phrase((0, 1), (0, 1), np.array([-1.0, 0.0, -1.0, 0.0])), Phrase((1, 2), (1, 2), np.zeros(4))]
    candidate = Candidate(["x", "y"], -3.0, np.array([-1.0, 0.0, -1.0, -4.0]), [(0, 0)], phrases)
    assert rest_shares(Named(), candidate) == {"Cslm0": -1.0}


def test_explanations_show_words_as_people_spell_them(text: TextTranslator) -> None:
    (sentence,) = text.translate(["<c> & a"], explained=True)
    assert any(line.startswith("< -> <: ") for line in explanation_lines(sentence, text.translator))
    assert as_data(sentence, text.translator, True)["words"] == ["<", "c", ">", "&", "a"]
