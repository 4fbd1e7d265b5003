"""Processes as people start them: from scripts without a guard, with parts that cannot travel, with failures."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from driftpace.backtest import replay
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.workers import Workers
from driftpace.errors import DataError, ParameterError
from tests.backtest.panels import drifting_panel
from tests.backtest.plain_tracker import plain_tracker

ROOT = Path(__file__).parents[2]
SCRIPT = """
from driftpace.backtest import replay
from tests.backtest.panels import drifting_panel
from tests.backtest.plain_tracker import PlainTracker, plain_tracker

print("once")


def own(loss, features, seed):
    return PlainTracker(loss, features, seed)


for tracker in (plain_tracker, own):
    result = replay(drifting_panel(), epsilon=0.05, runs=2, workers=2, baselines=(), tracker=tracker)
    print(result.strategies[0].excess_risk.tolist(), sum("One core" in note for note in result.notes))
"""


def job_of() -> Job:
    return prepare(
        drifting_panel(), loss=None, asked=TrackerConfig(epsilon=0.1), test_fraction=0.2, seed=0, baselines=()
    )


def double(job: Job, item: int) -> int:
    return 2 * item + 0 * job.coefficients


def fail(job: Job, item: int) -> int:
    raise DataError(f"{item} cannot be used with {job.coefficients} coefficients.")


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},  # the same BLAS kernels, too
        check=True,
    )
    once, spread, own = done.stdout.splitlines()
    here = replay(drifting_panel(), epsilon=0.05, runs=2, workers=1, baselines=(), tracker=plain_tracker)
    risks = str(here.strategies[0].excess_risk.tolist())
    assert once == "once"
    assert spread == f"{risks} 0"
    assert own == f"{risks} 1"  # defined in the script: it stays in one process, and says so
    assert done.stderr == ""


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_come_in_the_order_of_the_items(workers: int) -> None:
    with Workers(job_of(), workers=workers, items=9) as crew:
        assert list(crew.map(double, range(9))) == [0, 2, 4, 6, 8, 10, 12, 14, 16]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_is_the_same_sentence_from_anywhere(workers: int) -> None:
    with (
        Workers(job_of(), workers=workers, items=4) as crew,
        pytest.raises(DataError, match="0 cannot be used with 3 coefficients"),
    ):
        list(crew.map(fail, range(4)))


class Elsewhere:
    """An executor that packs everything."""

    def __init__(self) -> None:
        self.sent = 0

    def map(self, function: Any, items: Any) -> list[Any]:
        packed = [pickle.dumps((function, item)) for item in items]
        self.sent += len(packed)
        return [function(item) for function, item in map(pickle.loads, packed)]


def test_an_executor_gives_the_same_numbers() -> None:
    elsewhere = Elsewhere()
    options: dict[str, Any] = {"epsilon": 0.05, "runs": 2, "baselines": ("even", "best_constant")}
    here = replay(drifting_panel(), workers=1, **options)
    there = replay(drifting_panel(), executor=elsewhere, **options)
    assert elsewhere.sent >= 2
    for one, other in zip(here.strategies, there.strategies, strict=True):
        assert one.excess_risk.tolist() == other.excess_risk.tolist()


def test_a_tracker_that_cannot_travel_stays_here() -> None:
    elsewhere = Elsewhere()
    own = replay(
        drifting_panel(),
        epsilon=0.05,
        runs=1,
        baselines=(),
        executor=elsewhere,
        tracker=lambda loss, features, seed: plain_tracker(loss, features, seed),
    )
    assert elsewhere.sent == 0
    assert any("One core" in note for note in own.notes)


def test_executors_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"backtest\(executor=...\) must be one of"):
        replay(drifting_panel(), epsilon=0.05, runs=1, executor="cloud")
