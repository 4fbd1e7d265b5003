"""A disk of one megabyte, for what happens when it is full or may only be read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def in_a_small_file_system(tmp_path: Path, script: str) -> str:
    """Run a script in a name space of its own in which a folder is a file system of one megabyte; nothing is left of it."""
    folder = tmp_path / "small"
    folder.mkdir()
    private = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*private, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine permits no name space for mounts")
    mount = 'mount -t tmpfs -o size=1m tmpfs "$1" || exit 77; exec "$2" -W error -c "$3" "$1/labels.db" "$1"'
    command = [*private, "sh", "-c", mount, "sh", str(folder), sys.executable, script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[2])
    if done.returncode == 77:
        pytest.skip("this machine permits no mount")
    assert done.returncode == 0, done.stderr
    return done.stdout
