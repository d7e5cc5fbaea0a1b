"""Every command of the README is typed as it stands there, or smaller: the tiny experiment for a large one, a dry run
for what takes hours. Those on translating are typed on the results of the tiny experiment.
"""

import json
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from readme_commands import run_in_shell, set_up, shown_commands

from neural_smt.io.files import read_lines

REPOSITORY = Path(__file__).resolve().parents[2]
TINY = "experiments/tiny.yaml"
MODEL = "results/tiny/decoding/baseline/run1/moses/moses.ini"
SNAKEMAKE, PYTHON = ".venv/bin/snakemake", ".venv/bin/neural-smt"
INIT = f"{PYTHON} init mycorpus.en mycorpus.fr"
EXPORT = f"{SNAKEMAKE} --cores 2 export"

SMALLER = {
    "make run": f"make run EXPERIMENT={TINY}",
    "make run EXPERIMENT=experiments/multi30k.yaml CONFIG=data_mirror=/folder/with/the/data": (
        f"make run EXPERIMENT={TINY} CONFIG=data_mirror=/folder/with/the/data"
    ),
    "make test": "PYTEST_ADDOPTS=tests/core/test_core_files.py make test",
    f"{SNAKEMAKE} --cores 2 --configfile mycorpus/experiment.yaml": (
        f"{INIT} --force && {SNAKEMAKE} --cores 2 --configfile mycorpus/experiment.yaml -n"
    ),
    f"{PYTHON} report print_table --table results/mycorpus/report/table1.csv": (
        f"{PYTHON} report print_table --table results/tiny/report/table1.csv"
    ),
    f"{PYTHON} check --configfile experiments/multi30k.yaml": f"{PYTHON} check --configfile {TINY}",
    "make report": f"make report EXPERIMENT={TINY}",
    f"{SNAKEMAKE} --cores 2 phrases": f"{SNAKEMAKE} --cores 2 phrases --configfile {TINY}",
    f"{SNAKEMAKE} --cores 2 --forcerun tune": f"{SNAKEMAKE} --cores 2 --forcerun tune -n --configfile {TINY}",
    EXPORT: f"{EXPORT} --configfile {TINY}",
    f"{PYTHON} decode --moses-ini moses.ini < text > translations": (
        f"{EXPORT} --configfile {TINY} && {PYTHON} decode --moses-ini {MODEL} < text > translations"
    ),
    f"{PYTHON} <stage> --help": f"{PYTHON} tuning --help",
    f"{PYTHON} <stage> <step> --help": f"{PYTHON} tuning tune --help",
    **{f"{SNAKEMAKE} --workflow-profile profiles/{name}": f"{SNAKEMAKE} --workflow-profile profiles/{name} -n"
       for name in ("slurm", "cluster-generic")},
    **{f"{SNAKEMAKE} --cores 2 {paper} --configfile experiments/{name}.yaml":
       f"{SNAKEMAKE} --cores 2 {paper} --configfile experiments/{name}.yaml -n"
       for paper, name in (("cho2014", "multi30k"), ("auli2013", "multi30k_fr_en"), ("mi2016", "multi30k_nmt"))},
    **{f"make {name}": f"make -n {name}" for name in ("bench", "lint", "test-cluster", "test-kills")},
}  # fmt: skip
"""A command of the README -> what is typed in its place."""

OUTCOME = {
    "make run": r"Baseline \+ RNN +\d+\.\d\d",
    "make test": r"\d+ passed",
    "make bench": r"benchmarks/\*\.py",
    "make lint": r"ruff check[\s\S]*audit\.py",
    "make test-cluster": r"pytest -m cluster",
    "make test-kills": r"pytest -s -m kills",
    INIT: r"mycorpus/experiment\.yaml",
    f"{SNAKEMAKE} --cores 2 --configfile mycorpus/experiment.yaml": r"train_network",
    f"{SNAKEMAKE} -n": r"train_network",
    f"{SNAKEMAKE} --workflow-profile profiles/slurm": r"train_network",
    f"{SNAKEMAKE} --cores 2 --forcerun tune": r"tune +\d[\s\S]*write_table",
    f"{PYTHON} <stage> <step> --help": r"--history HISTORY",
}
"""A command of the README -> a pattern of what it prints; others have to end well."""


def commands() -> list[str]:
    return [
        command
        for command in shown_commands(REPOSITORY / "README.md")
        if not re.search("neural-smt (translate|serve|pack) ", command)
    ]


