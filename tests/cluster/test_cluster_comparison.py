"""What counts as a difference between two runs, and what does not."""

from pathlib import Path

import pytest
import yaml
from compared_results import differing_files


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


CASES = yaml.safe_load(Path(__file__).with_name("changed_results.yaml").read_text(encoding="utf-8"))
RESULTS: dict[str, str] = CASES["results"]


@pytest.mark.parametrize(("name", "content", "differs"), CASES["changes"])
def test_a_changed_file(tmp_path: Path, name: str, content: str, differs: bool) -> None:
    one = write(tmp_path / "one", RESULTS)
    other = write(tmp_path / "other", RESULTS | {name: content})
    assert differing_files(one, other) == ([name] if differs else [])
    assert differing_files(other, one) == ([name] if differs else [])
