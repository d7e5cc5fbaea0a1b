"""Change a module in small ways, one at a time, and list the changes that its tests do not notice.

    python tests/mutation/mutate.py NAME [MUTANTS] [SEED]

NAME: in ``modules.yaml``; MUTANTS: how many are drawn, with SEED. Cosmic Ray makes the mutants, in a copy of the
checkout. Every mutant is tested in a process forked from one that has loaded the libraries, with kernels as Python; one
that takes too long, or too much memory, is noticed. Results are kept: a second call tests the survivors again.
"""

import importlib
import os
import random
import resource
import shutil
import signal
import sys
from pathlib import Path

import pytest
import yaml
from cosmic_ray import mutating
from cosmic_ray.commands.init import init
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome

ROOT = Path(__file__).resolve().parents[2]
SECONDS, MEMORY = 60, 8 << 30
"""Limits of a mutant."""

LEFT_OUT = "RemoveDecorator", "Operator_BitOr"
"""Operators on decorators, without effect where kernels are Python, and on types such as ``int | None``."""


def run_forked(command: list[str], timeout: float) -> tuple[TestOutcome, str]:
    """Run pytest with these arguments in a process of its own."""
    child = os.fork()
    if child == 0:
        signal.alarm(int(timeout))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        os._exit(pytest.main(["-x", "-p", "no:cacheprovider", *command]))
    return (TestOutcome.KILLED if os.waitpid(child, 0)[1] else TestOutcome.SURVIVED), ""


def draw(work: WorkDB, module: Path, functions: list[str], mutants: int, seed: int) -> None:
    """Fill a new session with mutants of a module, or of some functions of it."""
    init([module], work, {})
    items = {(item.mutations[0].operator_name, item.mutations[0].occurrence): item for item in work.work_items}
    places = (key for key in sorted(items) if not any(name in key[0] for name in LEFT_OUT))
    kept = [key for key in places if not functions or items[key].mutations[0].definition_name in functions]
    drawn = random.Random(seed).sample(kept, min(mutants, len(kept)))
    print(f"{len(kept)} mutants, of which {len(drawn)} are tested")
    work.clear()
    work.add_work_items(items[key] for key in drawn)


def main(name: str, mutants: int = 150, seed: int = 1) -> None:
    """Test the mutants of one module, or the survivors of the last time."""
    chosen = yaml.safe_load((ROOT / "tests/mutation/modules.yaml").read_text())[name]
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.environ.setdefault("NEURAL_SMT_SHARED", str(ROOT.parent / "shared"))
    sys.dont_write_bytecode = True
    folder = ROOT / "build/mutation"
    for part in ("pkg", "tests"):
        to = folder / "checkout" / part
        shutil.copytree(ROOT / part, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder / "checkout")
    os.chdir(folder / "checkout")
    for library in ("hypothesis", "numba", "pandas", "scipy.stats", "torch"):
        importlib.import_module(library)
    mutating.run_tests = run_forked
    if run_forked(chosen["tests"], SECONDS)[0] != TestOutcome.SURVIVED:
        raise SystemExit("the tests fail without a change, or take too long")
    module = Path("pkg/neural_smt") / chosen["module"]
    with use_db(str(folder / f"{name}.{mutants}.{seed}.sqlite")) as work:
        if not work.num_work_items:
            draw(work, module, chosen.get("functions", []), mutants, seed)
        noticed = {number for number, result in work.results if result.test_outcome == TestOutcome.KILLED}
        for item in work.work_items:
            if item.job_id not in noticed:
                result = mutating.mutate_and_test(item.mutations, chosen["tests"], SECONDS)
                work.set_result(item.job_id, result)
                if result.test_outcome != TestOutcome.KILLED:
                    changed = [row for row in result.diff.splitlines()[3:] if row[0] in "+-"]
                    print(f"{module}:{item.mutations[0].start_pos[0]}", *changed, sep="\n", flush=True)
        outcomes = [result.test_outcome for _, result in work.results]
        print(f"{name}: {len(outcomes)} mutants, {len(outcomes) - outcomes.count(TestOutcome.KILLED)} not noticed")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
