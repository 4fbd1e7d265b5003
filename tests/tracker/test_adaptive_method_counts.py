"""The default method for counts, amounts and quantiles: the promise, the stated risk, exposures, and hard first rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from driftpace import Budget, GammaLoss, HuberLoss, PoissonLoss, QuantileLoss, Tracker, TweedieLoss
from driftpace.adaptive import residual_scale
from driftpace.errors import DataError
from driftpace.losses import LinearLoss, LogLinkLoss, quantile
from driftpace.records import Outcome
from driftpace.synthetic import AmountKind, Shape, ShapedCounts, ShapedRegression
from driftpace.typing import FloatArray

World = ShapedCounts | ShapedRegression


def world(loss: LinearLoss, features: int, shape: Shape, rng: int, cost: float) -> World:
    """Return a world whose steps cost ``cost``: counts that vary more than Poisson counts, or Student's noise."""
    if isinstance(loss, LogLinkLoss):
        kind: AmountKind = (
            "amount" if isinstance(loss, GammaLoss) else "compound" if isinstance(loss, TweedieLoss) else "count"
        )
        dispersion = 0.0 if kind == "compound" else 0.5
        return ShapedCounts(
            features=features, cost=cost, shape=shape, rng=rng, kind=kind, dispersion=dispersion, loss=loss, jump_at=8
        )
    return ShapedRegression(
        features=features, cost=cost, shape=shape, rng=rng, noise_kind="student", intercept=True, jump_at=8
    )


def run(loss: LinearLoss, made: World, epsilon: float, periods: int, seed: int) -> FloatArray:
    """Return rows, stated and true excess risk and certificate of each period."""
    rng, tracker = np.random.default_rng(seed), Tracker(loss, epsilon=epsilon, rng=seed)
    lines = []
    for n in range(1, periods + 1):
        period = made.period(n)
        report = tracker.step(lambda samples, now=period: now.draw(samples, rng=rng))  # type: ignore[misc]
        excess = period.excess_risk(loss, np.append(tracker.coef, tracker.intercept))
        lines.append((report.samples, report.risk_bound, excess, report.certificate))
    return np.array(lines)


CASES: dict[str, tuple[LinearLoss, float]] = {
    "poisson": (PoissonLoss(), 0.1),
    "gamma": (GammaLoss(), 0.04),
    "tweedie": (TweedieLoss(), 0.05),
    "quantile": (QuantileLoss(tau=0.9), 0.02),
    "median": (QuantileLoss(), 0.02),
    "huber": (HuberLoss(), 0.03),
}


@pytest.mark.parametrize("shape", ["still", "walk", "jump"])
@pytest.mark.parametrize("name", CASES)
def test_the_promise_is_kept(name: str, shape: Shape) -> None:
    """Mean excess risk over periods and runs within the target; four runs of twelve periods leave an error of about a tenth."""
    loss, epsilon = CASES[name]
    cost = epsilon * (4.0 if shape == "jump" else 0.4)
    runs = np.array([run(loss, world(loss, 5, shape, seed, cost), epsilon, 12, seed) for seed in range(4)])
    assert runs[:, :, 2].mean() <= epsilon
    assert np.mean(runs[:, :, 3] >= runs[:, :, 2]) >= 0.9
    assert np.isfinite(runs[:, :, :2]).all()


def first_periods(loss: LinearLoss, rows: int, runs: int) -> tuple[float, float, float]:
    """Return the mean stated and the mean true excess risk after a first period of so many rows, and the error of the ratio."""
    stated, true = [], []
    for seed in range(runs):
        period = world(loss, 5, "still", 0, 0.0).period(1)
        tracker = Tracker(loss, epsilon=1.0, rng=seed)
        tracker.ask()
        report = tracker.tell(*period.draw(rows, rng=seed))
        assert report is not None
        stated.append(report.risk_bound)
        true.append(period.excess_risk(loss, np.append(tracker.coef, tracker.intercept)))
    return float(np.mean(stated)), float(np.mean(true)), float(np.std(true) / np.mean(true) / np.sqrt(runs))


