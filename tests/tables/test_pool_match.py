"""Rows against their pool: false alarms, power, weighted draws, and what is said."""

from collections.abc import Callable

import numpy as np
import pytest

from driftpace.adaptive import draw_by_rate
from driftpace.tables.pool_match import DeliveredRows, evidence, find_mismatch
from driftpace.tables.pool_mismatch import PoolMismatch
from driftpace.tables.pool_profile import PoolProfile
from driftpace.typing import FloatArray

NAMES = ("age", "income", "city=Rome", "children", "savings", "vip")


def make_pool(rng: np.random.Generator, rows: int = 1500) -> FloatArray:
    """Return correlated columns: normal, skewed, 0/1, small counts, many zeros, rare."""
    X = rng.standard_normal((rows, 6)) @ (np.eye(6) + 0.3 * rng.standard_normal((6, 6)))
    X[:, 1] = np.exp(X[:, 1])
    X[:, 2] = X[:, 2] > 1.0
    X[:, 3] = np.round(np.abs(X[:, 3]))
    X[:, 4] = np.maximum(X[:, 4], 0.0)
    X[:, 5] = rng.random(rows) < 0.01
    return X


def stakes(parts: list[DeliveredRows]) -> float:
    """Return the stake of the test, which has mean 1 at most where rows look like their pool."""
    ranks, spreads, joint = evidence(parts)
    each = np.exp(ranks) + np.exp(spreads)
    return float(0.5 * np.exp(joint) + 0.5 * each[np.isfinite(np.log(np.maximum(each, 1e-300)))].mean())


Draw = Callable[[np.random.Generator, FloatArray, PoolProfile], list[DeliveredRows]]


def random_rows(rng: np.random.Generator, X: FloatArray, profile: PoolProfile) -> list[DeliveredRows]:
    places = rng.permutation(len(X))[:80]
    return [DeliveredRows(X=X[part], profile=profile) for part in np.split(places, [10, 40])]


def sorted_rows(rng: np.random.Generator, X: FloatArray, profile: PoolProfile) -> list[DeliveredRows]:
    rows = X[rng.permutation(len(X))[:80]]
    return [DeliveredRows(X=rows[np.argsort(rows[:, 0])], profile=profile)]


def informative_rows(rng: np.random.Generator, X: FloatArray, profile: PoolProfile) -> list[DeliveredRows]:
    places, weights = draw_by_rate(np.exp(X[:, 0] + X[:, 2]), 80, rng)
    return [DeliveredRows(X=X[places], profile=profile, weights=weights)]


def without_weights(rng: np.random.Generator, X: FloatArray, profile: PoolProfile) -> list[DeliveredRows]:
    places, _ = draw_by_rate(np.exp(X[:, 0] + X[:, 2]), 80, rng)
    return [DeliveredRows(X=X[places], profile=profile)]


def rows_from_elsewhere(rng: np.random.Generator, X: FloatArray, profile: PoolProfile) -> list[DeliveredRows]:
    return [DeliveredRows(X=X[750:], profile=PoolProfile.of_rows(X[:750], NAMES), members=False)]


def shifted(rng: np.random.Generator, X: FloatArray, profile: PoolProfile) -> list[DeliveredRows]:
    rates = np.exp(X[:, 0] / X[:, 0].std())
    return [DeliveredRows(X=X[rng.choice(len(X), 80, replace=False, p=rates / rates.sum())], profile=profile)]


@pytest.mark.parametrize("draw", [random_rows, sorted_rows, informative_rows, rows_from_elsewhere])
def test_rows_drawn_at_random_are_hardly_ever_said_to_differ(draw: Draw) -> None:
    """At level 10 %, 300 runs: a true rate of 10 % gives more than 46 alarms with probability 0.1 %."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        X = make_pool(rng)
        found.append(stakes(draw(rng, X, PoolProfile.of_rows(X, NAMES))))
    assert sum(stake >= 10.0 for stake in found) <= 46
    assert sum(stake >= 100.0 for stake in found) <= 2  # more than 2 at 0.1 %: probability 0.4 %


@pytest.mark.parametrize("draw", [shifted, without_weights])
def test_rows_that_were_selected_are_said_to_differ(draw: Draw) -> None:
    """A shift of one standard deviation in one column of six, 80 rows; informative rows whose weights are ignored."""
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(60):
        X = make_pool(rng)
        found += find_mismatch(draw(rng, X, PoolProfile.of_rows(X, NAMES))) is not None
    assert found >= 45


def test_many_small_shifts_are_found_together() -> None:
    rng = np.random.default_rng(2)
    pool = rng.standard_normal((20_000, 30))
    profile = PoolProfile.of_rows(pool, tuple(f"x{place}" for place in range(30)))
    rows = rng.standard_normal((400, 30)) + 0.15  # 0.15 standard deviations each, which is 3 standard errors of a mean
    ranks, spreads, joint = evidence([DeliveredRows(X=rows, profile=profile)])
    assert np.logaddexp(ranks, spreads).max() < np.log(100.0 * 60) < joint


def test_what_is_said() -> None:
    rng = np.random.default_rng(3)
    pool = np.column_stack([rng.normal(40.0, 10.0, 4000), rng.random(4000) < 0.25, rng.normal(0.0, 1.0, 4000)])
    profile = PoolProfile.of_rows(pool, ("age", "city=Rome", "score"))
    part = pool[(pool[:, 0] < 40.0) & ((pool[:, 1] == 0.0) | (rng.random(4000) < 0.1)) & (np.abs(pool[:, 2]) < 0.5)]
    found = find_mismatch([DeliveredRows(X=part[:100], profile=profile)])
    assert found is not None
    assert {(one.column, one.statistic) for one in found.columns} == {
        ("age", "median"),
        ("city=Rome", "share"),
        ("score", "spread"),
    }
    assert found.sentence.startswith("the 100 rows of the period do not look like the pool they were drawn from (")
    assert f"city=Rome: {100.0 * pool[:, 1].mean():.3g} % of the pool" in found.sentence
    assert PoolMismatch.of(found.to_values()) == found


def test_profiles_are_exact_for_ties_and_constants() -> None:
    X = np.column_stack([np.repeat([0.0, 7.0], [90, 10]), np.full(100, 3.0), np.arange(100.0)])
    profile = PoolProfile.of_rows(X, ("zeros", "constant", "x"))
    zeros, constant, x = profile.columns
    assert (zeros.edges, zeros.counts) == ((0.0,), (90, 10))
    assert not zeros.is_share
    assert constant.constant
    assert all(abs(column.shares @ column.ridits) < 1e-12 for column in (zeros, x))
    assert x.quantile(0.5) == 49.0
    assert PoolProfile.of(profile.to_values()) == profile
    rows, shared = profile.aligned(np.ones((2, 2)), ("x", "other"))
    assert (shared.names, rows.shape) == (("x",), (2, 1))
    assert profile.aligned(np.ones((2, 2)), None)[1].columns == ()
