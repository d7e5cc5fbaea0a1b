"""What counts as a difference between two runs, and what does not."""

import json
from pathlib import Path

import pytest
from compared_results import differing_files


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


RESULTS = {
    "logs/tune/rnn.log": "10 s",
    "benchmarks/tuning/tune.tsv": "10",
    "report/costs.csv": "hours\n1\n",
    "training/cslm/state/checkpoint": "1",
    "training/cslm/curve.csv": "updates,seconds,cost\n20,2.5,7.1\n",
    "decoding/rnn/test.json": json.dumps({"seconds": 1, "parts": [{"words_per_second": 2, "score": 3}]}),
    "decoding/rnn/test.hypothesis": "une ligne\n",
}


@pytest.mark.parametrize(
    ("name", "content", "differs"),
    [
        ("logs/tune/rnn.log", "11 s", False),
        ("benchmarks/tuning/tune.tsv", "11", False),
        ("report/costs.csv", "hours\n2\n", False),
        ("training/cslm/state/checkpoint", "2", False),
        ("training/cslm/curve.csv", "updates,seconds,cost\n20,9.9,7.1\n", False),
        ("training/cslm/curve.csv", "updates,seconds,cost\n20,2.5,7.2\n", True),
        ("decoding/rnn/test.json", json.dumps({"seconds": 9, "parts": [{"words_per_second": 9, "score": 3}]}), False),
        ("decoding/rnn/test.json", json.dumps({"seconds": 1, "parts": [{"words_per_second": 2, "score": 4}]}), True),
        ("decoding/rnn/test.hypothesis", "une  ligne\n", True),
        ("decoding/rnn/dev.hypothesis", "", True),
    ],
)
def test_a_changed_file(tmp_path: Path, name: str, content: str, differs: bool) -> None:
    one = write(tmp_path / "one", RESULTS)
    other = write(tmp_path / "other", RESULTS | {name: content})
    assert differing_files(one, other) == ([name] if differs else [])
    assert differing_files(other, one) == ([name] if differs else [])
