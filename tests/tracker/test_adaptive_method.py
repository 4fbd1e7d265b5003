"""The default tracker as a user meets it: asking, bringing more or less, topping up, closing."""

import math
from typing import Any

import numpy as np
import pytest

from driftpace import SquaredLoss, Tracker
from driftpace.adaptive import FIRST_ROWS
from driftpace.errors import ProtocolError
from driftpace.records import Outcome, StepReport, Verdict
from driftpace.typing import FloatArray
from tests.tracker.test_tracker import fingerprint

TRUTH = np.array([1.0, -2.0, 0.5])


def rows(count: int, seed: int, moved: float = 0.0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng([seed, 5])
    X = rng.standard_normal((count, 3))
    return X, X @ TRUTH + 1.0 + moved + rng.standard_normal(count)


def default(**changes: Any) -> Tracker:
    return Tracker(SquaredLoss(), **{"epsilon": 0.05, "rng": 0, **changes})


def period(tracker: Tracker, seed: int, moved: float = 0.0) -> StepReport:
    rng = np.random.default_rng([seed, 9])

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        return rows(count, int(rng.integers(2**31)), moved)

    return tracker.step(draw)


def after(periods: int, **changes: Any) -> Tracker:
    tracker = default(**changes)
    for seed in range(periods):
        period(tracker, seed)
    return tracker


def by_name(report: Any) -> dict[str, Verdict]:
    return {assumption.name: assumption.verdict for assumption in report.assumptions}


@pytest.mark.parametrize("periods", [0, 1, 3])
def test_asking_again_gives_the_same_answer(periods: int) -> None:
    tracker = after(periods)
    assert tracker.ask() == tracker.ask()
    tracker.tell(*rows(3, seed=1), final=False)
    assert tracker.ask() == tracker.ask()
    with pytest.raises(ProtocolError, match=r"must be the same as when period"):
        tracker.ask(pool=1)


def test_the_first_question_is_small_and_says_that_nothing_is_known() -> None:
    request = default().ask()
    assert request.samples == FIRST_ROWS
    assert request.outcome is Outcome.PILOT
    assert request.risk_bound == math.inf
    assert "no initial labels yet" in request.reason
    known = default(features=20).ask()
    assert known.samples > 20  # more rows than coefficients, since their number is known
    assert known.outcome is Outcome.PILOT


def test_a_first_period_asks_until_its_bound_is_met() -> None:
    tracker = default()
    batches, request = [], tracker.ask()
    while request.samples:
        batches.append(request.samples)
        assert len(batches) < 40
        tracker.tell(*rows(request.samples, seed=len(batches)), final=False)
        request = tracker.ask()
        assert request.reason
    assert len(batches) > 2
    assert request.risk_bound <= 0.05
    assert request.outcome is Outcome.MET
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.MET
    assert report.samples == sum(batches)
    assert report.risk_bound <= 0.05
    assert report.certificate is not None
    assert report.certificate > report.risk_bound
    np.testing.assert_allclose(tracker.coef, TRUTH, atol=0.8)
    assert report.rho is None  # nothing moved that could be seen
    assert period(tracker, 1).rho is not None


def test_both_numbers_are_shown() -> None:
    request = after(3).ask()
    assert request.samples_theory > 0
    assert request.interval[0] <= request.interval[1]
    assert request.epsilon == 0.05


@pytest.mark.parametrize("count", [0, 1, 3, 8, 500])
def test_every_received_row_is_accounted_for(count: int) -> None:
    tracker = after(3)
    tracker.ask()
    report = tracker.tell(*rows(count, seed=50))
    assert report is not None
    assert report.samples == count
    assert np.isfinite(report.risk_bound)
    assert (report.outcome in (Outcome.MET, Outcome.ENOUGH)) == (report.risk_bound <= 0.05)
    assert tracker.period == 5
    assert period(tracker, 60).outcome in (Outcome.MET, Outcome.UNSUPPORTED)


def test_fewer_rows_have_an_honest_larger_bound() -> None:
    bounds, certificates = [], []
    for count in (0, 2, 20, 400):
        tracker = after(2)
        tracker.ask()
        report = tracker.tell(*rows(count, seed=77))
        assert report is not None
        bounds.append(report.risk_bound)
        assert report.certificate is not None
        certificates.append(report.certificate)
    assert bounds == sorted(bounds, reverse=True)
    assert certificates == sorted(certificates, reverse=True)


def test_a_first_period_closed_early_is_short_and_not_an_error() -> None:
    tracker = default()
    tracker.ask()
    report = tracker.tell(*rows(6, seed=0))
    assert report is not None
    assert report.outcome is Outcome.SHORT
    assert report.risk_bound > 0.05
    assert by_name(report)["enough rows"] is Verdict.FAIL
    assert period(tracker, 1).outcome is Outcome.MET


def test_empty_periods_are_valid() -> None:
    tracker = default()
    for expected in (1, 2):
        request = tracker.ask()
        assert request.period == expected
        report = tracker.tell()
        assert report is not None
        assert (report.samples, report.outcome) == (0, Outcome.SHORT)
        assert report.risk_bound == math.inf
    report = period(tracker, 0)
    assert (report.period, report.outcome) == (3, Outcome.MET)
    tracker.ask()
    empty = tracker.tell(np.empty((0, 3)), np.empty(0))
    assert empty is not None
    assert empty.samples == 0
    assert np.isfinite(empty.risk_bound)


def test_a_pool_that_is_too_small_is_reported() -> None:
    tracker = default(epsilon=1e-3)
    supply = iter([rows(10, seed=seed) for seed in range(100)])

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        X, y = next(supply)
        return X[:count], y[:count]

    report = tracker.step(draw, pool=40)
    assert report.samples == 40
    assert report.outcome is Outcome.POOL
    assert report.risk_bound > 1e-3
    assert by_name(report)["pool"] is Verdict.FAIL
    missing = next(assumption.sentence for assumption in report.assumptions if assumption.name == "pool")
    assert int("".join(ch for ch in missing if ch.isdigit())) > 100
    assert default(pool=7).ask().samples == 7
    assert not default(pool=7).ask().outcome.promised


def test_a_pool_that_was_not_emptied_is_not_to_blame() -> None:
    tracker = default(epsilon=1e-3)
    tracker.ask(pool=400)
    tracker.tell(*rows(10, seed=0), final=False)
    tracker.ask()
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.SHORT
    assert by_name(report)["pool"] is Verdict.PASS


def test_the_cap_is_reported() -> None:
    tracker = default(epsilon=1e-4, cap=60)
    supply = iter(range(1000))
    request = tracker.ask()
    while request.samples:
        tracker.tell(*rows(request.samples, seed=next(supply)), final=False)
        request = tracker.ask()
    assert request.outcome is Outcome.CAPPED
    assert by_name(request)["pool"] is Verdict.PASS
    report = tracker.tell()
    assert report is not None
    assert (report.samples, report.outcome) == (60, Outcome.CAPPED)


def test_a_period_that_needs_nothing_asks_for_nothing() -> None:
    """In a world that stands still some period needs no rows; it is closed without any, and the next goes on."""
    tracker = default(epsilon=0.2)
    for seed in range(250):
        request = tracker.ask()
        if request.samples == 0:
            break
        period(tracker, seed)
    assert (request.samples, request.outcome) == (0, Outcome.ENOUGH)
    assert "no rows needed" in request.reason
    before = tracker.coef
    report = tracker.tell()
    assert report is not None
    assert (report.samples, report.outcome) == (0, Outcome.ENOUGH)
    assert report.risk_bound <= 0.2
    assert report.certificate is not None
    np.testing.assert_allclose(tracker.coef, before, atol=0.3)
    assert period(tracker, 1000).outcome.promised


def test_a_bad_delivery_can_be_taken_back() -> None:
    tracker = after(2)
    request = tracker.ask()
    before = fingerprint(tracker)
    tracker.tell(*rows(6, seed=3, moved=1e6), final=False)
    assert tracker.ask() != request
    tracker.forget()
    assert tracker.ask().samples == request.samples
    assert tracker.ask().status == request.status
    tracker.tell(*rows(30, seed=4))
    other = after(2)
    other.ask()
    assert fingerprint(other) == before
    other.tell(*rows(30, seed=4))
    np.testing.assert_array_equal(tracker.coef, other.coef)


def test_parts_are_the_whole() -> None:
    X, y = rows(60, seed=8)
    whole, parts = after(2), after(2)
    whole.ask()
    whole.tell(X, y)
    parts.ask()
    parts.tell(X[:13], y[:13], final=False)
    parts.tell(X[13:], y[13:])
    np.testing.assert_array_equal(whole.coef, parts.coef)
    assert whole.history[-1].risk_bound == parts.history[-1].risk_bound
