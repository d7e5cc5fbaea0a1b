"""The command line, and the way in which rules call steps."""

import ast
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite.binding import get_host_cpu_features
from refusals import check_error, check_named

from neural_smt import STAGES
from neural_smt.cli import VERBS, main, meanings, steps, verb
from neural_smt.experiment.networks import KINDS
from neural_smt.jit import FEATURES, LEVEL
from neural_smt.vocabulary import Vocabulary
from neural_smt.workflow.code_digest import PACKAGE, _imported, module_file, reached_files
from neural_smt.workflow.invoke import invoke


def example(
    *, text: Path, extra: Path | None = None, many: list[Path] = (), size: int = 1, device: str = "cpu"
) -> tuple:  # type: ignore[assignment]
    return text, extra, list(many), size, device


def test_invoke_turns_strings_into_paths() -> None:
    found = invoke(example, {"text": "a", "many": ["b", "c"], "size": 3})
    assert found == (Path("a"), None, [Path("b"), Path("c")], 3, "cpu")
    assert invoke(example, {"text": "a", "extra": [], "many": "b"})[1:3] == (None, [Path("b")])


def test_invoke_gives_ambient_arguments_only_to_steps_that_take_them() -> None:
    assert invoke(example, {"text": "a"}, {"threads": 8, "device": "cuda"})[4] == "cuda"


def test_invoke_refuses_unknown_and_missing_arguments() -> None:
    with pytest.raises(TypeError, match="colour"):
        invoke(example, {"text": "a", "colour": "red"})
    with pytest.raises(TypeError, match="text"):
        invoke(example, {})


def test_every_stage_is_a_verb_with_documented_steps() -> None:
    for stage in STAGES:
        found = steps(stage)
        assert found, stage
        for name, function in found.items():
            assert function.__doc__, f"{stage} {name} has no docstring"


def test_every_verb_is_a_documented_function_with_named_options() -> None:
    for name in VERBS:
        function = verb(name)
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert kinds == {inspect.Parameter.KEYWORD_ONLY}, name
        assert function.__doc__, f"{name} has no docstring"


def test_without_arguments_every_verb_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    for name in VERBS:
        summary = (inspect.getdoc(verb(name)) or "").partition("\n")[0]
        assert f"  {name:<10} {summary}" in lines


def test_every_option_has_its_meaning_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    functions = [*map(verb, VERBS), *(step for stage in STAGES for step in steps(stage).values())]
    assert [(f.__name__, name) for f in functions for name, meaning in meanings(f).items() if not meaning] == []
    for command in (["translate"], ["corpus", "build_vocabulary"]):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "--output {text,json} text, or JSON, a line for each line (default: text)" in shown
    assert "--output OUTPUT what is written (a file or a folder)" in shown


