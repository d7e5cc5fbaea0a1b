"""What code must not do with data: run it, unpickle it, hand it to a shell, or let an archive choose where it goes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from refusals import check_refused

from neural_smt.experiment.configuration import complete

UNSAFE = yaml.safe_load(Path(__file__).with_name("unsafe_code.yaml").read_text(encoding="utf-8"))


def called(node: ast.expr) -> str:
    """The dotted name of what is called, with ? for what is not a name itself."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{called(node.value)}.{node.attr}"
    return "?"


def faults(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of everything in some code that must not be there."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            yield from ((node.lineno, name) for name in names if name.split(".")[0] in UNSAFE["modules"])
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, fault) for fault in call_faults(node))


def call_faults(node: ast.Call) -> Iterator[str]:
    name = called(node.func)
    said = {word.arg: word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)}
    if name in UNSAFE["builtins"] or name in UNSAFE["calls"]:
        yield name
    needed = UNSAFE["must_say"].get(name) or (UNSAFE["must_say"].get(name.rpartition(".")[2]) if "." in name else None)
    if needed and said.get(needed[0]) != needed[1]:
        yield f"{name} without {needed[0]}={needed[1]!r}"
    if any(word.arg == "shell" and said.get("shell") is not False for word in node.keywords):
        yield f"{name} with a shell"
    if any(word.arg == "allow_pickle" and said.get("allow_pickle") is not False for word in node.keywords):
        yield f"{name} with pickles"
    if name.startswith("subprocess.") and node.args and isinstance(node.args[0], ast.JoinedStr | ast.Constant):
        yield f"{name} of a string"


@pytest.mark.parametrize(("code", "fault"), UNSAFE["bad"].items())
def test_what_must_not_be_is_found(code: str, fault: str) -> None:
    assert fault in [found for _, found in faults(code)]


def test_what_may_be_is_not_found() -> None:
    assert list(faults(UNSAFE["good"])) == []


def test_no_code_does_such_things(repository: Path) -> None:
    rooms = ("pkg", "workflow_scripts", "profiles", "benchmarks")
    files = [path for room in rooms for path in (repository / room).rglob("*.py")]
    assert len(files) > 200
    assert {path: found for path in files if (found := [*faults(path.read_text(encoding="utf-8"))])} == {}


def test_no_rule_runs_a_shell_or_code_of_its_own(repository: Path) -> None:
    files = [repository / "Snakefile", *sorted((repository / "rules").glob("*.smk"))]
    assert len(files) > 10
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"^\s+(?:shell|run|wrapper|notebook|cwl):", text, flags=re.MULTILINE), path
        assert not re.findall(r"\b(?:shell|os\.system|eval|exec)\(", text), path
        assert text.count("script:") == len(re.findall(r'script:\s+"\.\./workflow_scripts/\w+\.py"', text)), path


@pytest.mark.parametrize("name", ["..", "a/b", "a b", "$(id)", "a;b", "a{b}", ""])
@pytest.mark.parametrize("place", ["experiment", "systems", "corpus.sources", "networks", "vocabulary_selection.sets"])
def test_names_that_become_paths_are_plain(repository: Path, place: str, name: str) -> None:
    config = yaml.safe_load((repository / "experiments" / "tiny.yaml").read_text(encoding="utf-8"))
    if place == "experiment":
        config["experiment"] = name
    else:
        section = config
        for part in place.split("."):
            section = section.setdefault(part, {})
        section[name] = {"systems": {"features": []}, "networks": {"kind": "cslm"}}.get(place, {})
    check_refused(place, complete, config)
