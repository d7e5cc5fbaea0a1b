"""Chains and schedules: literal ones, and bounds that hold for all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neural_smt.planning.forecasts import Forecast
from neural_smt.planning.jobs import Job
from neural_smt.planning.sizes import quantity
from neural_smt.planning.steps import Machine, critical_path, duration, render_plan, schedule, summarise


def forecast(
    name: str, seconds: float, needs: str = "", threads: int = 1, gpus: int = 0, memory: float = 100.0
) -> Forecast:
    """A job that makes a file of this name out of others, whose names are ``needs``."""
    benchmark, inputs = "results/x/benchmarks/alignment/align.tsv", tuple(f"results/x/{need}" for need in needs.split())
    made = Job("align", {}, inputs, (f"results/x/{name}",), benchmark, threads, gpus, 1000)
    return Forecast(made, seconds, seconds, memory, 1e6, "measured")


DIAMOND = [forecast("a", 3), forecast("b", 5, "a"), forecast("c", 1, "a"), forecast("d", 2, "b c")]


@pytest.mark.parametrize(
    ("nodes", "cores", "ends"), [(1, 1, [3, 8, 9, 11]), (1, 2, [3, 8, 4, 10]), (2, 1, [3, 8, 4, 10])]
)
def test_a_schedule_uses_all_cores_and_nodes(nodes: int, cores: int, ends: list[int]) -> None:
    assert schedule(DIAMOND, Machine(nodes, cores, 0)) == ends
    assert [step.seconds for step in critical_path(DIAMOND)] == [3, 5, 2], "by the slower side"


def test_jobs_wait_for_a_gpu_and_take_no_more_cores_than_there_are() -> None:
    two = [forecast("a", 4, gpus=1), forecast("b", 4, gpus=1), forecast("c", 4, threads=64)]
    assert max(schedule(two, Machine(1, 4, 1))) == 12
    assert max(schedule(two, Machine(3, 4, 1))) == 4
    # without GPUs they run all the same: the plan of a machine that has none
    assert max(schedule(two[:2], Machine(1, 2, 0))) == 4

    # what leads furthest starts first
    jobs = [forecast("a", 2), forecast("b", 2), forecast("c", 9, "b")]
    assert schedule(jobs, Machine(1, 1, 0))[1] == 2


@given(
    st.lists(st.tuples(st.integers(1, 50), st.sets(st.integers(0, 11)), st.integers(1, 3)), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_schedules_lie_between_their_bounds(jobs: list[tuple[int, set[int], int]], nodes: int, cores: int) -> None:
    forecasts = [
        forecast(str(number), seconds, " ".join(str(n) for n in before if n < number), min(threads, cores))
        for number, (seconds, before, threads) in enumerate(jobs)
    ]
    ends = schedule(forecasts, Machine(nodes, cores, 0))
    work = sum(one.seconds * one.job.threads for one in forecasts)
    chain = sum(step.seconds for step in critical_path(forecasts))
    assert max(chain, work / (nodes * cores)) - 1e-9 <= max(ends) <= sum(one.seconds for one in forecasts) + 1e-9
    for number, one in enumerate(forecasts):
        starts = ends[number] - one.seconds
        assert all(ends[int(path.rpartition("/")[2])] <= starts + 1e-9 for path in one.job.inputs)


def test_summaries_mark_what_asks_for_too_little_memory() -> None:
    made = summarise([forecast("a", 90 * 60, memory=2500.0), forecast("b", 30)], Machine(1, 1, 0))
    assert made["memory_mb"] == 2500
    assert (made["seconds"], made["disk_bytes"]) == (5430.0, 2_000_000)
    lines = render_plan(made, False)
    assert lines[2] == "| alignment | 2 | 1.5 h | 1.5 h | 2.5 GB ! | 2.0 MB |"
    (place,) = (number for number, line in enumerate(lines) if line.startswith("! more memory"))
    assert lines[place + 1] == "--set-resources align:mem_mb=3000"


def test_amounts_as_people_say_them() -> None:
    assert [duration(s) for s in (59, 90, 5399, 5400, 129600)] == ["59 s", "1.5 min", "90.0 min", "1.5 h", "1.5 days"]
    assert [quantity(b) for b in (999, 1e6, 2.5e9, 3e12)] == ["1 kB", "1.0 MB", "2.5 GB", "3.0 TB"]
