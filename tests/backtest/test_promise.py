"""The promise on arrays whose verdict is plain."""

import numpy as np
import pytest

from driftpace.backtest import Promise, promise
from driftpace.backtest.promise import promise_kept


def test_the_mean_decides_when_no_period_stands_out() -> None:
    risks = np.full((5, 20), 0.02)
    assert promise(risks, 0.02) == Promise(mean=pytest.approx(0.02), periods_above=0, kept=True)  # type: ignore[arg-type]
    assert not promise(risks, 0.0199).kept


@pytest.mark.parametrize(("high", "kept"), [(2, True), (3, False)])
def test_one_period_in_ten_may_be_above(high: int, kept: bool) -> None:
    risks = np.full((4, 20), 0.001)
    risks[:, :high] = 0.03  # without spread: above by any number of standard errors
    judged = promise(risks, 0.02)
    assert (judged.periods_above, judged.kept) == (high, kept)


def test_two_standard_errors_are_allowed() -> None:
    # run-average 0.03, standard deviation 0.02, four runs: standard error 0.01; 0.03 is two of them above 0.01
    risks = np.array([[0.01], [0.05], [0.03], [0.03]])
    error = risks.std(ddof=1) / 2.0
    assert promise(np.hstack([risks, risks * 0.0]), 0.03 - 2.0 * error + 1e-9).periods_above == 0
    assert promise(np.hstack([risks, risks * 0.0]), 0.03 - 2.0 * error - 1e-9).periods_above == 1


def test_less_than_ten_periods_allow_none_above() -> None:
    risks = np.full((3, 9), 0.001)
    risks[:, 0] = 0.021
    assert not promise(risks, 0.02).kept


def test_one_run_is_judged_by_its_mean_alone() -> None:
    assert promise(np.array([[0.05, 0.001, 0.001]]), 0.02).kept


def test_a_target_for_each_period() -> None:
    risks = np.array([[0.01, 0.03], [0.01, 0.03]])
    assert promise(risks, np.array([0.02, 0.04])).kept
    assert promise(risks, np.array([0.04, 0.02])).periods_above == 1


@pytest.mark.parametrize(("confidence", "kept"), [(None, False), (0.75, True), (0.76, False)])
def test_with_a_confidence_the_share_within_the_target_decides(confidence: float | None, kept: bool) -> None:
    risks = np.array([[0.01, 0.02], [0.01, 0.9]])
    assert promise_kept(risks, 0.02, confidence) is kept
