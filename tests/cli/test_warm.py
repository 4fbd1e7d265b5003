"""Kernels are compiled ahead of time, and later processes compile none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

USE = """
import sys, tempfile
import numpy as np
from driftpace import Budget, LinearCost, LogisticLoss, SquaredLoss, Tracker
from driftpace.backtest import backtest

rng = np.random.default_rng(0)

def follow(loss, periods=4, groups=None, **options):
    tracker = Tracker(loss, epsilon=0.1, rng=0, **options)
    for _ in range(periods):
        while (count := tracker.ask().samples) > 0:
            X = rng.standard_normal((count, 3))
            y = X.sum(axis=1) + rng.standard_normal(count)
            together = None if groups is None else np.arange(count) // groups
            tracker.tell(X, np.sign(y) if isinstance(loss, LogisticLoss) else y, groups=together, final=False)
        tracker.tell()
    return tracker

tracker = follow(SquaredLoss())
tracker.plan(horizon=6, budget=100)
with tempfile.NamedTemporaryFile() as file:
    tracker.save(file.name)
    Tracker.load(file.name).ask()
for options in ({"fit_intercept": False}, {"groups": 2}, {"season": 2}, {"orders": 1}, {"confidence": 0.9}, {"l2": [0.0, 0.1]}):
    follow(SquaredLoss(), **options)
follow(LogisticLoss(l2=0.1))
follow(SquaredLoss(), budget=Budget(total=300, horizon=8, cost=LinearCost(fixed=5)))
columns = {"period": np.repeat(np.arange(6), 50), "a": rng.standard_normal(300), "y": rng.standard_normal(300)}
backtest(columns, target="y", period="period", epsilon=0.1, workers=1)
for module, content in list(sys.modules.items()):
    if module.startswith("driftpace.") and "kernels" in module:
        for name, kernel in vars(content).items():
            if getattr(kernel, "signatures", None) and kernel.stats.cache_misses:
                print(name, *kernel.stats.cache_misses)
"""


def run(cache: Path, *command: str) -> str:
    """Run Python in another process with its own cache of kernels, and return what it prints."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def warm(cache: Path) -> dict[str, dict[str, float]]:
    """Return the answer of the command by part."""
    return {part["part"]: part for part in json.loads(run(cache, "-m", "driftpace", "warm", "--format", "json"))}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def test_the_second_run_compiles_nothing(cache: Path) -> None:
    first, second = warm(cache), warm(cache)
    assert list(first) == ["tracker", "planning", "gradient descent", "bounds"]
    assert first["tracker"]["compiled"] == first["tracker"]["kernels"] >= 4
    assert first["planning"]["compiled"] >= 15
    assert [part["compiled"] for part in second.values()] == [0, 0, 0, 0]
    assert [part["kernels"] for part in second.values()] != [0, 0, 0, 0]


def test_nothing_is_left_to_compile_for_trackers_plans_and_backtests(cache: Path, tmp_path: Path) -> None:
    """The control, a process without the cache, compiles what the tracker needs."""
    warm(cache)
    assert run(cache, "-c", USE) == ""
    assert "weigh" in run(tmp_path, "-c", USE.split("tracker.plan")[0] + USE[USE.index("for module") :])
