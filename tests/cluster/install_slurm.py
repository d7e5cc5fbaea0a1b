"""Install Debian's Slurm and MUNGE where they are missing; say in one sentence why not where that can't be done.

``apt-get`` puts them where it puts all packages. They come with services of the system, which stay unconfigured.
"""

import os
import shutil
import subprocess
import sys

from slurm_daemons import PROGRAMS, program_path

PACKAGES = ("munge", "slurm-wlm")


def hindrance(missing: list[str]) -> str | None:
    """Why these programs cannot be installed here, and what to do; nothing where they can."""
    what = f"Slurm is not installed ({', '.join(missing)} not found)"
    if shutil.which("apt-get") is None:
        return f"{what} and there is no apt-get here: install Slurm and MUNGE in this system's own way, then try again"
    if os.geteuid() != 0:
        return f"{what}: run `sudo apt-get install --no-install-recommends {' '.join(PACKAGES)}`, then try again"
    return None


def install() -> None:
    """Install what is missing. Raises ``SystemExit`` with one sentence where that fails."""
    missing = [name for name in PROGRAMS if program_path(name) is None]
    if not missing:
        return
    if reason := hindrance(missing):
        sys.exit(reason)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(["apt-get", "--quiet", "--quiet", *command], env=environment, check=False)
        if done.returncode:
            sys.exit(f"apt-get {command[0]} failed, see above: install {' and '.join(PACKAGES)} by hand and try again")


if __name__ == "__main__":
    install()
