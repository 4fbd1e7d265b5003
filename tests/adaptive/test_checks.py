"""Every check can pass, warn and fail, and seldom speaks without a reason."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.adaptive import Supply, status
from driftpace.losses import LinearLoss
from driftpace.records import Verdict
from driftpace.synthetic import ShapedRegression
from driftpace.typing import FloatArray
from tests.reference.looks import first_look, make_rows, verdicts
from tests.reference.practical import drawer, follow

PASS, WARN, FAIL = Verdict.PASS, Verdict.WARN, Verdict.FAIL


def judged(X: FloatArray, y: FloatArray, name: str, supply: Supply | None = None) -> Verdict:
    rows = make_rows(X, y, intercept=True)
    pace, found = first_look(rows, intercept=True)
    one = verdicts(pace, rows, found, supply)[name]
    assert one.sentence.endswith(".")
    assert "\n" not in one.sentence
    return one.verdict


def plain(count: int, d: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    X = rng.standard_normal((count, d))
    return X, X.sum(axis=1) + rng.standard_normal(count)


@pytest.mark.parametrize(("own", "verdict"), [(1.0, PASS), (0.01, WARN), (1e-5, FAIL), (0.0, FAIL)])
def test_curvature_is_what_a_column_says_of_its_own(own: float, verdict: Verdict, rng: np.random.Generator) -> None:
    """A second column that is the first and ``own`` times something new: its square is what is left."""
    X, y = plain(200, 3, rng)
    X[:, 1] = X[:, 0] + own * X[:, 1]
    assert judged((X + 3.0) * [1e3, 1.0, 1e-3], y, "curvature") is verdict


def test_curvature_does_not_depend_on_units(rng: np.random.Generator) -> None:
    X, y = plain(200, 3, rng)
    assert judged(X * [1e6, 1.0, 1e-6], y, "curvature") is PASS


def test_tails_are_judged_by_the_largest_row(rng: np.random.Generator) -> None:
    X, y = plain(400, 3, rng)
    assert judged(X, y, "tails") is PASS
    found = []
    for size in (1.0, 12.0, 20.0, 40.0, 200.0, 1e6):
        wild = y.copy()
        wild[17] += size
        found.append(judged(X, wild, "tails"))
    assert found == sorted(found, key=[PASS, WARN, FAIL].index)
    assert {PASS, WARN, FAIL} == set(found)


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
def test_tails_without_a_variance_are_seen(rng: np.random.Generator) -> None:
    """Student t with 1.5 degrees of freedom: seen in most batches of 300 rows; Gaussian noise in hardly any."""
    wild, tame = 0, 0
    for _ in range(60):
        X = rng.standard_normal((300, 3))
        wild += judged(X, rng.standard_t(1.5, 300), "tails") is not PASS
        tame += judged(X, rng.standard_normal(300), "tails") is not PASS
    assert wild >= 45
    assert tame <= binom.ppf(1.0 - 1e-6, 60, 0.01)


def test_rows_in_order_are_not_exchangeable(rng: np.random.Generator) -> None:
    """Sorted by their noise, they fail; shuffled, they pass; a shift between the halves warns before it fails."""
    X, y = plain(200, 3, rng)
    order = np.argsort(y - X.sum(axis=1))
    assert judged(X[order], y[order], "exchangeable rows") is FAIL
    shuffled = rng.permutation(order)
    assert judged(X[shuffled], y[shuffled], "exchangeable rows") is PASS
    found = []
    for shift in np.linspace(0.0, 1.5, 31):
        moved = y - X.sum(axis=1)
        moved = moved - np.where(np.arange(200) < 100, moved[:100].mean(), moved[100:].mean())
        found.append(judged(X, X.sum(axis=1) + moved + shift * (np.arange(200) < 100), "exchangeable rows"))
    assert list(dict.fromkeys(found)) == [PASS, WARN, FAIL]
    assert judged(X[:10], y[:10], "exchangeable rows") is PASS


@pytest.mark.statistical
def test_order_is_seldom_doubted_for_nothing(rng: np.random.Generator) -> None:
    """A warning in a hundred, a failure in ten thousand, whatever the order of exchangeable rows."""
    runs, warned, failed = 600, 0, 0
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
    assert {one.name: one.verdict for one in report.assumptions}["enough rows"] is PASS


def test_the_pool_fails_when_it_is_empty_and_more_was_needed(rng: np.random.Generator) -> None:
    X, y = plain(50, 3, rng)
    empty = Supply(gathered=50, missing=7, exhausted=True)
    assert judged(X, y, "pool", empty) is FAIL
    assert judged(X, y, "pool", Supply(gathered=50, missing=7, exhausted=False)) is PASS
    assert judged(X, y, "pool", Supply(gathered=50, missing=0, exhausted=True)) is PASS


@pytest.mark.parametrize(("cost", "verdict"), [(0.0, PASS), (5.0, WARN)])
def test_drift_that_leaves_nothing_of_the_last_model_is_said(cost: float, verdict: Verdict) -> None:
    """A step of a hundred times the target, from the third period on."""
    world = ShapedRegression(features=3, cost=cost, shape="walk", rng=0)
    tracker, rng = Tracker(SquaredLoss(), epsilon=0.05, rng=0), np.random.default_rng(0)
    for period in range(1, 5):
        report = tracker.step(drawer(world.period(period), rng))
        found = {one.name: one.verdict for one in report.assumptions}["slow drift"]
        if period == 1:
            assert found is PASS
    assert found is verdict


def test_a_first_period_is_stable_for_want_of_a_past(rng: np.random.Generator) -> None:
    _, found = first_look(make_rows(*plain(40, 3, rng)))
    assert status(found) == "stable"


@pytest.mark.statistical
def test_a_still_world_is_called_stable(seed: int) -> None:
    """At most one period in twenty is a warning or worse, one in a hundred a drift; runs are clusters."""
    runs, periods = 25, 16
    found = follow(
        lambda run: ShapedRegression(features=3, cost=0.0, shape="still", rng=1_000_003 * seed + run),
        features=3,
        runs=runs,
        periods=periods,
        seed=seed,
    )
    loud = found.status[:, 1:] != "stable"
    drift = found.status[:, 1:] == "drift"
    for said, level in ((loud, 0.05), (drift, 0.01)):
        error = max(said.mean(axis=1).std(ddof=1), np.sqrt(level / (periods - 1))) / np.sqrt(runs)
        assert said.mean() <= level + 3.0 * error
