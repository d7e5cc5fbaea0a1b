"""Compiled recurrent steps: the same scores and gradients in batches of all sizes; what is said without a compiler."""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
import torch
from network_cases import CASES, CPU, differentiate
from refusals import check_refused

from neural_smt.networks.device import compilable, compile_steps

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of PyTorch's compiler itself

Switch = Callable[[bool], None]

BACKEND = "inductor" if shutil.which(os.environ.get("CXX", "g++")) else "aot_eager"
"""What makes steps of what PyTorch has traced: its compiler, or without one for C++ the same operations one by one."""


@pytest.fixture
def compiled() -> Iterator[Switch]:
    """What switches compiling on and off; it is off afterwards, and nothing compiled is left."""
    yield compile_steps
    compile_steps(False)
    torch.compiler.reset()


SLOWLY = [pytest.param(conventions, marks=pytest.mark.slow) for conventions in ("code", "paper")]


@pytest.mark.parametrize("name", ["attention", *SLOWLY])
def test_scores_and_gradients_are_the_same(name: str, compiled: Switch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=BACKEND))
    case = CASES[name]
    network = case.random()
    for count in (20, 1, 7):
        results = []
        for asked in (False, True):
            compiled(asked)
            results.append(differentiate(network, case.pack(case.examples(count, count), CPU)))
        for wanted, found in zip(*results, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_a_missing_compiler_is_named(compiled: Switch, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    monkeypatch.setattr(config.cpp, "cxx", (None, "/nonexistent/c++"))
    compiled(True)
    check_refused(["training", "compile", "compiler"], compilable(torch.sin), torch.ones(3))
