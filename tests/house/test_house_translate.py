"""The commands of the README on translating, as they stand there, on the results of the tiny experiment."""

import json
import re
import shlex
import signal
import sys
import urllib.request
from pathlib import Path

import pytest
from readme_commands import run_in_shell, shown_commands

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