def test_options_follow_the_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["decode", "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "--moses-ini MOSES_INI" in shown and "--nbest [NBEST ...]" in shown and "--algorithm {stack,cube}" in shown
    assert main(["decode", "--moses-ini", "x", "--stack-size", "many"]) == 1
    check_error(capsys.readouterr().err, ["--stack-size", "'many'"])


def test_a_step_runs_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("b a b\n")
    options = ["--texts", str(tmp_path / "a.txt"), "--output", str(tmp_path / "v.tsv")]
    assert main(["corpus", "build_vocabulary", *options]) == 0
    assert Vocabulary.load(tmp_path / "v.tsv").words[3:] == ["b", "a"]


def test_reached_files_follow_imports_without_running_them() -> None:
    names = [str(path.relative_to(PACKAGE)) for path in reached_files("neural_smt.vocabulary")]
    io = [f"io/{name}.py" for name in ("__init__", "files", "ragged", "temporaries")]
    assert names == ["__init__.py", "errors.py", "errors.yaml", *io, "vocabulary.py"]
    assert PACKAGE / "jit.py" in reached_files("neural_smt.phrases.steps")
    assert PACKAGE / "corpus" / "grammar" / "words" / "nouns.tsv" in reached_files("neural_smt.corpus.steps")
    assert PACKAGE / "report" / "templates" / "map.js" in reached_files("neural_smt.analysis.maps")
    with pytest.raises(ValueError, match="no module"):
        reached_files("neural_smt.nowhere")


UNKEPT = ["file/neural_smt/numba", "XDG_CACHE_HOME"]


@pytest.mark.parametrize(("cache", "lines"), [("cache", [["compiling"], []]), ("file", [[UNKEPT, "compiling"]])])
def test_compiling_is_said_and_needs_no_cache(tmp_path: Path, cache: str, lines: list[list]) -> None:
    """A copy of the package shares what is compiled."""
    (tmp_path / "file").touch()
    shutil.copytree(PACKAGE, tmp_path / "copy" / "neural_smt")
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": ""}
    code = "import logging; logging.basicConfig(level=20, format='%(message)s'); from neural_smt.jit import mix; mix(1)"
    for package, expected in zip((PACKAGE.parent, tmp_path / "copy"), lines, strict=False):
        command, environment["PYTHONPATH"] = [sys.executable, "-c", code], str(package)
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0
        for line, pieces in zip(done.stderr.splitlines(), expected, strict=True):
            check_named(line, pieces)


@pytest.mark.skipif(not set(FEATURES) <= set(filter(get_host_cpu_features().get, FEATURES)), reason=f"not {LEVEL}")
def test_kernels_of_a_wheel_are_not_compiled_again(tmp_path: Path) -> None:
    """They are copied into the user's folder, into a temporary one where that cannot be; others are compiled."""
    (tmp_path / "file").touch()
    code = "import logging; logging.basicConfig(level=20); from neural_smt import jit; "
    package = tmp_path / "neural_smt"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))

    def compiled(cache: str, kernels: str, **others: str) -> bool:
        environment = {**os.environ, "XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": "", **others}
        command = [sys.executable, "-c", code + kernels]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return "compiling" in done.stderr

    level = {"NUMBA_CPU_NAME": LEVEL, "NUMBA_CPU_FEATURES": ""}
    assert compiled("made", "jit.mix(1)", **level)
    (made,) = tmp_path.glob("made/neural_smt/numba/*")
    made.rename(package / "kernels")
    assert not compiled("cache", "jit.mix(1)")
    assert not compiled("file", "jit.mix(1)")
    assert compiled("cache", "jit.mix(1); jit.longest(jit.np.zeros(1))")
    assert not compiled("cache", "jit.mix(1); jit.longest(jit.np.zeros(1))")
    assert compiled("cache", "jit.mix(1)", NUMBA_CPU_NAME="x86-64-v2", NUMBA_CPU_FEATURES="")
    folders = {f"{made.name}-{LEVEL}": 4, made.name: 2}
    assert {path.name: len(list(path.rglob("*.nb?"))) for path in tmp_path.glob("cache/neural_smt/numba/*")} == folders


def test_imports_are_those_that_python_finds() -> None:
    """They are looked for in the lines of a file, which is quicker than to parse it."""
    for path in PACKAGE.rglob("*.py"):
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(module_file(alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                found.update(module_file(name) for name in names)
        # importing a.b.c runs a/__init__ too, which no statement names
        packages = {file for file in _imported(path) if file.name == "__init__.py"}
        modules = {file for file in _imported(path) if file.suffix == ".py"}
        assert modules == found - {None} | packages, path


# Pipeline order, but for two: selection scores text with language models, and analysis draws with the report's means.
IMPORT_ORDER = [
    "corpus", "language_model", "selection", "alignment", "phrases", "shortlist", "vocabulary_selection", "networks",
    "representations", "training", "rescoring", "decoding", "tuning", "evaluation", "report", "analysis",
]  # fmt: skip


def test_stages_know_only_the_stages_before_them() -> None:
    assert set(IMPORT_ORDER) == {*STAGES, "networks"}
    for position, stage in enumerate(IMPORT_ORDER):
        later = set(IMPORT_ORDER[position + 1 :])
        folder = PACKAGE / stage
        for file in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]:
            module = ".".join(["neural_smt", *file.relative_to(PACKAGE).with_suffix("").parts])
            paths = reached_files(module.removesuffix(".__init__"))
            reached = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in paths}
            assert not reached & later, f"{file.relative_to(PACKAGE)} reaches {sorted(reached & later)}"


def test_networks_know_nothing_of_phrase_tables() -> None:
    for file in sorted((PACKAGE / "networks").glob("*.py")):
        reached = {path.relative_to(PACKAGE).parts[0] for path in reached_files(f"neural_smt.networks.{file.stem}")}
        assert not reached & {"phrases", "alignment", "decoding"}, file.name


@pytest.mark.parametrize("step", ["decoding.steps", "tuning.steps", "decoding.reranking_steps", "training.steps"])
def test_steps_of_all_kinds_of_networks_depend_on_none(step: str) -> None:
    """Rules name the modules of the kinds that their jobs use."""
    own = {f"{folder}/{kind}.py" for folder in ("training", "decoding/scorers", "networks") for kind in KINDS}
    own |= {"training/optimisers.py", "networks/recurrent/network.py", "representations/projection.py"}
    own |= {"networks/recurrent/class_softmax.py", "networks/attention/network.py"}
    assert not own & {str(path.relative_to(PACKAGE)) for path in reached_files(f"neural_smt.{step}")}