@pytest.mark.parametrize("name", CASES)
def test_the_stated_risk_is_the_true_one(name: str) -> None:
    """In a first period nothing depends on the drift: the stated risk is the true one within a quarter and three errors."""
    stated, true, error = first_periods(CASES[name][0], 240, 60)
    assert 0.8 - 3.0 * error <= stated / true <= 1.25 + 3.0 * error


def uneven_quantile(tau: float, seed: int) -> FloatArray:
    """Return rows and true excess risk over the target of 8 periods; the spread of residuals grows tenfold along a column."""
    rng, shift, target, columns = np.random.default_rng(seed), float(ndtri(tau)), 0.02, 4
    tracker = Tracker(QuantileLoss(tau=tau), epsilon=target, features=columns, rng=seed)
    place = 0.5 * rng.standard_normal(columns + 1)
    population = rng.standard_normal((10_000, columns))
    found = []

    def quantiles(X: FloatArray) -> FloatArray:
        return np.asarray(X @ place[:-1] + place[-1])

    def draw(rows: int) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((rows, columns))
        return X, quantiles(X) + np.exp(0.5 * X[:, 0]) * (rng.standard_normal(rows) - shift)

    def losses(scores: FloatArray) -> FloatArray:
        spread = np.exp(0.5 * population[:, 0])
        mean = quantiles(population) - spread * shift
        off = (scores - mean) / spread
        return np.asarray((mean - scores) * (tau - ndtr(off)) + spread * np.exp(-0.5 * off**2) / np.sqrt(2.0 * np.pi))

    for _ in range(8):
        place = place + 0.08 * rng.standard_normal(columns + 1)
        report = tracker.step(draw)
        scores = population @ tracker.coef + tracker.intercept
        excess = float((losses(scores) - losses(quantiles(population))).mean())
        found.append((report.samples, excess / target))
    return np.array(found)


@pytest.mark.parametrize("tau", [0.5, 0.9])
def test_shared_curvature_keeps_the_promise_where_residuals_spread_unevenly(tau: float) -> None:
    """The curvature of a row is then wrongly drawn to the mean; eight runs leave an error of about a tenth."""
    found = np.array([uneven_quantile(tau, seed) for seed in range(8)])
    assert found[:, :, 1].mean() <= 1.0


