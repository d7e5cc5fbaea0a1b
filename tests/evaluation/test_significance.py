"""Paired tests: BLEU from statistics, p-values beside sacreBLEU's, and what must hold of any test."""

from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from neural_smt.errors import UserError
from neural_smt.evaluation.steps import (
    TESTS,
    approximate_randomisation,
    compare,
    compare_neighbours,
    corpus_scores,
    paired_bootstrap,
    sentence_statistics,
)
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
    named, metrics = [(name, texts[name]) for name in names], {"BLEU": BLEU()}
    paired = PairedTest(named, metrics, [texts["reference"]], test_type=short, n_samples=trials)
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


@pytest.fixture
def files(texts: dict, tmp_path: Path) -> dict[str, str]:
    """The texts as files."""
    for name, lines in texts.items():
        write_lines(tmp_path / name, lines)
    return {name: str(tmp_path / name) for name in texts}


def test_compare_writes_one_entry_a_system(texts: dict, files: dict, tmp_path: Path) -> None:
    arguments = {
        "systems": {"baseline": [files["baseline"], files["similar"]], "better": [files["better"]]},
        "reference": files["reference"],
        "baseline": "baseline",
        "settings": {"test": "approximate_randomisation", "trials": 500},
        "seed": 7,
    }
    for name in ("one.json", "two.json"):
        compare(**arguments, output=tmp_path / name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    metric = BLEU()
    scores = {name: metric.corpus_score(texts[name], [texts["reference"]]).score for name in texts}
    pair = [scores["baseline"], scores["similar"]]
    common = {"test": "approximate_randomisation", "trials": 500, "signature": str(metric.get_signature())}
    expected = {
        "baseline": {"bleu": pair, "bleu_std": np.std(pair, ddof=1), "delta": 0.0, "p_value": None, "runs": 2},
        "better": {"bleu": [scores["better"]], "bleu_std": 0.0, "delta": scores["better"] - np.mean(pair), "runs": 1},
    }
    expected["better"]["p_value"] = 1 / 501
    results = read_json(tmp_path / "one.json")
    assert list(results) == list(expected)
    for name, row in expected.items():
        assert results[name].pop("bleu") == pytest.approx(row["bleu"])
        row |= {"bleu_mean": np.mean(row.pop("bleu")), **common}
        assert results[name] == pytest.approx(row)


def test_neighbours_are_compared_with_each_other(files: dict, tmp_path: Path) -> None:
    systems = {"baseline": [files["baseline"], files["similar"]], "better": [files["better"]]}
    systems["again"] = systems["better"]
    common = {"reference": files["reference"], "settings": {"test": "bootstrap", "trials": 500}, "seed": 7}
    compare_neighbours(systems=systems, **common, output=tmp_path / "order.json")
    compare(systems=systems, baseline="baseline", **common, output=tmp_path / "compared.json")
    better = read_json(tmp_path / "compared.json")["better"]
    first = {"before": "baseline", "after": "better", "delta": better["delta"], "p_value": better["p_value"]}
    second = {"before": "better", "after": "again", "delta": 0.0, "p_value": 1.0}
    found = read_json(tmp_path / "order.json")
    assert found[0]["delta"] > 1
    assert found == [pytest.approx(first), second]
    with pytest.raises(UserError, match=r"evaluation\.test: 't' is not one of"):
        compare_neighbours(**(common | {"settings": {"test": "t"}}), systems=systems, output=tmp_path / "o")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "b"}, "evaluation.baseline: 'b' is no system; use one of a"),
        ({"settings": {"test": "t", "trials": 100}}, "evaluation.test: 't' is not one of"),
        ({}, "119 lines but"),
        ({"systems": {"a": []}}, "system 'a' has no translations"),
        ({"systems": {"a": ["empty"]}, "reference": Path("empty")}, "holds no sentence to compare"),
    ],
)
def test_wrong_input_is_named(
    texts: dict, files: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(Path("short"), texts["baseline"][:-1])
    write_lines(Path("empty"), [])
    arguments = {"systems": {"a": ["short"]}, "reference": Path("reference"), "baseline": "a", "seed": 1}
    arguments |= {"settings": {"test": "bootstrap", "trials": 100}, "output": Path("o")}
    with pytest.raises(UserError) as error:
        compare(**arguments | changes)
    assert message in str(error.value)
