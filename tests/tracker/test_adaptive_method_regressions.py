"""Faults that were found in the default tracker by using it badly, one test each."""

import math
from dataclasses import replace

import numpy as np
import pytest

from driftpace import LogisticLoss, PoissonLoss, Tracker
from driftpace.adaptive import judge
from driftpace.errors import DataError
from driftpace.records import Outcome, Verdict
from driftpace.tracker import adaptive_method
from tests.tracker.test_adaptive_method import after, default, rows


def test_rows_that_replace_forgotten_ones_are_judged_themselves() -> None:
    """As many rows as were taken back are other rows: the answer given for the first ones is not theirs."""
    tracker, fresh = default(features=3), default(features=3)
    for each in (tracker, fresh):
        each.ask()
    X, y = rows(20, seed=0)
    tracker.tell(X, 100.0 * y, final=False)
    wild = tracker.ask()
    tracker.forget()
    for each in (tracker, fresh):
        each.tell(X, y, final=False)
    assert tracker.ask() == fresh.ask()
    assert tracker.ask() != wild


def test_more_rows_than_the_pool_had_can_meet_the_target() -> None:
    tracker = default()
    tracker.ask(pool=50)
    tracker.tell(*rows(400, seed=0), final=False)
    request = tracker.ask()
    assert (request.samples, request.outcome, request.interval) == (0, Outcome.MET, (400, 400))


def test_a_cap_below_the_pilot_is_not_called_a_pool() -> None:
    request = default(cap=4).ask()
    assert (request.samples, request.outcome) == (4, Outcome.CAPPED)
    assert "can have 4 in all" in request.reason


def test_a_first_period_without_a_pool_is_not_called_short() -> None:
    tracker = default()
    assert tracker.ask(pool=0).samples == 0
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.POOL


def test_a_pool_that_was_not_used_up_is_not_called_exhausted() -> None:
    tracker = after(1, epsilon=0.001)
    assert tracker.ask(pool=100).outcome is Outcome.POOL
    report = tracker.tell(*rows(10, seed=5))
    assert report is not None
    assert report.outcome is Outcome.SHORT
    sentence = next(assumption.sentence for assumption in report.assumptions if assumption.name == "pool")
    assert sentence == "More rows are needed, and the pool of this period is not exhausted."


@pytest.mark.parametrize("count", [1, 2, 4, 7])
@pytest.mark.parametrize("zero", [True, False], ids=["zero", "ordinary"])
def test_fewer_rows_than_a_pilot_promise_nothing(count: int, zero: bool) -> None:
    """A model passes through as many rows as it has coefficients: their residuals are no noise."""
    tracker = default()
    tracker.ask()
    X, y = rows(count, seed=0)
    tracker.tell(X, 0.0 * y if zero else y, final=False)
    assert tracker.ask().samples > 0
    report = tracker.tell()
    assert report is not None
    assert not report.outcome.promised
    assert report.certificate is not None
    assert report.certificate >= report.risk_bound > report.epsilon
    later = tracker.step(lambda size: rows(size, seed=1))
    assert report.samples + later.samples >= 8
    assert np.abs(tracker.coef).max() < 5.0


def test_rows_without_noise_are_reported() -> None:
    tracker = default()
    X, y = rows(10, seed=0)
    tracker.ask()
    report = tracker.tell(X, 0.0 * y)
    assert report is not None
    assert next(assumption.verdict for assumption in report.assumptions if assumption.name == "tails") is Verdict.WARN


def test_a_column_that_is_constant_at_first_gets_no_coefficient() -> None:
    """The mean of seven times 0.1 is not 0.1: what rounding left was taken for a column of size 1e-17."""
    tracker = default()
    X, y = rows(7, seed=0)
    X[:, 1] = 0.1
    tracker.ask()
    report = tracker.tell(X, y)
    assert report is not None
    assert tracker.coef[1] == 0.0
    curvature = next(assumption for assumption in report.assumptions if assumption.name == "curvature")
    assert curvature.verdict is Verdict.WARN
    assert curvature.sentence.startswith("column 2 is the same in all rows so far")
    assert tracker.step(lambda size: rows(size, seed=1)).samples < 1000


