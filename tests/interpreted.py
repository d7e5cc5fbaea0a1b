"""Tests with NUMBA_DISABLE_JIT=1: kernels run as Python, where coverage and mutants are seen, for a while each."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest

SECONDS = 10
"""Of processor time, after which a test fails: kernels take far longer than compiled."""


def njit(**_: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Of Numba's decorator what is left: elements of the arrays that a module's kernels make have named fields."""

    def records(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, value in function.__globals__.items():
            if isinstance(value, np.dtype) and value.names:
                function.__globals__[name] = np.dtype((np.record, value))
        return function

    return records


numba.njit = njit
np.seterr(over="ignore")  # hashes
del os.environ["NUMBA_DISABLE_JIT"]  # programs that tests start need not be slow


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Stop a test that takes too long."""

    def stop(*_: Any) -> None:
        pytest.fail(f"took more than {SECONDS} s interpreted")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    result = yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    return result
