"""Paired tests: BLEU from statistics, p-values beside sacreBLEU's, and what must hold of any test."""

from pathlib import Path

import numpy as np
import pytest
from refusals import check_refused
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from neural_smt.evaluation.steps import TESTS, compare, corpus_scores, p_value, sentence_statistics
from neural_smt.io.files import read_json, read_yaml, write_lines

RATES = {"reference": 0.0, "baseline": 0.3, "similar": 0.28, "better": 0.1}
"""How likely a word of a text is another one."""


def random_texts(generator: np.random.Generator, sentences: int, rates: dict[str, float]) -> dict[str, list[str]]:
    words = np.array(list("abcdefghij"))
    lines = [generator.choice(words, size=generator.integers(4, 16)) for _ in range(sentences)]
    return {
        name: [" ".join(np.where(generator.random(len(x)) < rate, generator.choice(words, len(x)), x)) for x in lines]
        for name, rate in rates.items()
    }


METRIC = BLEU()
TEXTS = random_texts(np.random.default_rng(3), 120, RATES)
STATISTICS = {name: sentence_statistics(METRIC, lines, TEXTS["reference"]) for name, lines in TEXTS.items()}
SCORES = {name: METRIC.corpus_score(lines, [TEXTS["reference"]]).score for name, lines in TEXTS.items()}


def chance_of(test: str, system: str = "similar", trials: int = 500, seed: int = 1, times: int = 1) -> float:
    """The p-value of a system against the baseline; times: runs that are alike."""
    rows = (times * STATISTICS[name] for name in ("baseline", system))
    return p_value(test, *rows, trials, np.random.default_rng(seed))


def test_scores_from_statistics_are_sacrebleus() -> None:
    for name, rows in STATISTICS.items():
        assert corpus_scores(rows.sum(axis=0)) == pytest.approx(SCORES[name], abs=1e-9)
    # Single sentences have orders without matches, too short and empty ones: smoothing and early ends.
    hypotheses, answers = ["a b c x e f", "a", "", "x y z w", "a b"], ["a b c d e f", "a b", "a", "a b c d", "a b"]
    rows = sentence_statistics(METRIC, hypotheses, answers)
    expected = [METRIC.corpus_score([h], [[r]]).score for h, r in zip(hypotheses, answers, strict=True)]
    assert corpus_scores(rows).tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("test", "trials"), [("approximate_randomisation", 4000), ("bootstrap", 1000)])
def test_p_values_are_close_to_sacrebleus(test: str, trials: int) -> None:
    named, metrics = [(name, TEXTS[name]) for name in RATES if name != "reference"], {"BLEU": BLEU()}
    short = {"approximate_randomisation": "ar", "bootstrap": "bs"}[test]
    paired = PairedTest(named, metrics, [TEXTS["reference"]], test_type=short, n_samples=trials)
    for (name, _), result in list(zip(named, paired()[1]["BLEU"], strict=True))[1:]:
        assert chance_of(test, name, trials) == pytest.approx(result.p_value, abs=0.05)


@pytest.mark.parametrize("test", TESTS)
def test_what_any_test_must_say(test: str) -> None:
    assert chance_of(test, "baseline") == 1.0
    assert chance_of(test, "better") < 0.01
    assert chance_of(test) == chance_of(test) != chance_of(test, seed=2)
    assert chance_of(test, times=3) == chance_of(test)  # the same run three times over is no more evidence than once


def test_false_alarms_are_as_rare_as_promised() -> None:
    """Systems drawn alike differ at the 10% level in about a tenth of all cases."""
    generator = np.random.default_rng(11)
    alarms = 0
    for _ in range(60):
        reference, *systems = random_texts(generator, 40, {"reference": 0, "one": 0.3, "other": 0.3}).values()
        rows = [sentence_statistics(METRIC, lines, reference) for lines in systems]
        alarms += p_value("approximate_randomisation", *rows, 200, generator) < 0.1
    assert alarms <= 14


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts as files, one of which is too short and one empty."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (TEXTS | {"short": TEXTS["baseline"][:-1], "empty": []}).items():
        write_lines(Path(name), lines)


SYSTEMS = {"baseline": [["baseline"], ["similar"]], "better": [["better"]]}


def arguments(test: str, **changes: object) -> dict:
    """The arguments of ``compare``."""
    given = {"systems": SYSTEMS, "references": ["reference"], "seed": 7, "controls": {"better": "baseline"}}
    given |= {"settings": {"test": test, "trials": 500}} | changes
    return given | {"references": [*map(Path, given["references"])]}


def compared(**given: object) -> dict[str, dict]:
    """What ``compare`` writes."""
    compare(**given, output=Path("compared.json"))
    return read_json(Path("compared.json"))


def test_compare_writes_one_entry_a_system() -> None:
    results = compared(**arguments("approximate_randomisation"))
    assert results == compared(**arguments("approximate_randomisation"))
    pair, better = [SCORES["baseline"], SCORES["similar"]], SCORES["better"]
    common = {"test": "approximate_randomisation", "trials": 500, "signature": str(METRIC.get_signature())}
    untested, tested = {"control": None, "delta": 0.0, "p_value": None}, {"control": "baseline", "p_value": 1 / 501}
    expected = {
        "baseline": {"bleu": pair, "bleu_std": np.std(pair, ddof=1), "runs": 2} | untested,
        "better": {"bleu": [better], "bleu_std": 0.0, "delta": better - np.mean(pair), "runs": 1} | tested,
    }
    assert list(results) == list(expected)
    for name, row in expected.items():
        assert results[name].pop("bleu") == pytest.approx(row["bleu"])
        row |= {"bleu_mean": np.mean(row.pop("bleu")), **common}
        assert results[name] == pytest.approx(row)


def test_every_system_is_compared_with_its_control() -> None:
    systems, control = SYSTEMS | {"again": SYSTEMS["better"]}, {"again": "better"}
    found = compared(**arguments("bootstrap", systems=systems, controls={"better": "baseline"} | control))
    assert (found["again"]["control"], found["again"]["delta"], found["again"]["p_value"]) == ("better", 0.0, 1.0)
    assert found["better"] == compared(**arguments("bootstrap"))["better"]
    assert compared(**arguments("bootstrap", systems=systems, controls=control))["better"]["p_value"] is None


def test_texts_that_are_compared_together_are_one_text() -> None:
    systems = {name: [[*run, name] for run in runs] for name, runs in SYSTEMS.items()}
    found = compared(**arguments("bootstrap", systems=systems, references=["reference", "reference"]))["better"]
    score = METRIC.corpus_score(2 * TEXTS["better"], [2 * TEXTS["reference"]]).score
    assert found["bleu_mean"] == pytest.approx(score)
    wrong = arguments("bootstrap", systems=systems, references=["reference", "short"])
    check_refused(["120 lines", "short", "119"], compared, **wrong)


@pytest.mark.parametrize(("changes", "pieces"), read_yaml(Path(__file__).with_name("refused.yaml")))
def test_wrong_input_is_named(changes: dict, pieces: list) -> None:
    check_refused(pieces, compare, **arguments("bootstrap", **changes), output=Path("o"))
