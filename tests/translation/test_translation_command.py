"""The verb translate: raw text in and out, lists, alignments, explanations, JSON, while the text still comes."""

import gzip
import json
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moses_folder import start, write_model
from refusals import check_error, check_named
from small_results import translator, write_experiment

from neural_smt.cli import main
from neural_smt.decoding.translations import Trace, no_phrases
from neural_smt.io.files import read_yaml
from neural_smt.translation.text import TextTranslator, cut, feature_shares, join, rest_shares
from neural_smt.translation.translators import Candidate, Origin, Translated
from neural_smt.vocabulary_selection.steps import Reasons

REFUSED, INSPECTED = (read_yaml(Path(__file__).with_name("refused.yaml"))[part] for part in ("arguments", "inspected"))
ODD = 'a "b" c\u00a0| <b> & [c] \u200b\ud83d\ude00'.encode("utf-16", "surrogatepass").decode("utf-16")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_experiment(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> TextTranslator:
    return TextTranslator(translator(tmp_path_factory.mktemp("again")), "en", "fr")


def arguments(config: Path, *further: str, system: str = "baseline") -> list[str]:
    return ["translate", str(config), "--directory", str(config.parent), "--system", system, *further]


@pytest.fixture
def shown(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """A function that translates a text by the command; it returns the lines that are written."""

    def run(text: str, *further: str, system: str = "baseline") -> list[str]:
        (tmp_path / "text").write_text(text, encoding="utf-8")
        status = main(arguments(config, str(tmp_path / "text"), *further, system=system))
        written = capfd.readouterr()
        assert status == 0, written.err
        return written.out.splitlines()

    return run


def test_files_are_translated_line_by_line(text: TextTranslator, tmp_path: Path, shown: Callable) -> None:
    (tmp_path / "two.gz").write_bytes(gzip.compress(b"b a\r\n"))
    lines = shown(f"a b c\n\n{ODD}\nc b", str(tmp_path / "two.gz"))
    sentences = text.translate(["a b c", "", ODD, "c b", "b a"])
    assert lines == [sentence.best.text for sentence in sentences]
    assert lines[1] == "" and "&" in lines[2] and "&amp;" not in lines[2]
    linked = [line.split(" ||| ") for line in shown(f"a b c\n\n{ODD}\nc b", "--alignment")]
    links = [" ".join(f"{i}-{j}" for i, j in sorted(sentence.best.trace.alignment)) for sentence in sentences]
    assert linked == [list(pair) for pair in zip(lines, links, strict=True)][:4] and links[1] == ""


def test_lists_have_the_form_of_moses(text: TextTranslator, shown: Callable) -> None:
    fields = [line.split(" ||| ") for line in shown("a b\n\nc\n", "--nbest", "3", "--alignment")]
    assert [row[0] for row in fields] == ["0", "0", "0", "1", "2"]
    (wanted,) = text.translate(["a b"], nbest=3)
    assert [row[1] for row in fields[:3]] == [c.text for c in wanted.candidates]
    assert [float(row[3]) for row in fields[:3]] == pytest.approx([c.score for c in wanted.candidates], 1e-4)
    scores = fields[0][2].split()
    assert scores[0] == "LexicalReordering0=" and scores.count("TranslationModel0=") == 1
    values = [float(score) for score in scores if not score.endswith("=")]
    assert values == pytest.approx(wanted.best.features.tolist(), rel=1e-4)
    assert len(fields[0]) == 5


def test_json_has_a_line_for_each_line(shown: Callable) -> None:
    first, second = map(json.loads, shown("a <c> &\n\n", "--output", "json", "--explain", "--nbest", "2"))
    assert (first["words"], first["line"]) == (["a", "<", "c", ">", "&"], "a <c> &")
    assert len(first["candidates"]) == 2 and first["translation"] == first["candidates"][0]["text"]
    best = first["candidates"][0]
    assert sum(best["shares"].values()) == pytest.approx(best["score"], abs=1e-4)
    parts = [sum(phrase["shares"].values()) for phrase in best["phrases"]]
    assert sum(parts) == pytest.approx(best["score"], abs=1e-4) and best["whole_sentence"] == {}
    assert {i for phrase in best["phrases"] for i in range(*phrase["source"])} == {0, 1, 2, 3, 4}
    assert second["words"] == [] and second["candidates"][0]["words"] == []


def test_a_gpu_is_of_use_to_networks_alone(shown: Callable, caplog: pytest.LogCaptureFixture) -> None:
    shown("a", "--device", "cuda")
    check_named(caplog.text, ["'baseline'", "CPU"])


def test_an_explanation_names_phrases_and_their_shares(shown: Callable) -> None:
    lines = shown("a <c>\n", "--explain")
    assert lines[1].startswith("  score ") and "LM0" in lines[1]
    for word in ("c", "<"):
        assert any(
            f"  {word} -> {word} (not translated): " in line and "UnknownWordPenalty0 -100.000" in line
            for line in lines[2:]
        )
    lines = shown("a c\n", "--explain", system="network")
    assert lines[1].startswith("  score ") and "Attention0" in lines[1]
    assert all(" <- " in line for line in lines[2:])


@pytest.fixture(params=["translate", "decode"])
def command(
    request: pytest.FixtureRequest, config: Path, text: TextTranslator, tmp_path: Path
) -> tuple[list[str], list[str]]:
    """A verb that translates what comes from standard input, and what it should make of ``SPOKEN``."""
    if request.param == "decode":
        ini = write_model(tmp_path / "model")
        return ["decode", "--moses-ini", str(ini)], ["x z", "", "z x unknown", "x", "z"]
    return arguments(config), [sentence.best.text for sentence in text.translate(SPOKEN)]


SPOKEN = ["a b", "", "b a unknown", "a", "b"]


def test_each_line_is_answered_while_the_input_still_comes(command: tuple[list[str], list[str]]) -> None:
    with start(*command[0]) as process:
        for line, expected in list(zip(SPOKEN, command[1], strict=True))[:3]:
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode() == f"{expected}\n"
        rest = process.communicate(b"a\nb")[0].decode()  # the last line has no end
    assert (process.returncode, rest.splitlines()) == (0, command[1][3:]) and rest.endswith("\n")


def test_a_reader_that_leaves_ends_it_quietly(command: tuple[list[str], list[str]]) -> None:
    with start(*command[0]) as process:
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.write(b"a b\n" * 5000)
            process.stdin.close()
        said = process.stderr.read().decode()
    assert process.returncode == 128 + signal.SIGPIPE
    assert "Traceback" not in said and "Exception ignored" not in said


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("loaded", [False, True])
def test_an_interrupt_ends_it_quietly(command: tuple[list[str], list[str]], loaded: bool) -> None:
    with start(*command[0]) as process:
        if loaded:
            process.stdin.write(b"a\n")
            process.stdin.flush()
            process.stdout.readline()
        while b"numpy" not in Path(f"/proc/{process.pid}/maps").read_bytes():  # modules are being loaded
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1].decode()
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT) and "Traceback" not in said


