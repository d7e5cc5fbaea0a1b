"""A scheduler in a hundred lines that answers to PBS's commands: it runs every job at once, on this machine.

Its first argument is the command, ``qsub``, ``qstat`` or ``qdel``. The folder in ``FAKE_PBS`` holds a folder of every
job: what was asked for (``request.json``), the number of its process, and its exit status in the end. The first job
whose name is in ``FAKE_PBS_KILLS`` is killed with all its processes when it has begun.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

STATE = Path(os.environ["FAKE_PBS"])

JOB = """\
echo $$ > "$0/process"
{killed}
sh "$1"
echo $? > "$0/status.new"
mv "$0/status.new" "$0/status"
"""
"""What runs a job: its arguments are the job's folder and the script."""


def submit(arguments: list[str]) -> None:
    """``qsub``: start a job and print its number."""
    parser = argparse.ArgumentParser()
    for option in ("-j", "-o", "-N"):
        parser.add_argument(option)
    parser.add_argument("-l", action="append")
    parser.add_argument("script")
    asked = parser.parse_args(arguments)
    folder = STATE / str(len(list(STATE.iterdir())) + 1)
    names = [json.loads(path.read_text())["name"] for path in STATE.glob("*/request.json")]
    folder.mkdir()
    limits = dict(re.findall(r"(\w+)=(\w+)", ":".join(asked.l)))
    killed = asked.N in os.environ.get("FAKE_PBS_KILLS", "").split() and asked.N not in names
    (folder / "request.json").write_text(json.dumps({"name": asked.N, "killed": killed, **limits}))
    with (Path(asked.o) / f"{asked.N}.o{folder.name}").open("wb") as log:
        subprocess.Popen(
            ["sh", "-c", JOB.format(killed="(sleep 1; kill -KILL -$$) &" if killed else ""), str(folder), asked.script],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    print(f"{folder.name}.fake")


def show(arguments: list[str]) -> None:
    """``qstat -x -f -F json``: the state of one job, as OpenPBS prints it."""
    assert arguments[:4] == ["-x", "-f", "-F", "json"], arguments
    number = arguments[4]
    folder = STATE / number.removesuffix(".fake")
    if not folder.is_dir():
        print(f"qstat: Unknown Job Id {number}", file=sys.stderr)
        sys.exit(153)
    job: dict[str, str | int] = {"job_state": "R"}
    if (folder / "status").exists():
        job = {"job_state": "F", "Exit_status": int((folder / "status").read_text())}
    elif (folder / "process").exists() and not _runs(int((folder / "process").read_text())):
        job = {"job_state": "F", "Exit_status": 256 + signal.SIGKILL}
    print(json.dumps({"pbs_version": "fake", "Jobs": {number: job}}))


def _runs(process: int) -> bool:
    """Whether a process lives, and is no mere entry that nobody has read the end of."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def delete(arguments: list[str]) -> None:
    """``qdel``: end jobs with all their processes."""
    for number in arguments:
        process = STATE / number.removesuffix(".fake") / "process"
        os.killpg(int(process.read_text()), signal.SIGTERM)


if __name__ == "__main__":
    {"qsub": submit, "qstat": show, "qdel": delete}[sys.argv[1]](sys.argv[2:])
