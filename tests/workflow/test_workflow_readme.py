"""Every command of the README and of docs/running.md is typed as it stands there, or smaller: the tiny experiment for a
large one, a dry run for what takes hours. Those on translating are typed on the results of the tiny experiment.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from checkouts import TINY

from neural_smt.io.files import read_lines

REPOSITORY = Path(__file__).resolve().parents[2]
COMMANDS = yaml.safe_load(Path(__file__).with_name("readme_commands.yaml").read_text(encoding="utf-8"))


def shown_commands() -> list[str]:
    """Every command, in the order of the pages: lines of its blocks of code, without comments, and what stands
    between backquotes and begins with ``make`` or ``.venv/bin/``.
    """
    text = "".join((REPOSITORY / page).read_text(encoding="utf-8") for page in ("README.md", "docs/running.md"))
    blocks = re.findall(r"^    (\S.*?)(?: +# .*)?$", text, re.M)
    inline = re.findall(r"`((?:make [a-z]|\.venv/bin/[\w-]+ )[^`]*)`", text)
    return list(dict.fromkeys([*blocks, *inline]))


def set_up(checkout: Path) -> None:
    """Give a checkout the ``.venv`` that ``make`` would have set up: the Python that runs the tests."""
    place = checkout / ".venv"
    place.mkdir(exist_ok=True)
    for entry in Path(sys.prefix).iterdir():
        if entry.name != ".ready" and not (place / entry.name).exists():
            (place / entry.name).symlink_to(entry)
    (place / ".ready").touch()


def run_in_shell(command: str, checkout: Path, **options) -> subprocess.Popen[str]:
    """Start what a person types; what it writes to its standard output can be read."""
    options |= {"cwd": checkout, "env": {**os.environ, "PYTHONPATH": str(checkout / "pkg")}}
    return subprocess.Popen(["bash", "-c", command], text=True, stdout=subprocess.PIPE, **options)


TRANSLATING = [
    command for command in shown_commands() if re.search("neural-smt (translate|serve|pack|verify) ", command)
]
OTHERS = [command for command in shown_commands() if command not in TRANSLATING]


@pytest.fixture(scope="module")
def place(finished: Path) -> Path:
    """The checkout in which the tiny experiment has run, with what the commands read."""
    set_up(finished)
    (finished / "text").write_text("the new minister reads the old book .\nthe report is good .\n", encoding="utf-8")
    for language in ("en", "fr"):
        text = read_lines(finished / "results" / "tiny" / "corpus" / "generated" / f"train.{language}.gz")
        (finished / f"mycorpus.{language}").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return finished


def test_commands_and_what_is_typed_in_their_place() -> None:
    assert COMMANDS.keys() <= set(OTHERS)
    runs = [command for command in OTHERS if re.search("(make|snakemake) .*experiments/", command)]
    assert set(runs) <= COMMANDS.keys()  # else a large experiment would run


PAGES = [
    str(page.relative_to(REPOSITORY))
    for folder in ("", "docs", "results")
    for page in (REPOSITORY / folder).glob("*.md")
]


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_files_and_targets_that_are_there(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    links = [(REPOSITORY / page).parent / link for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text)]
    tops = "benchmarks|docs|envs|experiments|pkg|profiles|rules|tests|workflow_scripts"
    paths = [REPOSITORY / path for path in re.findall(rf"\b((?:{tops})/[\w./-]*\w)", text)]
    assert [path for path in [*links, *paths] if not path.exists()] == []
    targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.M)) <= set(targets)


@pytest.mark.slow
@pytest.mark.parametrize("command", OTHERS)
def test_a_command_of_the_readme(place: Path, command: str) -> None:
    row = COMMANDS.get(command, {})
    process = run_in_shell(row.get("typed", command), place, stderr=subprocess.STDOUT)
    printed = process.communicate(timeout=900)[0]
    assert process.returncode == 0, printed[-4000:]
    assert re.search(row.get("prints", ""), printed), printed[-4000:]
    if command == "make report":
        assert (place / "results" / "tiny" / "report.html").stat().st_size > 100_000
    if "translations" in command:
        assert len((place / "translations").read_text(encoding="utf-8").splitlines()) == 2


TEXT = "A child thought that the federation has supported the national team.\n\nThe report is good.\n"


@pytest.mark.slow
def test_commands_on_translating(finished: Path, tmp_path: Path) -> None:
    (finished / "text.en").write_text(TEXT, encoding="utf-8")
    program = shlex.quote(str(Path(sys.executable).with_name("neural-smt")))
    here = {" embedded ": " tiny ", " config.yaml ": f" {TINY} ", "--port 8000": "--port 0"}
    commands = TRANSLATING
    for name, other in {".venv/bin/neural-smt": program, **here}.items():
        commands = [command.replace(name, other) for command in commands]
    typed, explained, listed, machine, served, packed, verified = commands
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
    for command in (packed, verified):
        assert run_in_shell(command, finished).wait(timeout=600) == 0
    (finished / "rnn.system").rename(tmp_path / "moved")
    again = f"{program} translate {tmp_path / 'moved'} {finished / 'text.en'}"
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
