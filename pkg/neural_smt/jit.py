"""Numba, set up once: compiled kernels release the GIL and are cached on disk.

Numba's own cache looks only at the file a kernel stands in, so a kernel that calls another module's kernel could
go stale. Kernels meant to be called from other modules therefore live in files named ``primitives.py`` or
``*_primitives.py``, and the cache folder is named after the contents of those files: a change there compiles
everything anew.

A wheel of ``make wheel`` ships compiled kernels. Numba finds what it has compiled by Python's and its own version, the
contents of the file, the types and the processor; so they are compiled for a level that most x86-64 processors reach,
and where one does, everything is compiled for that level. ``NUMBA_CPU_NAME`` asks for another.
"""

import atexit
import contextlib
import functools
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from llvmlite.binding import get_host_cpu_features

from neural_smt.errors import sentence
from neural_smt.io.temporaries import temporary_output

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between lines that say how far compiling is."""

SHIPPED, LEVEL = Path(__file__).parent / "kernels", "x86-64-v3"
"""The folder of the kernels that a wheel ships, and what they are compiled for."""

FEATURES = "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"
"""What a processor of that level has over the level below (System V ABI, AMD64 supplement), as LLVM calls it."""


def _runs_shipped() -> bool:
    """Whether there are kernels of a wheel which this processor runs, and nothing else was asked for."""
    if not SHIPPED.is_dir() or "numba" in sys.modules or os.environ.get("NUMBA_CPU_NAME"):
        return False
    features = get_host_cpu_features()
    return all(features.get(name) for name in FEATURES)


def _make_folder(folder: Path, shipped: bool) -> Path:
    """Make the folder of kernels unless it is there; with those of the wheel it is there when all of them are."""
    if shipped and not folder.exists():
        with temporary_output(folder, directory=True) as copy:
            shutil.copytree(SHIPPED, copy, dirs_exist_ok=True)
            with contextlib.suppress(OSError):  # another process was faster
                copy.rename(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()
    return folder


def user_cache() -> Path:
    """The folder of what is kept for the user between runs. Raises ``RuntimeError`` where there is no home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neural_smt"


def _cache_folder(shipped: bool) -> Path:
    """Where kernels are kept: a temporary folder, which goes with the program, where the user's cannot be written."""
    called = Path(__file__), *sorted(Path(__file__).parent.rglob("*primitives.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in called)).hexdigest()
    try:
        return _make_folder(user_cache() / "numba" / (digest[:16] + f"-{LEVEL}" * shipped), shipped)
    except (OSError, RuntimeError) as error:  # there may be no home
        log.warning("%s (XDG_CACHE_HOME); until then kernels are not kept", sentence(error) or error)
        temporary = Path(tempfile.mkdtemp(prefix="neural_smt-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return _make_folder(temporary / "numba", shipped)


_shipped = _runs_shipped()
if not os.environ.get("NUMBA_CACHE_DIR"):  # that of the process which started this one
    os.environ["NUMBA_CACHE_DIR"] = str(_cache_folder(_shipped))

import numba  # noqa: E402  (the cache folder is read when Numba is imported)
import numpy as np  # noqa: E402
from numba.core import caching, event  # noqa: E402


class _ByContents(caching.UserProvidedCacheLocator):
    """Kernels are found by what stands in their file, wherever it lies: copies of the package share them."""

    @classmethod
    @functools.cache
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The name of the file's folder and a digest of its contents."""
        return f"{Path(py_file).parent.name}_{hashlib.sha256(Path(py_file).read_bytes()).hexdigest()[:16]}"


# the folder too: Numba may have been imported before
numba.config.CACHE_LOCATOR_CLASSES, numba.config.CACHE_DIR = f"{__name__}._ByContents", os.environ["NUMBA_CACHE_DIR"]
if _shipped:  # not in the environment, which jobs on other processors may inherit
    numba.config.CPU_NAME, numba.config.CPU_FEATURES = LEVEL, ""


class _Progress(event.Listener):
    """Says that kernels are compiled, when the first one is and then every few seconds."""

    count, said = 0, 0.0

    def on_start(self, event: event.Event) -> None:
        """A kernel is not in the cache."""
        if not self.said:
            log.info("compiling for this processor, which takes a minute or two the first time ...")
            self.said = time.monotonic()

    def on_end(self, event: event.Event) -> None:
        """It is compiled."""
        self.count += 1
        if time.monotonic() - self.said > EVERY:
            log.info("%d functions compiled ...", self.count)
            self.said = time.monotonic()


event.register("numba:compile", _Progress())


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``numba.njit`` with ``cache=True, nogil=True``; usable bare or with Numba's options.

    Other kernels call it without what makes it a function of Python, which is a quarter of the time of compiling.
    """
    if function is None:
        return functools.partial(kernel, **options)
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True} | options
    dispatcher = numba.njit(**options)(function)

    @functools.cache
    def called() -> Any:
        code = function.__code__.replace(co_qualname=f"{function.__qualname__}.called")  # names the file in the cache
        return numba.njit(no_cpython_wrapper=True, **options)(
            FunctionType(code, function.__globals__, argdefs=function.__defaults__)
        )

    dispatcher.get_call_template = lambda *types: called().get_call_template(*types)
    dispatcher.get_overload = lambda signature: called().get_overload(signature)
    return dispatcher


def leaf(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A ``kernel`` for inner loops that creates no array, neither itself nor through the kernels it calls.

    It may read, write and slice the arrays it is given. Numba then need not count references to them: the atomic
    counting of every array of every tuple took four fifths of the time of the search.
    """
    return kernel(function, **({"_nrt": False} | options))


@leaf
def longest(offsets: np.ndarray) -> int:
    """Length of the longest of some lists, of which these are the offsets."""
    most = 0
    for i in range(len(offsets) - 1):
        most = max(most, offsets[i + 1] - offsets[i])
    return most


@leaf
def assign(places: np.ndarray, values: np.ndarray) -> None:
    """Put ``values`` in the first of ``places`` (vectors).

    An assignment of slices does so too, and takes seconds to compile, in every kernel anew.
    """
    for i in range(len(values)):
        places[i] = values[i]


@leaf
def mix(key: np.uint64) -> np.uint64:
    """Spread the bits of a 64-bit key (the finaliser of SplitMix64, Steele et al. 2014)."""
    key = np.uint64(key)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@kernel
def enlarged(rows: np.ndarray, size: int) -> np.ndarray:
    """A copy of an array with rows of zeros to make ``size`` of them."""
    larger = np.zeros((size,) + rows.shape[1:], dtype=rows.dtype)  # noqa: RUF005 (Numba has no unpacking)
    assign(larger.reshape(-1), rows.reshape(-1))
    return larger
