"""What the jobs of an experiment cost before and after their own work: start, imports and end, in CPU seconds.

    python benchmarks/workflow_overhead.py
    python benchmarks/workflow_overhead.py --experiment experiments/tiny.yaml --against ../other_checkout

Every step of the experiment's plan is started as Snakemake starts it, and ends without having been called. What it
imports only when it is called is not counted. Times are given as multiples of starting Python with NumPy, in the same
run; ``--against`` measures a second checkout in turns with this one. No data is needed. The fastest of three starts
counts. Writes benchmarks/results/workflow_overhead.json.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from lib import REPETITIONS, RESULTS, ROOT

from neural_smt.io.files import write_json

PREAMBLE = """
from snakemake.iocontainers import Snakemake
from snakemake.logging import logger
from types import SimpleNamespace
class Params(dict):
    step = {step!r}
config = {{"training": {{"processes": 1}}, "device": "cpu", "data_mirror": None}}
snakemake = SimpleNamespace(
    input={{}}, output=Params(), params=Params(), log=[{log!r}], config=config, threads=1, rule="measured"
)
__file__ = {script!r}
"""
"""What Snakemake puts before a script, with a job that has neither inputs nor outputs."""

COUNTED = """
import json, sys
from collections import Counter
from pathlib import Path
from neural_smt.experiment.configuration import complete, read_configuration
from neural_smt.planning.jobs import list_jobs, whole_target
config = complete(read_configuration([Path(sys.argv[1])]))
print(json.dumps(Counter(job.rule for job in list_jobs(Path("Snakefile"), config, whole_target(config)))))
"""
"""What counts the jobs of each rule of an experiment, in a checkout."""

NOT_CALLED = "import neural_smt.workflow.run_step as module; module.invoke = lambda *arguments: None\n"

RULE = re.compile(r"^ *(?:use rule (\w+) as (\w+) with|rule (\w+)):$", re.MULTILINE)
STEP = re.compile(r"step(?:\(|=)\"([\w.]+:\w+)\"")


def steps_of_rules(checkout: Path) -> dict[str, str]:
    """Rule -> its step, read from the rules; a rule that is made of another has the other's unless it names one."""
    steps: dict[str, str] = {}
    texts = "\n".join(path.read_text(encoding="utf-8") for path in sorted((checkout / "rules").glob("*.smk")))
    heads = list(RULE.finditer(texts))
    for head, end in zip(heads, [*(h.start() for h in heads[1:]), len(texts)], strict=True):
        base, derived, plain = head.groups()
        found = STEP.search(texts, head.end(), end)
        step = found[1] if found else steps.get(base)
        if step:
            steps[derived or plain] = step
    return steps


def count_jobs(checkout: Path, experiment: Path, most: int | None) -> Counter[str]:
    """How many jobs of each step an experiment has by rules and package of a checkout; of so many steps alone."""
    found = subprocess.run(
        [sys.executable, "-c", COUNTED, str(experiment.resolve())],
        env=os.environ | {"PYTHONPATH": str(checkout / "pkg")},
        check=True,
        cwd=checkout,
        capture_output=True,
        text=True,
    )
    steps, counts = steps_of_rules(checkout), Counter[str]()
    for rule, number in json.loads(found.stdout).items():
        counts[steps[rule]] += number
    return Counter(dict(counts.most_common(most)))


def script_of(checkout: Path, step: str, log: Path) -> str:
    """The script of a job that starts a step and does not call it."""
    path = checkout / "workflow_scripts" / "run_step.py"
    source = path.read_text(encoding="utf-8")
    before, call, _ = source.partition("\nrun_step(snakemake)")
    return PREAMBLE.format(step=step, log=str(log), script=str(path)) + f"{before}\n{NOT_CALLED}{call.strip()}\n"


def cpu_seconds(code: str, folder: Path) -> float:
    """CPU seconds of a new Python that runs some code, from its start to its end."""
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NEURAL_SMT_RUN")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, str(script)], env=inherited | threads, check=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--experiment", type=Path, default=ROOT / "config.yaml", help="whose jobs are counted")
    parser.add_argument("--against", type=Path, help="another checkout, which is measured in turns with this one")
    parser.add_argument("--most", type=int, help="measure only so many steps, those with the most jobs")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="starts of a step; the fastest counts")
    options = parser.parse_args()
    checkouts = [ROOT, *([options.against.resolve()] if options.against else [])]
    counted = [count_jobs(checkout, options.experiment, options.most) for checkout in checkouts]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reference = min(cpu_seconds("import numpy", folder) for _ in range(REPETITIONS))
        spent = [dict.fromkeys(counts, float("inf")) for counts in counted]
        every = list(dict.fromkeys(step for counts in counted for step in counts))
        for step in every:
            for _ in range(options.repetitions):
                for found, checkout in zip(spent, checkouts, strict=True):
                    if step in found:
                        found[step] = min(found[step], cpu_seconds(script_of(checkout, step, folder / "log"), folder))
    totals = [
        sum(count * found[step] for step, count in counts.items()) for counts, found in zip(counted, spent, strict=True)
    ]
    print(f"{'step':48} jobs and what one takes, of each checkout")
    for step in sorted(
        every, key=lambda step: -max(n[step] * f.get(step, 0) for n, f in zip(counted, spent, strict=True))
    ):
        columns = zip(counted, spent, strict=True)
        shown = (f"{counts[step]:5} {found.get(step, 0) / reference:6.1f}" for counts, found in columns)
        print(f"{step:48} " + "  ".join(shown))
    print(f"Python with NumPy: {reference:.3f} CPU seconds")
    for checkout, counts, total in zip(checkouts, counted, totals, strict=True):
        number = counts.total()
        print(f"{number} jobs of {checkout.name}: {total:.1f} s, {total / number / reference:.2f} times that a job")
    if len(totals) > 1:
        print(f"of the other: {totals[0] / totals[1]:.3f}")
    ratios = {step: round(spent[0][step] / reference, 2) for step in counted[0]}
    number = counted[0].total()
    mean = round(totals[0] / number / reference, 2)
    write_json(RESULTS / "workflow_overhead.json", {"jobs": number, "mean_ratio": mean, "ratios": ratios})


if __name__ == "__main__":
    main()
