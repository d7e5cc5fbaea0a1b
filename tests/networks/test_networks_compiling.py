"""Compiled recurrent steps: the same scores and gradients in batches of all sizes; what is said without a compiler."""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
import torch
from random_weights import dense, enlarge
from torch import nn

from neural_smt.errors import UserError
from neural_smt.io.ragged import Ragged
from neural_smt.networks.attention.network import AttentionConfig, AttentionNetwork, pack_batch
from neural_smt.networks.device import compilable, compile_steps
from neural_smt.networks.encoder_decoder import Conventions, EncoderDecoder, EncoderDecoderConfig
from neural_smt.networks.packing import pack_pairs

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of PyTorch's compiler itself

CPU = torch.device("cpu")
SIZES = {"source_words": 13, "target_words": 17, "hidden": 6, "embedding": 5, "maxout": 4, "rank": 3}
BACKEND = "inductor" if shutil.which(os.environ.get("CXX", "g++")) else "aot_eager"
"""What makes steps of what PyTorch has traced: its compiler, or without one for C++ the same operations one by one."""


@pytest.fixture
def compiled() -> Iterator[Callable[[bool], None]]:
    """What switches compiling on and off; it is off afterwards, and nothing compiled is left."""
    yield compile_steps
    compile_steps(False)
    torch.compiler.reset()


def encoder_decoder(follow: str) -> EncoderDecoder:
    return EncoderDecoder(EncoderDecoderConfig(**SIZES, conventions=Conventions.following(follow)))


def attention() -> AttentionNetwork:
    return AttentionNetwork(AttentionConfig(**SIZES, attention=7))


def pairs(count: int) -> tuple[Ragged, Ragged]:
    random = np.random.default_rng(count)
    words = SIZES["source_words"], SIZES["target_words"]
    return tuple(
        Ragged.from_lists([random.integers(3, size, random.integers(1, 8)) for _ in range(count)]) for size in words
    )


def learnt(network: nn.Module, pack: Callable, count: int) -> list[np.ndarray]:
    """The scores of pairs and the gradients of all weights."""
    network.zero_grad()
    scores = network(pack(*pairs(count), CPU))
    scores.sum().backward()
    return [scores.detach().numpy(), *(dense(weight.grad).numpy().copy() for weight in network.parameters())]


@pytest.mark.parametrize(
    ("make", "pack"),
    [
        pytest.param(lambda: encoder_decoder("code"), pack_pairs, id="code"),
        pytest.param(lambda: encoder_decoder("paper"), pack_pairs, id="paper"),
        pytest.param(attention, pack_batch, id="attention"),
    ],
)
def test_scores_and_gradients_are_the_same(
    make: Callable, pack: Callable, compiled: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=BACKEND))
    network = make().double()
    enlarge(network, 0.4)
    for count in (20, 1, 7):
        compiled(False)
        expected = learnt(network, pack, count)
        compiled(True)
        for found, wanted in zip(learnt(network, pack, count), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_a_missing_compiler_is_named(compiled: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    monkeypatch.setattr(config.cpp, "cxx", (None, "/nonexistent/c++"))
    compiled(True)
    with pytest.raises(
        UserError, match=r"compile is on, but PyTorch cannot compile here \(.*compiler.*\); set it to false"
    ):
        compilable(torch.sin)(torch.ones(3))
