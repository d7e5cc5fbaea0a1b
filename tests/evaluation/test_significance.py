"""Paired tests: BLEU from statistics, p-values beside sacreBLEU's, and what must hold of any test."""

from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from neural_smt.errors import UserError
from neural_smt.evaluation.significance import (
    TESTS,
    approximate_randomisation,
    corpus_scores,
    paired_bootstrap,
    sentence_statistics,
)
from neural_smt.evaluation.steps import compare, compare_neighbours
from neural_smt.io.files import read_json, write_lines

WORDS = np.array(list("abcdefghij"))


def references(generator: np.random.Generator, sentences: int = 120) -> list[str]:
    return [" ".join(generator.choice(WORDS, size=generator.integers(4, 16))) for _ in range(sentences)]


def noisy(lines: list[str], rate: float, generator: np.random.Generator) -> list[str]:
    """Replace each word by another with probability ``rate``."""
    return [
        " ".join(w if generator.random() > rate else str(generator.choice(WORDS)) for w in x.split()) for x in lines
    ]


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    generator = np.random.default_rng(3)
    reference = references(generator)
    rates = {"baseline": 0.3, "similar": 0.28, "better": 0.1}
    return {"reference": reference} | {name: noisy(reference, rate, generator) for name, rate in rates.items()}


@pytest.fixture(scope="module")
def statistics(texts: dict[str, list[str]]) -> dict[str, np.ndarray]:
    return {name: sentence_statistics(BLEU(), lines, texts["reference"]) for name, lines in texts.items()}


def test_scores_from_statistics_are_sacrebleus(texts: dict, statistics: dict) -> None:
    metric = BLEU()
    for name, rows in statistics.items():
        expected = metric.corpus_score(texts[name], [texts["reference"]]).score
        assert corpus_scores(rows.sum(axis=0)) == pytest.approx(expected, abs=1e-9)
    # Single sentences have orders without matches, too short and empty ones: smoothing and early ends.
    hypotheses, answers = ["a b c x e f", "a", "", "x y z w", "a b"], ["a b c d e f", "a b", "a", "a b c d", "a b"]
    rows = sentence_statistics(metric, hypotheses, answers)
    expected = [metric.corpus_score([h], [[r]]).score for h, r in zip(hypotheses, answers, strict=True)]
    assert corpus_scores(rows).tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("test", "short", "trials"), [(approximate_randomisation, "ar", 4000), (paired_bootstrap, "bs", 1000)]
)
def test_p_values_are_close_to_sacrebleus(texts: dict, statistics: dict, test, short: str, trials: int) -> None:
    names = ["baseline", "similar", "better"]
    paired = PairedTest(
        [(name, texts[name]) for name in names],
        {"BLEU": BLEU()},
        [texts["reference"]],
        test_type=short,
        n_samples=trials,
    )
    expected = [result.p_value for result in paired()[1]["BLEU"]]
    for name, p_value in list(zip(names, expected, strict=True))[1:]:
        found = test(statistics["baseline"], statistics[name], trials, np.random.default_rng(1))
        assert found == pytest.approx(p_value, abs=0.05)


@pytest.mark.parametrize("test", TESTS.values())
def test_what_any_test_must_say(statistics: dict, test) -> None:
    baseline = statistics["baseline"]
    assert test(baseline, baseline, 500, np.random.default_rng(1)) == 1.0
    assert test(baseline, statistics["better"], 500, np.random.default_rng(1)) < 0.01
    first, second, other = (test(baseline, statistics["similar"], 500, np.random.default_rng(s)) for s in (1, 1, 2))
    assert first == second
    assert first != other
    # The same run three times over is no more evidence than once.
    assert test(3 * baseline, 3 * statistics["similar"], 500, np.random.default_rng(1)) == first


def test_false_alarms_are_as_rare_as_promised() -> None:
    """Systems drawn alike differ at the 10% level in about a tenth of all cases."""
    generator = np.random.default_rng(11)
    alarms = 0
    for _ in range(60):
        reference = references(generator, 40)
        rows = [sentence_statistics(BLEU(), noisy(reference, 0.3, generator), reference) for _ in range(2)]
        alarms += approximate_randomisation(*rows, 200, generator) < 0.1
    assert alarms <= 14


