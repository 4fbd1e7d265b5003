"""Every check can pass, warn and fail, and seldom speaks without a reason."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.adaptive import AdaptiveConfig, Supply, advance, judge, status
from driftpace.losses import LinearLoss
from driftpace.records import Verdict
from driftpace.synthetic import Shape, ShapedRegression
from driftpace.typing import FloatArray
from tests.reference.looks import first_look, make_rows, verdicts
from tests.reference.practical import drawer, follow

JUMP_AT = 6
PASS, WARN, FAIL = Verdict.PASS, Verdict.WARN, Verdict.FAIL


def judged(X: FloatArray, y: FloatArray, name: str, supply: Supply | None = None) -> Verdict:
    rows = make_rows(X, y, intercept=True)
    pace, look = first_look(rows, intercept=True)
    result = verdicts(pace, rows, look, supply)[name]
    assert result.sentence.endswith(".")
    assert "\n" not in result.sentence
    return result.verdict


def plain(count: int, d: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    X = rng.standard_normal((count, d))
    return X, X.sum(axis=1) + rng.standard_normal(count)


@pytest.mark.parametrize(("share", "verdict"), [(1.0, PASS), (0.01, WARN), (1e-5, FAIL), (0.0, FAIL)])
def test_curvature_is_the_independent_part_of_a_column(
    share: float, verdict: Verdict, rng: np.random.Generator
) -> None:
    """A second column that is the first and ``share`` times something new: its square is what is left."""
    X, y = plain(200, 3, rng)
    X[:, 1] = X[:, 0] + share * X[:, 1]
    assert judged((X + 3.0) * [1e3, 1.0, 1e-3], y, "curvature") is verdict


def test_curvature_does_not_depend_on_units(rng: np.random.Generator) -> None:
    X, y = plain(200, 3, rng)
    assert judged(X * [1e6, 1.0, 1e-6], y, "curvature") is PASS


def test_tails_are_judged_by_the_largest_row(rng: np.random.Generator) -> None:
    X, y = plain(400, 3, rng)
    assert judged(X, y, "tails") is PASS
    results = []
    for size in (1.0, 12.0, 20.0, 40.0, 200.0, 1e6):
        wild = y.copy()
        wild[17] += size
        results.append(judged(X, wild, "tails"))
    assert results == sorted(results, key=[PASS, WARN, FAIL].index)
    assert {PASS, WARN, FAIL} == set(results)


@pytest.mark.parametrize(("loss", "advised"), [(SquaredLoss(), True), (LogisticLoss(l2=0.1), False)])
def test_a_huber_loss_is_advised_for_numbers_only(loss: LinearLoss, advised: bool, rng: np.random.Generator) -> None:
    """For two classes a Huber loss makes no sense: the advice is to check the row."""
    X, y = plain(400, 3, rng)
    rows = make_rows(X, y if advised else np.sign(y), loss=loss)
    state, known = first_look(rows)
    assert known.fit is not None
    tails = verdicts(state, rows, replace(known, fit=replace(known.fit, largest=0.9)))["tails"]
    assert tails.verdict is FAIL
    assert ("HuberLoss" in tails.sentence) == advised


@pytest.mark.statistical
def test_tails_without_a_variance_are_detected(rng: np.random.Generator) -> None:
    """Student t with 1.5 degrees of freedom: seen in most batches of 300 rows; Gaussian noise in hardly any.

    Error budget: a binomial quantile at 0.01, 1e-6; 0.825 of wild batches are detected, so fewer than 150 of 200 have a
    chance of 0.003.
    """
    wild, tame = 0, 0
    for _ in range(200):
        X = rng.standard_normal((300, 3))
        wild += judged(X, rng.standard_t(1.5, 300), "tails") is not PASS
        tame += judged(X, rng.standard_normal(300), "tails") is not PASS
    assert wild >= 150
    assert tame <= binom.ppf(1.0 - 1e-6, 200, 0.01)


def test_rows_in_order_are_not_exchangeable(rng: np.random.Generator) -> None:
    """Sorted by their noise, they fail; shuffled, they pass; a shift between the halves warns before it fails."""
    X, y = plain(200, 3, rng)
    order = np.argsort(y - X.sum(axis=1))
    assert judged(X[order], y[order], "exchangeable rows") is FAIL
    shuffled = rng.permutation(order)
    assert judged(X[shuffled], y[shuffled], "exchangeable rows") is PASS
    results = []
    for shift in np.linspace(0.0, 1.5, 31):
        moved = y - X.sum(axis=1)
        moved = moved - np.where(np.arange(200) < 100, moved[:100].mean(), moved[100:].mean())
        results.append(judged(X, X.sum(axis=1) + moved + shift * (np.arange(200) < 100), "exchangeable rows"))
    assert list(dict.fromkeys(results)) == [PASS, WARN, FAIL]
    assert judged(X[:10], y[:10], "exchangeable rows") is PASS


@pytest.mark.statistical
@pytest.mark.parametrize("runs", [150, pytest.param(600, marks=pytest.mark.slow)])
def test_exchangeable_rows_are_seldom_doubted(runs: int, rng: np.random.Generator) -> None:
    """A warning in a hundred, a failure in ten thousand, whatever the order of exchangeable rows.

    Error budget: two binomial quantiles, at most 2 x 1e-6. Rows in order, which must fail, are the test above.
    """
    warned, failed = 0, 0
    for run in range(runs):
        rows, d = ((30, 2), (60, 4), (200, 10))[run % 3]
        verdict = judged(*plain(rows, d, rng), "exchangeable rows")
        warned, failed = warned + (verdict is not PASS), failed + (verdict is FAIL)
    assert warned <= binom.ppf(1.0 - 1e-6, runs, 0.01)
    assert failed <= binom.ppf(1.0 - 1e-6, runs, 1e-4)


@pytest.mark.parametrize(("count", "verdict"), [(15, FAIL), (30, WARN), (60, PASS)])
def test_rows_are_counted_for_each_coefficient(count: int, verdict: Verdict, rng: np.random.Generator) -> None:
    assert judged(*plain(count, 4, rng), "enough rows") is verdict


def test_rows_of_earlier_periods_count(rng: np.random.Generator) -> None:
    tracker = Tracker(LogisticLoss(), epsilon=0.2, rng=0)
    for _ in range(3):
        tracker.ask()
        X = rng.standard_normal((30, 4))
        report = tracker.tell(X, X[:, 0] + rng.standard_normal(30) > 0.0)
    assert report is not None
    assert {assumption.name: assumption.verdict for assumption in report.assumptions}["enough rows"] is PASS


def test_the_pool_fails_when_it_is_empty_and_more_was_needed(rng: np.random.Generator) -> None:
    X, y = plain(50, 3, rng)
    empty = Supply(gathered=50, missing=7, exhausted=True)
    assert judged(X, y, "pool", empty) is FAIL
    assert judged(X, y, "pool", Supply(gathered=50, missing=7, exhausted=False)) is PASS
    assert judged(X, y, "pool", Supply(gathered=50, missing=0, exhausted=True)) is PASS


@pytest.mark.parametrize(("cost", "verdict"), [(0.0, PASS), (5.0, WARN)])
def test_drift_that_makes_the_last_model_useless_is_reported(cost: float, verdict: Verdict) -> None:
    """A step of a hundred times the target, from the third period on."""
    world = ShapedRegression(features=3, cost=cost, shape="walk", rng=0)
    tracker, rng = Tracker(SquaredLoss(), epsilon=0.05, rng=0), np.random.default_rng(0)
    for period in range(1, 5):
        report = tracker.step(drawer(world.period(period), rng))
        slow_drift = {assumption.name: assumption.verdict for assumption in report.assumptions}["slow drift"]
        if period == 1:
            assert slow_drift is PASS
    assert slow_drift is verdict


def test_a_first_period_is_stable_for_want_of_a_past(rng: np.random.Generator) -> None:
    _, look = first_look(make_rows(*plain(40, 3, rng)))
    assert status(look) == "stable"


@pytest.mark.statistical
@pytest.mark.parametrize(("runs", "periods"), [(10, 11), pytest.param(25, 16, marks=pytest.mark.slow)])
def test_a_stationary_world_is_called_stable(runs: int, periods: int, seed: int) -> None:
    """At most one period in twenty is a warning or worse, one in a hundred a drift; runs are clusters.

    Error budget: three standard errors over runs on two shares, at most 2 x 0.0075 with ten runs and 2 x 0.0031 with 25
    (Student t) if a share were at its limit. The control: a jump of forty targets is a drift (missed
    with a chance of at most 0.05 in each of three runs).
    """

    def called(cost: float, shape: Shape, runs: int) -> Any:
        study = follow(
            lambda run: ShapedRegression(
                features=3, cost=cost, shape=shape, jump_at=JUMP_AT, rng=1_000_003 * seed + run
            ),
            features=3,
            runs=runs,
            periods=periods,
            seed=seed,
        )
        return study.status[:, 1:]

    statuses = called(0.0, "still", runs)
    for share, level in ((statuses != "stable", 0.05), (statuses == "drift", 0.01)):
        error = max(share.mean(axis=1).std(ddof=1), np.sqrt(level / (periods - 1))) / np.sqrt(runs)
        assert share.mean() <= level + 3.0 * error
    assert (called(2.0, "jump", 3)[:, JUMP_AT - 2] == "drift").any()


@pytest.mark.statistical
def test_a_column_that_begins_to_vary_is_not_an_order_of_rows(rng: np.random.Generator) -> None:
    """Constant in earlier periods, it has no noise there, so the gap between halves is judged by the noise of this period.

    At most 1 % of 300 looks are doubted (binomial quantile, 1e-6). The noise of earlier periods alone, the control, doubts more.
    """
    doubted, control = 0, 0
    config, size = AdaptiveConfig(epsilon=0.05), 4
    for _ in range(300):
        X = rng.standard_normal((60, 3))
        X[:, 2] = 0.0
        rows = make_rows(X, X.sum(axis=1) + rng.standard_normal(60), intercept=True)
        state, first = first_look(rows, intercept=True)
        state = advance(config, state, rows, first)
        later = rng.standard_normal((30, 3))
        rows = make_rows(later, later.sum(axis=1) + rng.standard_normal(30), intercept=True)
        look = judge(config, state, rows)
        doubted += verdicts(state, rows, look)["exchangeable rows"].verdict is not PASS
        assert look.fit is not None
        gap = (look.fit.slopes * np.repeat([1.0, -1.0], 15)) @ look.coordinates.white_rows(rows.X) / 15
        old, count = state.memory.kept_scores
        noise = np.diag(look.coordinates.white_matrix(old)) / count
        control += float((gap**2 / (noise * 2 / 15)).max()) > chi2.ppf(1.0 - 0.01 / size, 1)
    assert doubted <= binom.ppf(1.0 - 1e-6, 300, 0.01)
    assert control > binom.ppf(1.0 - 1e-6, 300, 0.01)
