"""Weights that make rows look like their pool: means, effective rows, refusals, and the promise of a tracker."""

import numpy as np
import pytest

from driftpace import SquaredLoss, Tracker
from driftpace.errors import DataError
from driftpace.tables.balance import balance
from driftpace.tables.pool_profile import PoolProfile
from driftpace.tracker.method import TellEvent
from driftpace.typing import FloatArray

EPSILON = 0.05
NAMES = ("a", "b", "c")


def test_means_and_spread_are_those_of_the_pool() -> None:
    rng = np.random.default_rng(0)
    pool = rng.standard_normal((4000, 2))
    rows = pool[rng.random(4000) < 0.2 / (1.0 + np.exp(-1.5 * pool[:, 0]))]
    profile = PoolProfile.of_rows(pool, ("a", "b"))
    made = balance(rows, [(profile, 1.0)], owner="tell")
    assert made.weights.mean() == pytest.approx(1.0)
    assert made.effective == pytest.approx(made.weights.sum() ** 2 / (made.weights**2).sum())
    assert np.average(rows, axis=0, weights=made.weights) == pytest.approx(pool.mean(axis=0), abs=0.01)
    spread = profile.columns[0].spreads[profile.columns[0].intervals(rows[:, 0])]
    assert np.average(spread, weights=made.weights) == pytest.approx(0.0, abs=0.01)
    assert abs(rows[:, 0].mean()) > 0.4


def test_the_weights_of_a_draw_are_where_balancing_starts() -> None:
    rng = np.random.default_rng(1)
    pool = rng.standard_normal((4000, 2))
    rows, base = pool[:20], rng.uniform(0.5, 2.0, 20)
    made = balance(rows, [(PoolProfile.of_rows(pool, ("a", "b")), 1.0)], base, owner="tell")
    design = np.column_stack([np.ones(20), rows])  # 20 rows are too few to balance the spread too
    assert np.linalg.lstsq(design, np.log(made.weights / base), rcond=None)[1] == pytest.approx(0.0, abs=1e-12)


def test_two_pools_have_the_means_of_their_mixture() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.standard_normal((2000, 1)), 1.0 + rng.standard_normal((2000, 1))
    profiles = [(PoolProfile.of_rows(pool, ("a",)), 1.0) for pool in (first, second)]
    made = balance(np.concatenate([first[:150], second[:50]]), profiles, owner="tell")
    assert np.average(np.concatenate([first[:150], second[:50]])[:, 0], weights=made.weights) == pytest.approx(
        0.5, abs=0.05
    )


def test_rows_on_one_side_are_refused_by_name() -> None:
    pool = np.column_stack([np.arange(100.0), np.arange(100) % 2])
    profile = PoolProfile.of_rows(pool, ("age", "city=Rome"))
    with pytest.raises(DataError, match=r"balance.*all rows have age above 49.5, the pool's mean"):
        balance(pool[60:], [(profile, 1.0)], owner="tell")
    with pytest.raises(DataError, match=r"no row has city=Rome, and 50 % of the pool"):
        balance(pool[::2], [(profile, 1.0)], owner="tell")


def test_too_few_effective_rows_are_refused() -> None:
    rng = np.random.default_rng(3)
    pool = rng.standard_normal((4000, 1))
    rows = np.concatenate([pool[pool[:, 0] > 1.0][:60], pool[pool[:, 0] < 0.0][:2]])
    with pytest.raises(DataError, match=r"the 62 rows count for \d+\.\d when .* 25 % are required"):
        balance(rows, [(PoolProfile.of_rows(pool, ("a",)), 1.0)], owner="tell")


def run(how: str, seed: int, periods: int = 4) -> float:
    """Return the mean excess loss, relative to the target, of a line fitted to a curve on rows that were selected by a column."""
    rng, risks = np.random.default_rng(seed), []
    tracker = Tracker(SquaredLoss(), epsilon=EPSILON, rng=seed)
    for period in range(periods):
        X = rng.standard_normal((3000, 3))
        curve = X @ np.array([1.0, 0.5 + 0.1 * period, -0.5]) + 0.5 * X[:, 0] ** 2
        y = curve + rng.standard_normal(len(X))
        profile, design = PoolProfile.of_rows(X, NAMES), np.column_stack([X, np.ones(len(X))])
        rates = 1.0 / (1.0 + np.exp(-1.5 * X[:, 0]))
        told: list[FloatArray] = []
        samples = tracker.ask().samples
        while samples:
            places = rng.choice(len(X), samples, replace=False, p=rates / rates.sum())
            told.append(X[places])
            event = TellEvent(X=X[places], y=y[places])
            if how == "balanced":
                event = balanced(event, np.concatenate(told), profile)
            tracker = Tracker.from_snapshot(
                tracker.snapshot()[0], tracker.snapshot()[0].gather(tracker.snapshot()[1], event)
            )
            samples = tracker.ask().samples
        tracker.tell()
        best = np.linalg.lstsq(design, curve, rcond=None)[0]
        error = np.append(tracker.coef, tracker.intercept) - best
        risks.append(0.5 * error @ (design.T @ design / len(X)) @ error)
    return float(np.mean(risks)) / EPSILON


def balanced(event: TellEvent, every: FloatArray, profile: PoolProfile) -> TellEvent:
    try:
        weights = balance(every, [(profile, 1.0)], owner="tell").weights
    except DataError:  # the first rows of a period may be too few
        return event
    before = len(every) - len(event.y)
    earlier = weights[:before] if before else None
    return TellEvent(X=event.X, y=event.y, weights=weights[before:], earlier_weights=earlier)


def test_a_balanced_period_keeps_the_promise_where_selected_rows_break_it() -> None:
    """A curve and a line: selected rows have 4.8 targets of risk, balanced ones 0.8 (standard error 0.1 with 20 runs).

    12 runs: the balanced mean would exceed 1.3 with probability below 0.1 %; the control must exceed 2.
    """
    assert np.mean([run("balanced", seed) for seed in range(12)]) < 1.3
    assert np.mean([run("selected", seed) for seed in range(6)]) > 2.0