def test_control_without_shared_curvature_outer_quantiles_cost_more_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of a run vary by a quarter: 16 runs each, and a difference of more than two standard errors."""
    usual = np.array([uneven_quantile(0.9, seed)[:, 0].mean() for seed in range(16)])
    monkeypatch.setattr(quantile, "SHARED", 0.0)
    alone = np.array([uneven_quantile(0.9, seed)[:, 0].mean() for seed in range(16)])
    error = float(np.hypot(usual.std(ddof=1), alone.std(ddof=1))) / 4.0
    assert alone.mean() - usual.mean() > 2.0 * error


def test_noise_taken_as_poisson_would_break_the_promise() -> None:
    """A control: with the variance of Poisson counts, the risk of these over-dispersed ones is 6/(2 K), a third of the truth."""
    _, true, error = first_periods(PoissonLoss(), 240, 60)
    assert 0.5 * true * (1.0 - 3.0 * error) > 6.0 / (2.0 * 240.0)


def test_exposure_is_a_rate_with_a_weight() -> None:
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((200, 2)), rng.gamma(2.0, 1.0, 200)
    y = rng.poisson(exposure * np.exp(0.5 + X @ [0.3, -0.2])).astype(np.float64)
    weight = rng.uniform(0.5, 2.0, 200)
    one, two = (Tracker(PoissonLoss(), epsilon=0.01, features=2, rng=0) for _ in range(2))
    one.ask()
    two.ask()
    one.tell(X, y, exposure=exposure, sample_weight=weight)
    two.tell(X, y / exposure, sample_weight=exposure * weight)
    assert np.array_equal(one.coef, two.coef)
    assert np.allclose(one.predict(X, exposure=exposure), exposure * one.predict(X))
    assert np.allclose(one.coef, [0.3, -0.2], atol=0.15)
    offset = np.log(exposure)
    scores = X @ one.coef + one.intercept + offset
    gradient = (weight * (np.exp(scores) - y)) @ np.column_stack([X, np.ones(200)])
    assert np.abs(gradient).max() < 5.0  # that of the likelihood with an offset, near zero beside 200 rows


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_exposures_are_refused(bad: float) -> None:
    tracker = Tracker(PoissonLoss(), epsilon=0.1, features=1)
    tracker.ask()
    with pytest.raises(DataError, match=r"^Tracker.tell\(exposure=\.\.\.\) must be "):
        tracker.tell(np.ones((2, 1)), np.ones(2), exposure=[1.0, bad])
    with pytest.raises(DataError, match=r"must have one entry for each of the 2 rows"):
        tracker.tell(np.ones((2, 1)), np.ones(2), exposure=[1.0])
    assert tracker._state.gathered == 0


@pytest.mark.parametrize("final", [True, False])
def test_a_negative_count_with_an_exposure_is_named(final: bool) -> None:
    """The refusal names the count that was delivered, and its row: not the rate."""
    tracker = Tracker(PoissonLoss(), epsilon=0.1, features=1)
    before = tracker.ask()
    problem = r"^Tracker.tell\(y=\.\.\.\) must be numbers from 0 to 1e\+15 for PoissonLoss; got -2.0 in row 1\.$"
    with pytest.raises(DataError, match=problem):
        tracker.tell(np.ones((3, 1)), [1.0, -2.0, 3.0], exposure=[4.0, 8.0, 2.0], final=final)
    assert tracker.ask() == before


@pytest.mark.parametrize("given", ["epsilon", "tolerance", "budget"])
def test_zeros_only_promise_nothing(given: str) -> None:
    """Without a count above zero nothing is fitted or promised, and sizes are bounded."""
    rng, X = np.random.default_rng(0), np.random.default_rng(0).standard_normal((400, 3))
    target: dict[str, Any] = {"tolerance": 0.1} if given == "tolerance" else {"epsilon": 0.1}
    budget = Budget(total=2000, horizon=4) if given == "budget" else None
    tracker = Tracker(PoissonLoss(), **target, budget=budget, rng=0)
    tracker.ask()
    tracker.tell(X, np.zeros(400), final=False)
    request = tracker.ask()
    assert "no count above zero has been seen yet in 400 rows" in request.reason
    assert 0 < request.samples <= 400
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.SHORT
    assert report.risk_bound == np.inf
    asked = tracker.step(lambda rows: (rng.standard_normal((rows, 3)), np.zeros(rows)))
    assert asked.samples <= 1000
    assert not asked.outcome.promised
    last = tracker.step(lambda rows: (rng.standard_normal((rows, 3)), rng.poisson(2.0, rows)))
    assert 0.5 < float(tracker.predict(np.zeros((1, 3)))[0]) < 8.0
    assert last.risk_bound < np.inf


def test_one_count_is_enough_to_be_fitted() -> None:
    """The control: with a single count among the zeros the risk is finite."""
    tracker = Tracker(PoissonLoss(), epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell(np.random.default_rng(0).standard_normal((400, 3)), np.eye(400)[0], final=False)
    assert "has been seen" not in tracker.ask().reason
    report = tracker.tell()
    assert report is not None
    assert report.risk_bound < np.inf


FIRST: dict[str, tuple[LinearLoss, FloatArray]] = {
    "all zero": (PoissonLoss(l2=1e-4), np.zeros(30)),
    "all zero, no penalty": (PoissonLoss(), np.zeros(30)),
    "one count": (PoissonLoss(), np.eye(30)[0]),
    "huge": (PoissonLoss(), np.full(30, 1e15)),
    "constant": (QuantileLoss(tau=0.9), np.full(30, 7.0)),
    "tiny": (GammaLoss(), np.full(30, 1e-15)),
    "far": (QuantileLoss(tau=0.5), 1e9 + np.arange(30.0)),
    "far huber": (HuberLoss(), 1e9 + np.arange(30.0)),
}


@pytest.mark.parametrize("name", FIRST)
def test_hard_first_rows_give_finite_orders(name: str) -> None:
    loss, y = FIRST[name]
    rng = np.random.default_rng(0)
    tracker = Tracker(loss, epsilon=0.05, features=2, rng=0)
    tracker.ask()
    tracker.tell(rng.standard_normal((30, 2)), y, final=False)
    request = tracker.ask()
    assert 0 <= request.samples <= 10**6
    tracker.tell(rng.standard_normal((60, 2)), np.tile(y, 2))
    assert np.isfinite(tracker.coef).all()
    if y.any():
        assert np.isfinite(tracker.predict(rng.standard_normal((3, 2)))).all()
    assert 0 <= tracker.ask().samples <= 10**6


def test_the_bandwidth_follows_the_residuals_and_is_saved(tmp_path: Path) -> None:
    made = ShapedRegression(features=2, cost=0.02, shape="walk", rng=0)
    rng, tracker = np.random.default_rng(0), Tracker(QuantileLoss(tau=0.9), epsilon=2.0, features=2, rng=0)
    for n in range(1, 5):
        X, y = made.period(n).draw(80, rng=rng)
        tracker.ask()
        tracker.tell(X, 10.0 * y)
    scale = tracker.snapshot()[1].adaptive.scale
    assert 8.0 < scale < 12.5
    tracker.save(tmp_path / "t.json")
    again = Tracker.load(tmp_path / "t.json")
    assert again.snapshot()[1].adaptive.scale == scale
    assert again.ask().samples == tracker.ask().samples


def test_units_of_the_target_do_not_matter_for_quantiles() -> None:
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((120, 2)), rng.standard_normal(120)
    models = []
    for unit in (1.0, 1000.0):
        tracker = Tracker(QuantileLoss(tau=0.8), epsilon=0.02 * unit, features=2, rng=0)
        tracker.ask()
        tracker.tell(X, unit * (X[:, 0] + noise + 5.0))
        models.append(np.append(tracker.coef, tracker.intercept) / unit)
    assert np.allclose(models[0], models[1], rtol=1e-6)


@pytest.mark.parametrize(("dispersion", "heavy"), [(0.0, False), (0.5, False), (0.5, True)])
def test_intervals_of_counts_hold_what_they_say(dispersion: float, heavy: bool) -> None:
    """Coverage of 90 % intervals over fresh rows: at least 88 %, and near it where counts are Poisson (whole counts cover more)."""
    made = ShapedCounts(features=3, cost=0.0, shape="still", rng=0, mean=20.0, dispersion=dispersion, heavy=heavy)
    tracker = Tracker(PoissonLoss(), epsilon=0.2, rng=0)
    tracker.ask()
    tracker.tell(*made.period(1).draw(600, rng=1))
    X, y = made.period(1).draw(20_000, rng=2)
    inside = tracker.predict_interval(X, level=0.9)
    covered = float(np.mean((inside[:, 0] <= y) & (y <= inside[:, 1])))
    assert 0.88 <= covered <= 0.96
    if dispersion > 0.0:  # the control: Poisson intervals are far too narrow
        means = tracker.predict(X)
        assert np.mean(np.abs(y - means) <= 1.7 * np.sqrt(means)) < 0.75


def test_the_scale_of_an_outer_quantile_is_about_the_middle_of_targets() -> None:
    """Residuals about an outer quantile spread more where noise is uneven: a scale of them would smooth ever more."""
    rng = np.random.default_rng(0)

    def draw(rows: int) -> tuple[FloatArray, FloatArray]:
        X = np.column_stack([rng.standard_normal(rows), rng.integers(0, 2, rows)])
        return X, X[:, 0] + (1.0 + 4.0 * X[:, 1]) * rng.standard_normal(rows)

    X, y = draw(100_000)
    middle = residual_scale(y - X[:, 0])
    tracker = Tracker(QuantileLoss(tau=0.9), epsilon=5.0, rng=0)
    scales = []
    for _ in range(6):
        tracker.ask()
        tracker.tell(*draw(400))
        scales.append(tracker.snapshot()[1].adaptive.scale)
    assert np.allclose(scales, middle, rtol=0.25)
    about_quantile = residual_scale(y - tracker.predict(X))
    assert about_quantile > 1.4 * middle  # the control: what it was taken for
    few = tracker.snapshot()[1].adaptive.scale
    tracker.ask()
    tracker.tell(*draw(5))
    assert tracker.snapshot()[1].adaptive.scale == few  # rows that do not show it change nothing