def test_compare_writes_one_entry_a_system(texts: dict, tmp_path: Path) -> None:
    for name, lines in texts.items():
        write_lines(tmp_path / name, lines)
    arguments = {
        "systems": {
            "baseline": [str(tmp_path / "baseline"), str(tmp_path / "similar")],
            "better": [str(tmp_path / "better")],
        },
        "reference": tmp_path / "reference",
        "baseline": "baseline",
        "settings": {"test": "approximate_randomisation", "trials": 500},
        "seed": 7,
    }
    compare(**arguments, output=tmp_path / "one.json")
    compare(**arguments, output=tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    results = read_json(tmp_path / "one.json")
    scores = [
        BLEU().corpus_score(texts[name], [texts["reference"]]).score for name in ("baseline", "similar", "better")
    ]
    baseline, better = results["baseline"], results["better"]
    assert baseline["bleu"] == pytest.approx(scores[:2])
    assert baseline["bleu_mean"] == pytest.approx(np.mean(scores[:2]))
    assert baseline["bleu_std"] == pytest.approx(np.std(scores[:2], ddof=1))
    assert (baseline["delta"], baseline["p_value"], baseline["runs"]) == (0.0, None, 2)
    assert better["delta"] == pytest.approx(scores[2] - np.mean(scores[:2]))
    assert better["bleu_std"] == 0.0
    assert better["p_value"] == pytest.approx(1 / 501)


def test_neighbours_are_compared_with_each_other(texts: dict, tmp_path: Path) -> None:
    for name, lines in texts.items():
        write_lines(tmp_path / name, lines)
    systems = {
        "baseline": [str(tmp_path / "baseline"), str(tmp_path / "similar")],
        "better": [str(tmp_path / "better")],
        "again": [str(tmp_path / "better")],
    }
    common = {"reference": tmp_path / "reference", "settings": {"test": "bootstrap", "trials": 500}, "seed": 7}
    compare_neighbours(systems=systems, **common, output=tmp_path / "order.json")
    compare(systems=systems, baseline="baseline", **common, output=tmp_path / "compared.json")
    first, second = read_json(tmp_path / "order.json")
    better = read_json(tmp_path / "compared.json")["better"]
    assert (first["before"], first["after"]) == ("baseline", "better")
    assert (first["delta"], first["p_value"]) == (pytest.approx(better["delta"]), better["p_value"])
    assert first["delta"] > 1
    assert second == {"before": "better", "after": "again", "delta": 0.0, "p_value": 1.0}
    with pytest.raises(UserError, match=r"evaluation\.test: 't' is not one of"):
        compare_neighbours(**(common | {"settings": {"test": "t"}}), systems=systems, output=tmp_path / "o")


def test_wrong_input_is_named(texts: dict, tmp_path: Path) -> None:
    write_lines(tmp_path / "reference", texts["reference"])
    write_lines(tmp_path / "short", texts["baseline"][:-1])
    write_lines(tmp_path / "empty", [])
    short, settings = {"a": [str(tmp_path / "short")]}, {"test": "bootstrap", "trials": 100}

    def message(systems: dict, baseline: str, settings: dict, reference: str = "reference") -> str:
        with pytest.raises(UserError) as error:
            compare(
                systems=systems,
                reference=tmp_path / reference,
                baseline=baseline,
                settings=settings,
                seed=1,
                output=tmp_path / "o",
            )
        return str(error.value)

    assert "evaluation.baseline: 'b' is no system; use one of a" in message(short, "b", settings)
    assert "evaluation.test: 't' is not one of" in message(short, "a", {"test": "t", "trials": 100})
    assert "119 lines but" in message(short, "a", settings)
    assert "system 'a' has no translations" in message({"a": []}, "a", settings)
    assert "holds no sentence to compare" in message({"a": [str(tmp_path / "empty")]}, "a", settings, "empty")
