"""Fixtures every test file may use."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest
from browser import Browser

if os.environ.get("NUMBA_DISABLE_JIT"):
    from interpreted import pytest_runtest_protocol as pytest_runtest_protocol  # before anything loads the package

# Tests do thousands of tiny matrix products: threads that wait for each other after each make them slower, and on a
# busy machine ten times slower. Set before anything loads OpenMP.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says nothing on a busy machine. At the desk the same few examples, else many others.
_CHECKS = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("few", max_examples=20, derandomize=True, **_CHECKS)
hypothesis.settings.register_profile("many", max_examples=300, **_CHECKS)
hypothesis.settings.load_profile("few")

REPOSITORY = Path(__file__).resolve().parent.parent

# Programs that tests start find the package of this checkout.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY / "pkg"), os.environ.get("PYTHONPATH")]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins."""
    items.sort(key=lambda item: "finished" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of this checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real corpora and outputs of the classic tools, outside the repository; tests that need them skip without."""
    folder = Path(os.environ.get("NEURAL_SMT_SHARED", REPOSITORY.parent / "shared")).resolve()
    if not (folder / "oracle").is_dir():
        pytest.skip(f"no reference data at {folder}; set NEURAL_SMT_SHARED to the folder that holds oracle/ and data/")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser of a module's own."""
    with closing(Browser(tmp_path_factory.mktemp("browser"))) as opened:
        yield opened


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What runs in the background of a script ignores interruptions, and so does what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