@pytest.mark.parametrize(("further", "pieces"), REFUSED)
def test_bad_arguments_and_texts_get_one_sentence(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd, further: list[str], pieces: list
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_bytes(b"a b\n\xff\n")
    assert main(arguments(config, *further)) == 1
    shown = capfd.readouterr()
    assert shown.out == ""
    check_error(shown.err, pieces)


def test_a_very_long_line_is_translated_in_pieces(text: TextTranslator) -> None:
    words = ["a", "b", "c", "."] * 500
    began = time.perf_counter()
    (sentence,) = text.translate([" ".join(words)], nbest=2)
    assert time.perf_counter() - began < 120
    assert sentence.source == words
    best = sentence.best
    spans = best.trace.segmentation
    assert sorted(i for span in spans for i in range(*span[:2])) == list(range(2000))
    assert [j for span in spans for j in range(*span[2:])] == list(range(len(best.tokens)))
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
    trace, none = Trace([(1, 0)], [(0, 2, 0, 1)], np.ones((1, 1))), no_phrases(1, [(0, 0)])
    first = Translated(["a", "b"], [Candidate(["x"], np.array([1.0]), -1.0, trace)])
    others = [Candidate(["y"], np.array([2.0]), score, none, [Origin(Reasons(), 0)]) for score in (-2.0, -3.0)]
    joined = join([first, Translated(["c"], others)], nbest=2)
    assert joined.source == ["a", "b", "c"]
    assert [candidate.score for candidate in joined.candidates] == [-3.0, -4.0]
    best = joined.best
    assert best.tokens == ["x", "y"] and best.trace.alignment == [(1, 0), (2, 1)] and best.features.tolist() == [3.0]
    assert best.trace.segmentation == [(0, 2, 0, 1)] and best.origins[0].replaced == 2


class Named:
    """A translator of which only names and weights are asked."""

    names = ("TranslationModel0_0", "TranslationModel0_1", "LM0", "Cslm0")
    weights = np.array([0.5, 1.0, 2.0, 0.25])
    batch = 1


def test_shares_of_features_and_of_the_whole_sentence() -> None:
    shares = {"TranslationModel0": -2.0, "LM0": -6.0, "Cslm0": 0.0}
    assert feature_shares(Named(), np.array([-2.0, -1.0, -3.0, 0.0])) == shares
    trace = Trace([(0, 0)], [(0, 1, 0, 1), (1, 2, 1, 2)], np.array([[-1.0, 0.0, -1.0, 0.0], [0.0] * 4]))
    candidate = Candidate(["x", "y"], np.array([-1.0, 0.0, -1.0, -4.0]), -3.0, trace)
    assert rest_shares(Named(), candidate) == {"Cslm0": -1.0}, "what no phrase has"


@pytest.mark.parametrize(("further", "said"), INSPECTED)
def test_the_vocabulary_of_a_sentence_is_inspected(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, further: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"text": "a\nb c\n", "reference": "x\nz q\n"}.items():
        Path(name).write_text(lines)
    main(["inspect", str(config), "text", "--directory", str(config.parent), *further])
    written = Path("o.csv").read_text() if Path("o.csv").exists() else ""
    shown = capsys.readouterr()
    assert fnmatch(shown.out + shown.err + written, said)
