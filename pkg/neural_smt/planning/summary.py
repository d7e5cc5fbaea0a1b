"""A plan as a table and as data: by stage or by rule, the longest chain, the whole."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from neural_smt.planning.forecast import ALIKE, ASSUMED, MEASURED, Forecast
from neural_smt.planning.schedule import Machine, critical_path, schedule

MARKS = {MEASURED: "", ALIKE: "~", ASSUMED: "*"}
"""What stands behind the hours of a row whose rates are those of another rule, or nobody's."""

NOTES = {
    ALIKE: "~ at the rate of a rule like it: none of its own was measured",
    ASSUMED: "* assumed: GPUs, downloads and rules that no finished run has",
}


def summarise(forecasts: Sequence[Forecast], machine: Machine) -> dict[str, Any]:
    """The plan as plain data: rows of stages and rules, the longest chain, seconds on that machine."""
    chain = critical_path(forecasts)
    ends = schedule(forecasts, machine)
    return {
        "machine": {"nodes": machine.nodes, "cores": machine.cores, "gpus": machine.gpus},
        "stages": _rows(forecasts, lambda forecast: forecast.job.stage),
        "rules": _rows(forecasts, lambda forecast: f"{forecast.job.stage}: {forecast.job.rule}"),
        "chain": [
            {"rule": forecast.job.rule, "output": _shown(forecast), "seconds": round(forecast.seconds, 1)}
            for forecast in chain
        ],
        "chain_seconds": round(sum(forecast.seconds for forecast in chain), 1),
        "seconds": round(max(ends, default=0.0), 1),
        "processor_seconds": round(
            sum(forecast.processor_seconds for forecast in forecasts if not forecast.job.gpus), 1
        ),
        "gpu_seconds": round(sum(forecast.seconds * forecast.job.gpus for forecast in forecasts), 1),
        "disk_bytes": round(sum(forecast.disk for forecast in forecasts)),
        "memory_mb": round(max((forecast.memory for forecast in forecasts), default=0.0)),
    }


def _shown(forecast: Forecast) -> str:
    return forecast.job.outputs[0].partition("/")[2].partition("/")[2]


def _rows(forecasts: Sequence[Forecast], key: Callable[[Forecast], str]) -> list[dict[str, Any]]:
    groups: dict[str, list[Forecast]] = {}
    for forecast in forecasts:
        groups.setdefault(key(forecast), []).append(forecast)
    return [
        {
            "name": name,
            "jobs": len(group),
            "seconds": round(sum(forecast.seconds for forecast in group), 1),
            "longest_seconds": round(max(forecast.seconds for forecast in group), 1),
            "memory_mb": round(max(forecast.memory for forecast in group)),
            "beyond_request": sum(forecast.memory > forecast.job.declared_memory for forecast in group),
            "disk_bytes": round(sum(forecast.disk for forecast in group)),
            "basis": _basis(group),
        }
        for name, group in groups.items()
    ]


def _basis(group: Sequence[Forecast]) -> str:
    """What most of a group's time rests on."""
    seconds = {basis: sum(f.seconds for f in group if f.basis == basis) for basis in (MEASURED, ALIKE, ASSUMED)}
    return max(seconds, key=lambda basis: seconds[basis])


def duration(seconds: float) -> str:
    """Seconds as people say it."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def quantity(bytes_: float) -> str:
    """Bytes as people say it."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes_ >= size:
            return f"{bytes_ / size:.1f} {unit}"
    return f"{bytes_ / 1e3:.0f} kB"


def _requests(rules: Sequence[dict[str, Any]]) -> list[str]:
    """What Snakemake is told so that rules ask for the memory that they are planned to need."""
    return [
        f"{row['name'].partition(': ')[2]}:mem_mb={math.ceil(1.1 * row['memory_mb'] / 1000) * 1000}"
        for row in rules
        if row["beyond_request"]
    ]


def render(plan: dict[str, Any], by_rule: bool, order: Sequence[str]) -> list[str]:
    """The plan as lines of Markdown; order: of the stages."""
    place = {name: number for number, name in enumerate(order)}
    rows = plan["rules" if by_rule else "stages"]
    rows = sorted(rows, key=lambda row: place.get(row["name"].split(":")[0], len(place)))
    head = ["rule" if by_rule else "stage", "jobs", "time in all", "longest job", "largest job", "disk"]
    lines = ["| " + " | ".join(head) + " |", "|---|---:|---:|---:|---:|---:|"]
    for row in rows:
        mark = MARKS[row["basis"]]
        cells = [
            row["name"],
            str(row["jobs"]),
            duration(row["seconds"]) + mark,
            duration(row["longest_seconds"]) + mark,
            quantity(row["memory_mb"] * 1e6) + (" !" if row["beyond_request"] else ""),
            quantity(row["disk_bytes"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    notes = [note for basis, note in NOTES.items() if any(row["basis"] == basis for row in rows)]
    if any(row["beyond_request"] for row in rows):
        notes.append("! more memory than the rule asks for at its first try; to ask for it at once, with a tenth more:")
        notes.append("--set-resources " + " ".join(_requests(plan["rules"])))
    chain = [step for step in plan["chain"] if step["seconds"] >= 0.01 * plan["chain_seconds"]]
    machine = plan["machine"]
    where = f"{machine['nodes']} node(s) of {machine['cores']} cores and {machine['gpus']} GPUs"
    return [
        *lines,
        "",
        *notes,
        "",
        f"Longest chain: {duration(plan['chain_seconds'])}: "
        + ", ".join(f"{step['output']} ({duration(step['seconds'])})" for step in chain),
        f"Processor time {duration(plan['processor_seconds'])}, GPU time {duration(plan['gpu_seconds'])}, "
        f"disk {quantity(plan['disk_bytes'])}, largest job {quantity(plan['memory_mb'] * 1e6)}",
        f"On {where}: {duration(plan['seconds'])}",
    ]
