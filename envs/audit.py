"""Ask the OSV database (https://osv.dev) what is known of the locked versions, and hold the installed ones to the lock.

``python envs/audit.py``, a part of ``make lint``. Ends with 1 where a locked version has a known vulnerability or
another version is installed. Without a way to the database nothing can be said about vulnerabilities: it says just
that, and ends with 0, or with 1 under ``--required``.
"""

import argparse
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).with_name("requirements.lock")
OSV = "https://api.osv.dev/v1/query"


def locked(lock: Path) -> dict[str, str]:
    """Package -> version."""
    lines = lock.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==", 1) for line in lines if line and not line.startswith("#"))


def other_versions(versions: dict[str, str]) -> list[str]:
    """What is installed here otherwise than locked, or not at all; a local label as in 2.13.0+cpu does not count."""
    complaints = []
    for name, version in versions.items():
        try:
            installed = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            complaints.append(f"{name} {version} is locked and not installed")
            continue
        if installed.partition("+")[0] != version:
            complaints.append(f"{name} {version} is locked and {installed} installed")
    return complaints


def known_vulnerabilities(lock: Path, address: str) -> list[str] | None:
    """A line for each, or None where the database does not answer."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--no-deps", "--disable-pip"]
    options = ["--vulnerability-service", "osv", "--osv-url", address, "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return None
    unread = [package["name"] for package in packages if "vulns" not in package]
    if unread:
        return None
    return [
        f"{package['name']} {package['version']}: {found['id']}"
        + (f", mended in {', '.join(found['fix_versions'])}" if found["fix_versions"] else "")
        for package in packages
        for found in package["vulns"]
    ]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="audit the locked dependencies")
    parser.add_argument("--lock", type=Path, default=LOCK, help="the file of locked versions")
    parser.add_argument("--osv-url", default=OSV, help="where the database answers")
    parser.add_argument("--required", action="store_true", help="fail where the database does not answer")
    arguments = parser.parse_args()
    versions = locked(arguments.lock)
    complaints = other_versions(versions)
    found = known_vulnerabilities(arguments.lock, arguments.osv_url)
    for line in [*complaints, *(found or [])]:
        print(f"audit: {line}", file=sys.stderr)
    if found is None:
        print(
            f"audit: WARNING: vulnerabilities were NOT looked up: {arguments.osv_url} does not answer", file=sys.stderr
        )
    elif not found:
        print(f"audit: no known vulnerabilities in {len(versions)} packages")
    return int(bool(complaints) or bool(found) or (found is None and arguments.required))


if __name__ == "__main__":
    sys.exit(main())