@pytest.mark.parametrize("confidence", [None, 0.95])
@pytest.mark.parametrize("count", range(20, 90, 6))
def test_what_is_too_much_is_not_said_to_be_below_the_target(confidence: float | None, count: int) -> None:
    """The cost in the sentence is the one that is compared with the target."""
    tracker = default(confidence=confidence)
    tracker.ask()
    tracker.tell(*rows(count, seed=0), final=False)
    request = tracker.ask()
    cost = float(request.reason.split(" at most " if confidence else " excess loss ")[1].split()[0].strip(",;"))
    if "to reach the target" in request.reason:
        assert cost >= 0.05
    else:
        assert cost <= 0.05
        assert ("a margin" in request.reason) == (request.samples > 0)
    assert count + request.samples <= request.interval[1]


def test_one_row_is_a_row() -> None:
    tracker = default()
    tracker.ask()
    tracker.tell(*rows(1, seed=0), final=False)
    request = tracker.ask()
    sentences = [request.reason, *(assumption.sentence for assumption in request.assumptions)]
    assert not any("1 rows" in sentence for sentence in sentences)


def test_the_proven_number_is_not_the_pilot() -> None:
    """Rows brought without asking again: the number by the proven rule is known all the same."""
    tracker = default()
    assert tracker.ask().samples_theory == 10
    report = tracker.tell(*rows(200, seed=0))
    assert report is not None
    assert report.samples_theory > 30


@pytest.mark.parametrize("count", [3, 6, 12])
def test_a_first_certificate_is_not_below_what_is_expected(count: int) -> None:
    """Where curvature depends on the model the start counts as rows: in the bound and in the certificate."""
    tracker = Tracker(LogisticLoss(), epsilon=0.05, rng=0)
    X, y = rows(count, seed=0)
    tracker.ask()
    report = tracker.tell(X, np.where(y > 0.0, 1.0, -1.0))
    assert report is not None
    assert report.certificate is not None
    assert report.certificate >= report.risk_bound


def test_a_risk_is_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of 1e9 that hardly move and no intercept: rounding gave a variance below zero, and the target was met."""
    tracker = default()
    tracker.ask()
    tracker.tell(*rows(30, seed=0), final=False)
    monkeypatch.setattr(adaptive_method, "judge", lambda *given: replace(judge(*given), variances=np.full(2, -1.0)))
    request = tracker.ask()
    assert (request.outcome, request.risk_bound) == (Outcome.NONFINITE, math.inf)
    with pytest.raises(DataError, match="rescale the columns"):
        tracker.tell()


@pytest.mark.parametrize("kind", ["logistic", "poisson"])
@pytest.mark.parametrize("periods", [2, 6])
def test_periods_of_one_class_or_of_no_counts_are_left_again(kind: str, periods: int) -> None:
    """The curvature of a fit to one class is nothing; an endless Newton step once kept the tracker astray for good."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    if kind == "logistic":
        loss: LogisticLoss | PoissonLoss = LogisticLoss(l2=1e-4)
        only = np.ones(400)
        y = np.where(rng.random(2000) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0])), 1.0, -1.0)
    else:
        loss, only = PoissonLoss(l2=1e-4), np.zeros(400)
        y = rng.poisson(np.exp(0.3 * X[:, 0])).astype(np.float64)
    tracker = Tracker(loss, epsilon=0.05, rng=0)
    for _ in range(periods):
        tracker.ask()
        tracker.tell(X[:400], only)
    for _ in range(3):
        tracker.ask()
        report = tracker.tell(X[:400], y[:400])
        assert report is not None
        assert report.risk_bound <= 0.05
        assert abs(tracker.intercept) < 0.5
        assert abs(tracker.coef[0] - (2.0 if kind == "logistic" else 0.3)) < 0.5
    assert tracker.ask().samples < 100