@pytest.fixture(scope="module")
def place(finished: Path) -> Path:
    """The checkout in which the tiny experiment has run, with what the commands read."""
    set_up(finished)
    (finished / "text").write_text("the new minister reads the old book .\nthe report is good .\n", encoding="utf-8")
    for language in ("en", "fr"):
        text = read_lines(finished / "results" / "tiny" / "corpus" / "generated" / f"train.{language}.gz")
        (finished / f"mycorpus.{language}").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return finished


def test_what_is_typed_in_place_of_commands_has_a_command() -> None:
    assert SMALLER.keys() | OUTCOME.keys() <= set(commands())


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{page.name}" for page in (REPOSITORY / "docs").iterdir())])
def test_pages_name_files_that_are_there(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    links = [(REPOSITORY / page).parent / link for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text)]
    tops = "benchmarks|docs|envs|experiments|pkg|profiles|rules|tests|workflow_scripts"
    paths = [REPOSITORY / path for path in re.findall(rf"\b((?:{tops})/[\w./-]*\w)", text)]
    assert [path for path in [*links, *paths] if not path.exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_readme(place: Path, command: str) -> None:
    process = run_in_shell(SMALLER.get(command, command), place, stderr=subprocess.STDOUT)
    printed = process.communicate(timeout=900)[0]
    assert process.returncode == 0, printed[-4000:]
    assert re.search(OUTCOME.get(command, ""), printed), printed[-4000:]
    if command == "make report":
        assert (place / "results" / "tiny" / "report.html").stat().st_size > 100_000
    if "translations" in command:
        assert len((place / "translations").read_text(encoding="utf-8").splitlines()) == 2


TEXT = "The new minister reads the old book.\n\nThe report is good.\n"


def translating_commands(repository: Path) -> list[str]:
    """The commands on translating, for Python as it runs here and for the experiment that has run."""
    lines = [
        line
        for line in shown_commands(repository / "README.md")
        if re.search("neural-smt (translate|serve|pack) ", line)
    ]
    experiment = {" embedded ": " tiny ", " config.yaml ": " experiments/tiny.yaml ", "--port 8000": "--port 0"}
    for name, other in {".venv/bin/neural-smt": f"{shlex.quote(sys.executable)} -m neural_smt", **experiment}.items():
        lines = [line.replace(name, other) for line in lines]
    return lines


@pytest.mark.slow
def test_commands_of_the_readme(finished: Path, repository: Path, tmp_path: Path) -> None:
    (finished / "text.en").write_text(TEXT, encoding="utf-8")
    commands = translating_commands(repository)
    typed, explained, listed, machine, served, packed = commands
    outputs = {}
    for command in (typed, explained, listed, machine):
        process = run_in_shell(command, finished)
        outputs[command] = process.communicate(timeout=600)[0].splitlines()
        assert process.returncode == 0, command
    assert len(outputs[typed]) == 1 and outputs[typed][0]
    plain = [line for line in outputs[explained] if not line.startswith("  ")]
    assert len(plain) == 3 and plain[0] == outputs[typed][0] and plain[1] == ""
    assert any(" -> " in line and "EncoderDecoder0" in line for line in outputs[explained])
    assert {line.split(" ||| ")[0] for line in outputs[listed]} == {"0", "1", "2"}
    sentences = [json.loads(line) for line in outputs[machine]]
    assert [sentence["translation"] for sentence in sentences] == plain
    check_served(served, finished, plain[0])
    assert run_in_shell(packed, finished).wait(timeout=600) == 0
    (finished / "rnn.system").rename(tmp_path / "moved")
    again = f"{shlex.quote(sys.executable)} -m neural_smt translate {tmp_path / 'moved'} {finished / 'text.en'}"
    assert run_in_shell(again, finished).communicate(timeout=600)[0].splitlines() == plain


def check_served(command: str, checkout: Path, expected: str) -> None:
    """The server gives its address, answers at it, and ends when it is interrupted."""
    process = run_in_shell(f"exec {command}", checkout, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        assert process.stdout
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        body = json.dumps({"text": TEXT.splitlines()[0]}).encode()
        request = urllib.request.Request(f"{address}api/translate", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert json.load(answer)["sentences"][0]["translation"] == expected
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 128 + signal.SIGINT
    finally:
        process.kill()
        process.wait()
