"""The search against what Moses made of the same tables and weights (``oracle/decoding``)."""

import time
from collections import defaultdict

import numpy as np
import pytest

from neural_smt.cli import main
from neural_smt.decoding.moses.compiled import load_model
from neural_smt.decoding.nbest import read_nbest
from neural_smt.decoding.search import Decoder, SearchSettings
from neural_smt.io.files import read_json, read_lines

TOLERANCE = 1e-3
"""Between values; Moses adds up single precision (and prints six digits, which is less for totals beyond -100)."""

MEAN_SCORES = {"stack200": -20.2842, "cube1000": -20.2876, "cube200": -20.2970, "stack2000": -20.2842}
"""Mean model score of the best translations, as measured with Moses."""

SEARCH_ERRORS = {"stack200": 0, "cube1000": 5, "cube200": 16, "stack2000": 0}
"""Sentences whose best translation scores less than that of stack2000, which makes practically no search errors."""

SETTINGS = {
    "stack200": SearchSettings(),
    "cube1000": SearchSettings(algorithm="cube", pop_limit=1000, stack_size=1000),
    "cube200": SearchSettings(algorithm="cube", pop_limit=200, stack_size=200),
}


@pytest.fixture(scope="module")
def run(real, tmp_path_factory):
    """Decodes the 200 sentences by the command line into ``<name>.*``, with a list longer than Moses' 100 best."""
    place = tmp_path_factory.mktemp("outputs")

    def decode(name):
        files = {kind: place / f"{name}.{kind}" for kind in ("best", "nbest", "align")}
        arguments = {"--moses-ini": real.ini.path, "--input": real.folder / "input.en", "--output": files["best"]}
        arguments |= {"--alignment": files["align"], "--compiled": place / "compiled"}
        words = [str(part) for item in arguments.items() for part in item]
        assert main(["decode", *words, "--nbest", str(files["nbest"]), "150"]) == 0
        return files

    return decode


@pytest.fixture(scope="module")
def outputs(run):
    return run("first")


@pytest.fixture(scope="module")
def totals(real):
    """The total of the best translation of each sentence by name of Moses' run, float64 ``[200]``."""
    result = {}
    for name in MEAN_SCORES:
        entries = read_nbest(real.folder / f"{name}.nbest.gz")
        first = {entry.sentence: entry.score for entry in reversed(entries)}
        result[name] = np.array([first[number] for number in range(200)])
    return result


def plain(words: str) -> str:
    """A line of Moses without the mark of copied words and blanks at its end."""
    return words.replace("|UNK|UNK|UNK", "").strip()


def test_translations_and_alignments_are_those_of_moses(outputs, real):
    theirs = [plain(line.split(" ", 1)[1]) for line in read_lines(real.folder / "stack200.best")]
    assert len(theirs) == 200
    assert read_lines(outputs["best"]) == theirs
    assert outputs["align"].read_bytes() == (real.folder / "stack200.align").read_bytes()


def test_lists_are_those_of_moses(outputs, real):
    """Every entry of the 100 best is listed here too, with the same values of the features and the same total."""
    ours = defaultdict(list)
    for entry in read_nbest(outputs["nbest"]):
        ours[entry.sentence, " ".join(entry.tokens)].append(entry)
    theirs = read_nbest(real.folder / "stack200.nbest.gz")
    assert len(theirs) > 19_000
    for entry in theirs:
        candidates = ours[entry.sentence, plain(" ".join(entry.tokens))]
        assert candidates and list(candidates[0].features) == list(entry.features)
        values = np.concatenate(list(entry.features.values()))
        gaps = [np.abs(np.concatenate(list(c.features.values())) - values).max() for c in candidates]
        assert min(gaps) < TOLERANCE
        assert candidates[int(np.argmin(gaps))].score == pytest.approx(entry.score, rel=1.1e-5, abs=TOLERANCE)


def test_the_second_start_reads_no_text_and_changes_nothing(run, outputs, real, monkeypatch):
    monkeypatch.setattr("neural_smt.decoding.moses.compiled.read_text_model", None)  # would fail if called
    again = run("second")
    for kind, path in outputs.items():
        assert again[kind].read_bytes() == path.read_bytes()
    began = time.process_time()
    model = load_model(real.ini, str(real.compiled))
    assert time.process_time() - began < 0.3
    assert len(model.phrase_table) == 34356
    assert len(read_json(real.compiled / "compiled_model.json")["sources"]) == 3


@pytest.mark.parametrize("name", SETTINGS)
def test_there_are_no_more_search_errors_than_in_moses(real, totals, name):
    for other, scores in totals.items():
        assert scores.mean() == pytest.approx(MEAN_SCORES[other], abs=1e-4)
        assert np.count_nonzero(scores < totals["stack2000"] - TOLERANCE) == SEARCH_ERRORS[other]
    decoder = Decoder(real.model, SETTINGS[name], real.ini.weights)
    ours = np.array([translation.score for translation in decoder.decode(real.sentences)])
    lower, higher = (np.count_nonzero(gap > TOLERANCE) for gap in (totals[name] - ours, ours - totals[name]))
    assert lower <= higher
    assert ours.mean() >= totals[name].mean() - 1e-4
    assert np.count_nonzero(ours < totals["stack2000"] - TOLERANCE) <= SEARCH_ERRORS[name]
    assert (ours <= totals["stack2000"] + TOLERANCE).all()  # nothing that Moses does not find at all
