"""A further kind of network: two modules, a line among the kinds, its settings; it trains, scores and is reported."""

import shutil
from pathlib import Path

import pytest
from checkouts import TINY, own_package, read_plan, run, write_rows

from neural_smt.io.files import read_csv, read_json

SETTINGS = Path(__file__).with_name("toy_settings.txt").read_text(encoding="utf-8")
"""What the schema gets."""

REGISTERED = '\n    "toy": Kind("Toy", target_text, scores=("lists",)),'

MODULES = {"toy_training.py": "training/toy.py", "toy_scorer.py": "decoding/scorers/toy.py"}

ROWS = {
    "networks": {"small": {"kind": "toy", "updates": 20}},
    "systems": {"toy": {"base": "baseline", "features": [], "rescore": ["small"]}},
}


@pytest.mark.slow
def test_a_further_kind_of_network(finished: Path, tmp_path: Path) -> None:
    checkout = Path(shutil.copytree(finished, tmp_path / "checkout", symlinks=True))
    package, rows = own_package(checkout), write_rows(tmp_path, ROWS)
    for name, module in MODULES.items():
        shutil.copy(Path(__file__).with_name(name), package / module)
    for file, before, added in (
        ("experiment/schema.yaml", "\n  names:\n", f"\n{SETTINGS.rstrip()}"),
        ("experiment/networks.py", '\n    "attention": Kind(', REGISTERED),
    ):
        text = (package / file).read_text(encoding="utf-8")
        assert text.count(before) == 1, file
        (package / file).write_text(text.replace(before, added + before), encoding="utf-8")
    names = ("decoding/toy/run1/news_test.hypothesis", "report/networks.csv", "report/pages/curve_small.html")
    files = [f"results/tiny/{name}" for name in names]
    printed = run(checkout, *files, "--configfile", TINY, rows)
    results = checkout / "results" / "tiny"
    assert [row["updates"] for row in read_csv(results / "training" / "small" / "curve.csv")] == ["10", "20"]
    assert "Toy0" in read_json(results / "tuning" / "toy" / "run1" / "weights.json")
    assert "small" in {row["network"] for row in read_csv(results / "report" / "networks.csv")}
    assert "a network of the kind Toy" in (results / "report" / "pages" / "curve_small.html").read_text()
    # nothing of other kinds was trained again
    assert printed.count("rule train_network:") == 1
    # what a job finds by name is part of its code, and what others find is not
    kept = {"train_network", "tune", "decode", "decode_lists", "score_lists"}
    for module, again in (
        ("training/toy.py", {"train_network", "score_lists", "tune_reranking"}),
        ("decoding/scorers/toy.py", {"score_lists", "tune_reranking"}),
        ("decoding/scorers/cslm.py", set()),
        ("representations/projection.py", set()),
        ("training/gradient_descent.py", set()),
    ):
        original = (package / module).read_text(encoding="utf-8")
        (package / module).write_text(original + "\n# edited\n", encoding="utf-8")
        rules = read_plan(run(checkout, *files, "--configfile", TINY, rows, "-n")).jobs.keys()
        (package / module).write_text(original, encoding="utf-8")
        assert again <= rules and not kept - again & rules, module
