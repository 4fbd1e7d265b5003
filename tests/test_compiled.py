"""Caches of compiled kernels: read-only installs, damaged files, and changes in a called kernel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import driftpace

PACKAGE = Path(driftpace.__file__).parent

CALLED = """
from driftpace.compiled import compiled

@compiled(inline=True)
def twice(x):
    return 2.0 * x
"""

CALLING = """
from driftpace.compiled import compiled
from driftpace.toy.kernels.called import twice

@compiled()
def twice_plus_one(x):
    return twice(x) + 1.0
"""

ASK = """
from driftpace.toy.kernels.calling import twice_plus_one as f
answer = f(3.0)
print(answer, sum(f.stats.cache_hits.values()))
"""

FIT = """
import numpy as np
from driftpace.learners import Sgd
from driftpace.losses import SquaredLoss
from driftpace.records import Constants
from driftpace.constraints import WholeSpace
fitted = Sgd().fit(
    SquaredLoss(), WholeSpace(), np.zeros(1), np.ones((3, 1)), np.ones(3), distance=1.0,
    constants=Constants.given(m=1.0, A=1.0, B=1.0),
)
from driftpace.learners.kernels.gradient import mean_gradient
print(fitted.coef[0], type(mean_gradient._cache).__name__)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package with two toy kernels, one of which calls the other."""
    root = tmp_path / "site"
    shutil.copytree(PACKAGE, root / "driftpace", ignore=shutil.ignore_patterns("__pycache__"))
    toy = root / "driftpace" / "toy" / "kernels"
    toy.mkdir(parents=True)
    (toy.parent / "__init__.py").write_text("")
    (toy / "__init__.py").write_text("")
    (toy / "called.py").write_text(CALLED)
    (toy / "calling.py").write_text(CALLING)
    return root


def python(script: str, root: Path, cache: Path) -> list[str]:
    """Run a script against the copy in another process and return what it prints, split."""
    home = {name: str(cache) for name in ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME")}
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "COV_"))}
    environment = plain | home | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_read_only_install_compiles_in_memory(copy: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    for folder in [path for path in copy.rglob("*") if path.is_dir()]:
        (folder / "__pycache__").write_text("")  # nor can a folder be made beside the kernels
    coef, cache = python(FIT, copy, blocked / "below")
    assert float(coef) == pytest.approx(0.9)  # steps 2/3, 1/2, 2/5 towards 1, from 0
    assert cache == "NullCache"
    assert not list(tmp_path.rglob("*.nbi"))


def test_the_cache_is_read_unless_damaged_or_stale(copy: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert python(ASK, copy, cache) == ["7.0", "0"]
    assert python(ASK, copy, cache) == ["7.0", "1"]

    files = [path for path in cache.rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert python(ASK, copy, cache) == ["7.0", "0"]

    called = copy / "driftpace" / "toy" / "kernels" / "called.py"
    called.write_text(called.read_text().replace("2.0 * x", "3.0 * x"))
    assert python(ASK, copy, cache) == ["10.0", "0"]


def test_a_missing_cache_folder_is_ignored(copy: Path, tmp_path: Path) -> None:
    lose_it = f"""
import shutil
from pathlib import Path
from driftpace.toy.kernels.calling import twice_plus_one as f
cache = Path({str(tmp_path / "cache")!r})
shutil.rmtree(cache)
cache.write_text("")
print(f(3.0))
"""
    assert python(lose_it, copy, tmp_path / "cache") == ["7.0"]
