"""Kernels are compiled ahead of time, and a second process compiles none."""

import json
import os
import subprocess
import sys
from pathlib import Path


def warm(cache: Path) -> dict[str, dict[str, float]]:
    """Run the command in another process with its own cache, and return its answer by part."""
    command = [sys.executable, "-m", "driftpace", "warm", "--format", "json"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {part["part"]: part for part in json.loads(done.stdout)}


def test_the_second_run_compiles_nothing(tmp_path: Path) -> None:
    first, second = warm(tmp_path), warm(tmp_path)
    assert list(first) == ["tracker", "planning", "gradient descent", "bounds"]
    assert first["tracker"]["compiled"] == first["tracker"]["kernels"] >= 4
    assert first["planning"]["compiled"] >= 15
    assert [part["compiled"] for part in second.values()] == [0, 0, 0, 0]
    assert [part["kernels"] for part in second.values()] != [0, 0, 0, 0]
