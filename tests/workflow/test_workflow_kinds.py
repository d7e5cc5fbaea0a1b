"""A further kind of network: a module, a line among the kinds and its settings; it trains, scores and is reported."""

import shutil
from pathlib import Path

import pytest
from checkouts import TINY, run, write_rows

from neural_smt.io.files import read_csv, read_json

SETTINGS = """
  toy:
    type: object
    additionalProperties: false
    properties:
      <<: *network
      updates: {type: integer, minimum: 1, default: 40}
      validate_every: {type: integer, default: 10}
      checkpoint_every: {type: integer, default: 10}
      patience: {type: integer, default: 0}
      keep: {type: string, default: last}
      precision: {type: string, default: fp32}
      rho: {type: number, default: 0.95}
      epsilon: {type: number, default: 0.000001}
      clip: {type: number, default: 100}
"""

REGISTERED = '\n    "toy": Kind("Toy", target_text, scores=("lists",)),'

ROWS = {
    "networks": {"small": {"kind": "toy", "updates": 20}},
    "systems": {"toy": {"base": "baseline", "features": [], "rescore": ["small"]}},
}


@pytest.mark.slow
def test_a_further_kind_of_network(finished: Path, tmp_path: Path) -> None:
    checkout = Path(shutil.copytree(finished, tmp_path / "checkout", symlinks=True))
    package = checkout / "pkg" / "neural_smt"
    shutil.copy(Path(__file__).with_name("toy_kind.py"), package / "training" / "toy.py")
    for file, before, added in (
        ("experiment/schema.yaml", "\n  names:\n", SETTINGS.rstrip()),
        ("experiment/networks.py", '\n    "attention": Kind(', REGISTERED),
    ):
        text = (package / file).read_text(encoding="utf-8")
        assert text.count(before) == 1, file
        (package / file).write_text(text.replace(before, added + before), encoding="utf-8")
    files = [f"results/tiny/{name}" for name in ("decoding/toy/run1/news_test.hypothesis", "report/networks.csv")]
    printed = run(checkout, *files, "--configfile", TINY, write_rows(tmp_path, ROWS))
    results = checkout / "results" / "tiny"
    assert [row["updates"] for row in read_csv(results / "training" / "small" / "curve.csv")] == ["10", "20"]
    assert "Toy0" in read_json(results / "tuning" / "toy" / "run1" / "weights.json")
    assert "small" in {row["network"] for row in read_csv(results / "report" / "networks.csv")}
    # nothing of other kinds was trained again
    assert printed.count("rule train_network:") == 1
