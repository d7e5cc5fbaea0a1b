"""All tests that are marked ``gpu``, on a CUDA device that is simulated."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

HERE = Path(__file__).parent
LIBRARIES = Path(torch.__file__).parent / "lib"


@pytest.fixture(scope="session")
def guard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What lets this PyTorch compute gradients on a device that is not there, compiled."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++, which compiles the simulated CUDA device")
    if find_spec("triton") is None:
        pytest.skip("no Triton, whose interpreter runs the kernels; make test installs it")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device, on which these tests run as they are")
    library = tmp_path_factory.mktemp("device") / "guard.so"
    includes = [f"-I{LIBRARIES.parent / 'include'}", f"-I{LIBRARIES.parent / 'include/torch/csrc/api/include'}"]
    links = [f"-L{LIBRARIES}", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{LIBRARIES}"]
    command = [compiler, "-shared", "-fPIC", "-std=c++17", str(HERE / "guard.cpp"), "-o", str(library)]
    subprocess.run([*command, *includes, *links], check=True, capture_output=True)
    return library


@pytest.mark.parametrize("folders", ["networks decoding rescoring", "training", "device"])
def test_gpu_tests_pass_on_a_simulated_device(folders: str, guard: Path, repository: Path, tmp_path: Path) -> None:
    paths = [str(repository / "tests" / folder) for folder in folders.split()]
    options = ["-mgpu", "-n0", "-psimulated_cuda", "-pno:cacheprovider", f"--junitxml={tmp_path / 'found'}"]
    environment = os.environ | {"SIMULATED_CUDA": str(guard)}
    environment["PYTHONPATH"] = os.pathsep.join([str(repository / "pkg"), str(HERE)])
    command = [sys.executable, "-m", "pytest", *options, *paths]
    found = subprocess.run(command, env=environment, cwd=repository, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-5000:]
    (suite,) = ElementTree.parse(tmp_path / "found").getroot()
    assert int(suite.attrib["tests"]) > 4 and suite.attrib["skipped"] == "0"
