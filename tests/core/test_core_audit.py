"""The audit of dependencies, against a database of vulnerabilities on loopback."""

import importlib.metadata
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

KNOWN = json.loads(Path(__file__).with_name("vulnerability.json").read_text(encoding="utf-8"))


class Database(BaseHTTPRequestHandler):
    """Knows of one vulnerability, in tqdm."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps({"vulns": [KNOWN]} if asked["package"]["name"] == "tqdm" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def database() -> Iterator[str]:
    """Its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Database)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    server.server_close()


def audit(repository: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(repository / "envs" / "audit.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def lock(folder: Path, **versions: str) -> Path:
    lines = ["# locked", *(f"{name}=={version}" for name, version in versions.items())]
    (folder / "lock").write_text("\n".join(lines), encoding="utf-8")
    return folder / "lock"


def installed(name: str) -> str:
    return importlib.metadata.version(name)


def test_a_known_vulnerability_fails_the_audit(repository: Path, tmp_path: Path, database: str) -> None:
    done = audit(repository, "--lock", lock(tmp_path, tqdm=installed("tqdm")), "--osv-url", database)
    assert done.returncode == 1
    assert done.stderr == f"audit: tqdm {installed('tqdm')}: GHSA-0000-test-0001, mended in 99.1\n"


def test_packages_without_vulnerabilities_pass(repository: Path, tmp_path: Path, database: str) -> None:
    versions = {name: installed(name) for name in ("pyyaml", "pooch")}
    done = audit(repository, "--lock", lock(tmp_path, **versions), "--osv-url", database)
    assert (done.returncode, done.stdout) == (0, "audit: no known vulnerabilities in 2 packages\n")


def test_other_versions_than_the_locked_ones_fail(repository: Path, tmp_path: Path, database: str) -> None:
    done = audit(repository, "--lock", lock(tmp_path, pooch="0.0.1", nowhere="1.0"), "--osv-url", database)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"audit: pooch 0.0.1 is locked and {installed('pooch')} installed",
        "audit: nowhere 1.0 is locked and not installed",
    ]


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--required"], 1)])
def test_an_audit_without_a_database_says_so(repository: Path, tmp_path: Path, options: list[str], status: int) -> None:
    address = "http://127.0.0.1:1/v1/query"
    done = audit(repository, "--lock", lock(tmp_path, pooch=installed("pooch")), "--osv-url", address, *options)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == f"audit: WARNING: vulnerabilities were NOT looked up: {address} does not answer\n"
