"""Every kind of network on a GPU at the papers' sizes: updates, scores of phrase pairs, searches, in ten minutes.

What is measured stands in ``benchmarks/gpu.yaml``: with kernels for Triton, in bfloat16, updates captured as CUDA
graphs, at minibatches of once, four and sixteen times the paper's; updates as they come, in float32, and without
kernels, at the smallest and the largest; and updates at four times the paper's in two and four processes, where there
are as many GPUs. Each is a row that is printed once it is known, as is one for which memory or time ran out. Writes
into build/gpu: table.md, the rows in Markdown; rows.json, the same with all digits; throughputs.json, the rates in
benchmarks/throughputs.json with those of this GPU, which ``neural-smt plan --throughputs`` reads.
"""

import argparse
import datetime
import gc
import os
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from lib import ROOT

import neural_smt  # noqa: F401  (before PyTorch: it sets up OpenMP)

import torch  # isort: skip
from lib.gpu import measure, workload  # isort: skip
from lib.workloads import FACTORS  # isort: skip
from torch.utils import collect_env  # isort: skip

from neural_smt.io.files import read_json, read_yaml, write_json, write_lines
from neural_smt.planning.calibration import fit_line, merge_lines
from neural_smt.planning.forecasts import Line, Throughputs

BENCHMARKS = ROOT / "benchmarks"

COLUMNS = {
    "name": "",
    "batch": "minibatch",
    "precision": "precision",
    "kernels": "Triton",
    "graphs": "graphs",
    "processes": "processes",
    "milliseconds": "ms",
    "examples_per_second": "a second",
    "tokens_per_second": "tokens a second",
    "share": "share of products",
    "gigabytes": "GB",
    "note": "",
}
DIGITS = {"milliseconds": "{:,.2f}", "share": "{:.3f}", "gigabytes": "{:.2f}"} | dict.fromkeys(
    ("examples_per_second", "tokens_per_second"), "{:,.0f}"
)


class Variant(NamedTuple):
    """How something is measured, see ``lib.gpu.measure``."""

    factor: int
    precision: str = "bf16"
    kernels: bool = True
    graphs: bool = True
    processes: int = 1


def variants(factors: Sequence[int]) -> Iterator[Variant]:
    """All, what matters most first."""
    ends = sorted({factors[0], factors[-1]})
    yield from (Variant(factor) for factor in factors)
    yield from (Variant(factor, graphs=False) for factor in ends)
    yield from (Variant(factor, "fp32") for factor in ends)
    yield from (Variant(factor, kernels=False) for factor in ends)
    yield from (Variant(factors[len(factors) // 2], processes=count) for count in (2, 4))


def describe() -> str:
    """The GPU and what drives it."""
    name, driver = torch.cuda.get_device_name(), collect_env.get_nvidia_driver_version(collect_env.run)
    versions = {"driver": driver, "CUDA": torch.version.cuda, "PyTorch": torch.__version__}
    versions["Triton"] = version("triton") if find_spec("triton") else None
    return ", ".join([name, *(f"{what} {number or 'unknown'}" for what, number in versions.items())])


def figures(table: Path, name: str, variant: Variant, seconds: float, output: Path) -> dict[str, Any]:
    """Those of ``lib.gpu.measure``, or a note that says why there are none."""
    gc.collect()
    torch.cuda.empty_cache()
    # where workers find the module
    paths = os.pathsep.join(filter(None, [str(BENCHMARKS), os.environ.get("PYTHONPATH", "")]))
    try:
        with patch.dict(os.environ, PYTHONPATH=paths):
            measure(table=table, name=name, seconds=seconds, device="cuda", output=output, **variant._asdict())
        found = read_json(output)
        output.unlink()
        return found
    except torch.OutOfMemoryError:
        return {"note": "out of memory"}
    except Exception as error:
        traceback.print_exc()
        return {"note": f"failed: {type(error).__name__}"}


def markdown(rows: pd.DataFrame) -> list[str]:
    """The lines of a table."""
    shown = rows.reindex(columns=list(COLUMNS))
    for column in ("kernels", "graphs"):
        shown[column] = shown[column].map({True: "yes", False: "no"})
    for column, digits in DIGITS.items():
        shown[column] = shown[column].map(digits.format, na_action="ignore")
    shown = shown.astype(object).where(shown.notna(), "").rename(columns=COLUMNS)
    sides = ["left", "right", "left", "left", "left", *["right"] * 6, "left"]
    return shown.to_markdown(index=False, disable_numparse=True, colalign=sides).splitlines()


def rates(rows: pd.DataFrame) -> dict[str, dict[str, Line]]:
    """Rule -> the line of its cost ``gpu``: seconds of a time step and of a MAC."""
    lines = {}
    for rule, seen in rows.reindex(columns=["rule", "seconds", "macs", "steps"]).dropna().groupby("rule"):
        macs, seconds = ((seen[column] / seen["steps"]).to_numpy() for column in ("macs", "seconds"))
        if macs.max() < 1.01 * macs.min():
            # all of the time is put down to them
            line = Line(0.0, float(f"{np.median(seconds / macs):.4g}"))
        else:
            line = fit_line(macs, seconds, np.ones(len(seen)))
        lines[str(rule)] = {"gpu": line}
    return lines


def write(rows: list[dict[str, Any]], about: str, folder: Path) -> None:
    """All files."""
    table, today = pd.DataFrame(rows), datetime.date.today().isoformat()
    write_lines(folder / "table.md", [f"{about}, {today}:", "", *markdown(table)])
    write_json(folder / "rows.json", {"device": about, "date": today, "rows": rows})
    known = Throughputs.load(BENCHMARKS / "throughputs.json")
    lines = merge_lines(known.lines, rates(table))
    replace(known, lines=lines, gpu=f"{torch.cuda.get_device_name()}, {today}").save(folder / "throughputs.json")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything, print a table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=9.0, help="after which nothing more is begun")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement, about, beside warming up")
    parser.add_argument("--table", type=Path, default=BENCHMARKS / "gpu.yaml", help="what is measured")
    parser.add_argument("--factors", nargs="*", type=int, default=FACTORS, help="minibatches, in those of the paper")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "gpu")
    given = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        sys.exit("bench-gpu: PyTorch finds no GPU; run it on a machine with one, with a PyTorch for CUDA")
    given.output.mkdir(parents=True, exist_ok=True)
    about, end, rows = describe(), time.monotonic() + 60 * given.minutes, []
    print(f"{about}\n")
    for variant in variants(given.factors):
        for name in read_yaml(given.table):
            found = workload(given.table, name)
            trains = found.task == "train"
            if variant.processes > (torch.cuda.device_count() if trains else 1) or not (variant.graphs or trains):
                continue
            own = variant if trains else variant._replace(graphs=False)
            row = {"name": name, "batch": own.factor * found.batch, "note": ""} | own._asdict()
            if time.monotonic() < end:
                row |= figures(given.table, name, own, given.seconds, given.output / "row.json")
            else:
                row["note"] = "no time left"
            rows.append(row)
            print(*markdown(pd.DataFrame([row]))[0 if len(rows) == 1 else -1 :], sep="\n", flush=True)
            write(rows, about, given.output)
    print(f"\nwritten: {given.output}/table.md, rows.json, throughputs.json")
    if any(row["note"].startswith("failed") for row in rows):
        sys.exit("bench-gpu: some of it failed; see above")


if __name__ == "__main__":
    main()
