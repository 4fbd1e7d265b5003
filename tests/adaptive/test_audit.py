import math

import numpy as np
import pytest

from driftpace import SquaredLoss, Tracker
from driftpace.adaptive.audit import (
    GOAL,
    LEAST_AIM,
    MOST_AIM,
    AuditState,
    Measured,
    audit_of,
    audit_rows,
    mean_product,
    with_measured_risk,
)
from driftpace.adaptive.rows import number_groups
from driftpace.typing import FloatArray


def gradients(runs: int, rows: int, error: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return gradients of rows of a regression in whitened coordinates, at a model that is off by ``error``."""
    Z = rng.standard_normal((runs, rows, error.size))
    slopes = Z @ error - rng.standard_normal((runs, rows))
    return np.asarray(Z * slopes[:, :, None])


def test_products_of_gradients_measure_the_excess_risk_without_bias(seed: int) -> None:
    """Within 4.5 standard errors of 20,000 runs, so a right estimate fails in 7 of a million; pairs with i = j must fail."""
    rng, error = np.random.default_rng(seed), np.array([0.3, -0.1, 0.0, 0.2])
    drawn = gradients(20_000, 12, error, rng)
    truth = 0.5 * float(error @ error)
    estimates = [mean_product(one, 1.0) for one in drawn]
    measured = np.array([one.excess for one in estimates if one is not None])
    standard_error = measured.std(ddof=1) / math.sqrt(len(measured))
    assert abs(measured.mean() - truth) < 4.5 * standard_error
    naive = 0.5 * np.square(drawn.mean(axis=1)).sum(axis=1)
    assert naive.mean() - truth > 4.5 * naive.std(ddof=1) / math.sqrt(len(naive))


@pytest.mark.parametrize("rows", [6, 12, 60])
@pytest.mark.parametrize("size", [0.0, 0.2, 1.0])
def test_the_variance_of_a_measurement_is_stated(rows: int, size: float, seed: int) -> None:
    """Never under 0.9 of it; at most 1.5 times, of six rows 2.5. 4,000 runs know both within 8 % (two standard errors)."""
    rng, error = np.random.default_rng(seed), size * np.array([1.0, 0.5, -0.5])
    estimates = [mean_product(one, 1.0) for one in gradients(4_000, rows, error, rng)]
    excess = np.array([one.excess for one in estimates if one is not None])
    stated = np.mean([one.variance for one in estimates if one is not None])
    assert 0.9 * excess.var(ddof=1) <= stated <= (2.5 if rows < 10 else 1.5) * excess.var(ddof=1)


def test_fewer_than_three_rows_measure_nothing() -> None:
    assert mean_product(np.ones((2, 3)), 1.0) is None


@pytest.mark.parametrize(("count", "size", "decided"), [(0, 3, 0), (10, 3, 10), (30, 3, 12), (30, 3, 0), (7, 20, 7)])
def test_rows_of_the_audit_had_no_part_in_decisions(count: int, size: int, decided: int) -> None:
    kept = audit_rows(count, size, decided)
    assert kept[decided:].all()
    assert not kept[: min(size, decided)].any()
    seen = ~kept[:decided]
    assert seen.sum() >= min(decided, size + 2 * (decided - size) // 3 - 1)


def followed(truth: float, noise: float, periods: int, rng: np.random.Generator) -> AuditState:
    """Return the audit after periods of a constant true ratio of the risk to its aim."""
    state = AuditState()
    for _ in range(periods):
        excess = truth * state.aim + noise * rng.standard_normal()
        measured = Measured(excess=excess, variance=noise**2, expected_variance=noise**2)
        state = with_measured_risk(state, measured, 1.0, 1.0)
    return state


@pytest.mark.parametrize("truth", [0.6, 1.1, 1.4])
def test_feedback_brings_the_measured_mean_to_the_goal(truth: float, seed: int) -> None:
    """A bank that is wrong by up to 1.6 is corrected; the last aim is known within 0.15 (four of its standard deviations)."""
    state = followed(truth, 0.5, 1_500, np.random.default_rng(seed))
    assert truth * state.aim == pytest.approx(GOAL, abs=0.15)
    assert abs(truth * 1.0 - GOAL) > 0.14, "without feedback it would not be there"


def test_the_correction_has_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert followed(20.0, 0.1, 400, rng).aim == pytest.approx(LEAST_AIM)
    assert followed(0.01, 0.1, 400, rng).aim == pytest.approx(MOST_AIM)


def test_the_interval_is_valid_at_every_period_at_once(seed: int) -> None:
    """Of 400 runs of 200 periods at most 33 may miss (level 0.95: one suite in 500 has more); two standard errors must fail."""
    rng, misses, naive = np.random.default_rng(seed), 0, 0
    for _ in range(400):
        state, missed, crossed = AuditState(), False, False
        for period in range(200):
            excess = 1.0 + 2.0 * rng.standard_normal()
            state = with_measured_risk(state, Measured(excess=excess, variance=4.0, expected_variance=4.0), 1.0, 1.0)
            if period < 5:
                continue
            audit = audit_of(state, None, 1.0)
            assert audit is not None
            missed |= not audit.interval[0] <= 1.0 <= audit.interval[1]
            crossed |= abs(state.total / state.weight - 1.0) > 2.0 * 2.0 / math.sqrt(period + 1)
        misses, naive = misses + missed, naive + crossed
    assert misses <= 33
    assert naive > 33


def test_a_report_has_what_was_measured() -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(SquaredLoss(), epsilon=0.05, features=3, rng=0)

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((count, 3))
        return X, X.sum(axis=1) + rng.standard_normal(count)

    audits = [tracker.step(draw).audit for _ in range(20)]
    assert audits[:2] == [None, None]
    last = audits[-1]
    assert last is not None
    assert 3 < last.periods <= last.all_periods < 20
    assert last.interval[0] <= last.mean + 4 * last.mean_error
    assert "promised" in last.sentence
    assert f"over {last.periods} periods" in last.sentence


@pytest.mark.statistical
def test_pairs_within_a_group_do_not_count(seed: int) -> None:
    """Unbiased within 4.5 standard errors of 8,000 runs where rows of a group share noise; pairs of all rows must fail."""
    rng, error, groups = (
        np.random.default_rng(seed),
        np.array([0.3, -0.1, 0.2]),
        np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 0]),
    )
    truth = 0.5 * float(error @ error)
    measured, naive, stated = [], [], []
    for _ in range(8_000):
        Z = rng.standard_normal((10, 3))
        Z[:, 0] = 1.0
        noise = 0.8 * rng.standard_normal(5)[groups] + 0.6 * rng.standard_normal(10)
        drawn = Z * (Z @ error - noise)[:, None]
        one, all_rows = mean_product(drawn, 1.0, groups), mean_product(drawn, 1.0)
        assert one is not None
        assert all_rows is not None
        measured.append(one.excess)
        stated.append(one.variance)
        naive.append(all_rows.excess)
    standard_error = np.std(measured, ddof=1) / math.sqrt(8_000)
    assert abs(np.mean(measured) - truth) < 4.5 * standard_error
    assert np.mean(naive) - truth > 4.5 * np.std(naive, ddof=1) / math.sqrt(8_000)
    assert 0.9 * np.var(measured, ddof=1) <= np.mean(stated) <= 2.5 * np.var(measured, ddof=1)
    assert mean_product(drawn, 1.0, np.arange(10) // 5) is None, "two groups have one pair"


def test_groups_of_one_row_are_rows(seed: int) -> None:
    drawn = gradients(1, 12, np.array([0.3, 0.1]), np.random.default_rng(seed))[0]
    assert mean_product(drawn, 1.0) == mean_product(drawn, 1.0, np.arange(12))


def test_whole_groups_are_kept_from_decisions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        groups = number_groups(rng.integers(0, 12, 40))
        assert groups is not None
        decided = int(rng.integers(0, 41))
        kept = audit_rows(40, 5, decided, groups)
        for group in range(groups.max() + 1):
            assert len(set(kept[groups == group].tolist())) == 1
        assert not kept[: min(5, decided)].any()
        assert not set(groups[:decided][~kept[:decided]]) & set(groups[kept])
    assert audit_rows(12, 2, 12, np.arange(12) // 2).tolist() == [False] * 4 + [True] * 2 + [False] * 4 + [True] * 2
