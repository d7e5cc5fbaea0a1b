"""Tell Snakemake how a job of PBS fares: ``status.py 123.server`` prints ``running``, ``success`` or ``failed``.

Needs a server that remembers finished jobs (``job_history_enable``), for their exit status. It is asked again where it
does not answer; a job it has never heard of has failed.
"""

import json
import subprocess
import sys

FINISHED = "F"
"""The state of a job that has ended, in whatever way; in all others it waits, runs, or is on its way."""

UNKNOWN_JOB = 153
"""What ``qstat`` exits with for a job that the server does not know."""


def job_status(number: str) -> str:
    """The job's state in Snakemake's words; a job without an exit status was deleted before it ran."""
    done = subprocess.run(["qstat", "-x", "-f", "-F", "json", number], capture_output=True, text=True, check=False)
    if done.returncode == UNKNOWN_JOB:
        return "failed"
    if done.returncode != 0:
        print(f"qstat {number}: {done.stderr.strip()}; asking again later", file=sys.stderr)
        return "running"
    (job,) = json.loads(done.stdout)["Jobs"].values()
    if job["job_state"] != FINISHED:
        return "running"
    return "success" if job.get("Exit_status") == 0 else "failed"


if __name__ == "__main__":
    print(job_status(sys.argv[1]))
