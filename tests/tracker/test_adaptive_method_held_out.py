"""Rows that are bought for the audit alone: they have no part in the model, and measure it without bias."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Budget, LinearCost, LogisticLoss, SquaredLoss, Tracker
from driftpace.adaptive import audit_period, held_out_rows
from driftpace.errors import ParameterError
from driftpace.learners import Sgd
from driftpace.records import StepReport
from driftpace.synthetic import ShapedRegression
from driftpace.tracker import adaptive_method
from driftpace.typing import FloatArray

FEATURES, EPSILON = 3, 0.05


def follow(tracker: Tracker, periods: int = 6, *, spoil: bool = False, size: int = 1) -> list[StepReport]:
    """Run periods whose rows come in groups of ``size``; ``spoil`` replaces the targets of the rows held out."""
    rng = np.random.default_rng(3)
    reports = []
    for period in range(periods):
        gathered = 0
        while (samples := tracker.ask().samples) > 0:
            X = rng.standard_normal((samples, FEATURES))
            y = X.sum(axis=1) + 0.1 * period + rng.standard_normal(samples)
            groups = (gathered + np.arange(samples)) // size
            if spoil:
                held = held_out_rows(gathered + samples, 0.1, (np.arange(gathered + samples) // size))[gathered:]
                y = np.where(held, 1e3, y)
            y = np.sign(y) if isinstance(tracker.snapshot()[0].spec.loss, LogisticLoss) else y
            tracker.tell(X, y, groups=groups if size > 1 else None, final=False)
            gathered += samples
        report = tracker.tell()
        assert report is not None
        reports.append(report)
    return reports


CASES: dict[str, dict[str, Any]] = {
    "batches": {},
    "one order": {"orders": 1},
    "two orders": {"orders": 2},
    "confidence": {"confidence": 0.9},
    "season": {"season": "quarter"},
    "candidates": {"l2": [0.0, 0.1]},
    "budget": {"budget": Budget(total=1500, horizon=8, cost=LinearCost(fixed=5))},
    "budget in batches": {"budget": Budget(total=1500, horizon=8, cost=LinearCost())},
    "groups": {"size": 4},
}


@pytest.mark.parametrize("case", CASES)
def test_rows_held_out_have_no_part_in_the_model_nor_in_orders(case: str) -> None:
    """Absurd targets of the rows held out change what is measured, and from the next period on the aim; nothing in the period."""
    given = dict(CASES[case])
    size = given.pop("size", 1)
    right, wrong = (Tracker(SquaredLoss(), epsilon=EPSILON, features=FEATURES, audit=0.1, rng=0, **given) for _ in "ab")
    first, second = follow(right, 1, size=size)[0], follow(wrong, 1, spoil=True, size=size)[0]
    assert right.coef.tolist() == wrong.coef.tolist()
    assert (first.samples, first.risk_bound, first.certificate) == (
        second.samples,
        second.risk_bound,
        second.certificate,
    )
    assert first.audit is not None
    assert second.audit is not None
    assert second.audit.mean > 100.0 > first.audit.mean


@pytest.mark.parametrize("case", CASES)
def test_every_period_with_an_order_is_measured(case: str, tmp_path: Path) -> None:
    given = dict(CASES[case])
    size = given.pop("size", 1)
    tracker = Tracker(SquaredLoss(), epsilon=EPSILON, features=FEATURES, audit=0.1, rng=0, **given)
    reports = follow(tracker, 4, size=size)
    tracker.save(tmp_path / "state.json")
    tracker = Tracker.load(tmp_path / "state.json")
    reports += follow(tracker, 4, size=size)
    bought = [report for report in reports if report.samples]
    last = reports[-1].audit
    assert last is not None
    if size == 1:
        assert all(report.samples >= 6 for report in bought)
        assert last.periods == len(bought)
        held = sum(int(held_out_rows(report.samples, 0.1).sum()) for report in bought)
        assert last.held_out == held
        assert f"on {held} held-out rows" in last.sentence
    else:
        assert last.periods >= len(bought) - 2, "a batch may have too few groups to measure anything"
    if "budget" in given:
        budget = given["budget"]
        paid = sum((budget.price(report.samples).amount for report in reports), Decimal(0))
        assert tracker.money_left is not None
        assert tracker.money_left.amount == 1500 - paid, "rows held out are paid"


def test_orders_are_larger_by_the_share_held_out() -> None:
    plain = Tracker(SquaredLoss(), epsilon=0.002, features=FEATURES, orders=1, rng=0)
    audited = Tracker(SquaredLoss(), epsilon=0.002, features=FEATURES, orders=1, audit=0.2, rng=0)
    assert (plain.ask().samples, audited.ask().samples) == (12, 15)
    assert audited.ask().reason.endswith("; 3 more are held out for the audit")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, FEATURES))
    y = X.sum(axis=1) + rng.standard_normal(15)
    held = held_out_rows(15, 0.2)
    plain.tell(X[~held], y[~held], final=False)
    audited.tell(X, y, final=False)
    fitted, total = plain.ask().samples, audited.ask().samples
    assert 15 + total - held_out_rows(15 + total, 0.2).sum() == 12 + fitted
    assert plain.ask().risk_bound == pytest.approx(audited.ask().risk_bound)


def test_a_pool_counts_the_rows_held_out() -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.001, features=FEATURES, audit=0.1, pool=40, rng=0)
    report = follow(tracker, 1)[0]
    assert report.samples == 39, "a fortieth row would be held out"
    assert not report.outcome.promised


def test_classes_are_audited_too() -> None:
    tracker = Tracker(LogisticLoss(l2=0.1), epsilon=EPSILON, features=FEATURES, audit=0.25, rng=0)
    last = follow(tracker, 5)[-1].audit
    assert last is not None
    assert last.periods == 5


def test_a_tracker_of_parts_holds_no_rows_out() -> None:
    with pytest.raises(ParameterError, match=r"Tracker\(audit=\.\.\.\) must be None when the tracker is made of parts"):
        Tracker(SquaredLoss(), epsilon=EPSILON, learner=Sgd(), audit=0.1)


def measured_and_true(seed: int, runs: int, audit: float) -> tuple[FloatArray, FloatArray]:
    """Return the measured and the true excess risks of runs of 12 periods of a walk that jumps in period 6."""
    measured, true = [], []
    for run in range(runs):
        population = ShapedRegression(features=FEATURES, cost=0.03, shape="walk", rng=1_000_003 * (seed + 1) + run)
        tracker = Tracker(SquaredLoss(), epsilon=EPSILON, features=FEATURES, audit=audit, rng=run)
        rng = np.random.default_rng([seed, run])
        for period in range(1, 13):
            now = population.period(period if period < 6 else period + 8)
            report = tracker.step(lambda count, now=now, rng=rng: now.draw(count, rng=rng))  # type: ignore[misc]
            if report.samples:
                assert report.audit is not None
                assert report.audit.measured is not None
                measured.append(report.audit.measured)
                true.append(now.excess_risk(SquaredLoss(), np.append(tracker.coef, tracker.intercept)))
    return np.array(measured), np.array(true)


@pytest.mark.statistical
def test_rows_held_out_measure_the_final_model_without_bias(monkeypatch: Any, seed: int) -> None:
    """Within 4.5 standard errors of 72 periods, so a right measure fails in a few of a hundred thousand suites.

    The control, which must fail: the rows that were fitted measure their own model, about 1.5 targets too low, at a standard error
    of 0.15.
    """
    measured, true = measured_and_true(seed, 6, 0.5)
    errors = measured - true
    assert abs(errors.mean()) < 4.5 * errors.std(ddof=1) / np.sqrt(len(errors))

    def with_fitted_rows(state: Any, after: Any, rows: Any, judged: Any, decision: Any, held_out: Any) -> Any:
        return audit_period(state, after, rows, judged, decision, rows)

    monkeypatch.setattr(adaptive_method, "audit_period", with_fitted_rows)
    measured, true = measured_and_true(seed, 6, 0.5)
    errors = measured - true
    assert errors.mean() < -4.5 * errors.std(ddof=1) / np.sqrt(len(errors))
