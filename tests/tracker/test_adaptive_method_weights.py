"""Weights of rows: the fit, its stated risk, the sizes that follow, and what is refused."""

from typing import Any

import numpy as np
import pytest

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.adaptive import DesignRows, effective_rows
from driftpace.constraints import Ball
from driftpace.errors import DataError, ParameterError
from driftpace.records import Constants, StepReport
from driftpace.tracker.history import History
from driftpace.typing import FloatArray

FEATURES = 3


def told(
    loss: Any, X: FloatArray, y: FloatArray, weights: FloatArray | None, **options: Any
) -> tuple[Tracker, StepReport]:
    """Return a tracker after one period with these rows, and its report."""
    tracker = Tracker(loss, epsilon=1e-4, rng=0, **options)
    tracker.ask()
    report = tracker.tell(X, y, sample_weight=weights)
    assert report is not None
    return tracker, report


def targets_of(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return targets whose best linear model leaves a curve, and whose noise grows with the first column."""
    noise = (0.5 + 0.3 * np.abs(X[:, 0])) * rng.standard_normal(len(X))
    return X @ [1.0, -0.5, 0.2] + 0.6 * (np.square(X[:, 0]) - 1.0) + noise


def regression(rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return rows of a period, the first column uniform."""
    X = rng.standard_normal((rows, FEATURES))
    X[:, 0] = rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), rows)
    return X, targets_of(X, rng)


def chosen(rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows drawn in proportion to 1 + 0.8 tanh(1.5 x_1), and one over that as weights."""
    X, _ = regression(4 * rows + 50, rng)
    rate = 1.0 + 0.8 * np.tanh(1.5 * X[:, 0])
    kept = np.flatnonzero(rng.uniform(0.0, 1.8, len(X)) < rate)[:rows]
    return X[kept], targets_of(X[kept], rng), 1.0 / rate[kept]


def test_a_weighted_fit_is_that_of_the_weighted_equations() -> None:
    rng = np.random.default_rng(0)
    X, y, weights = chosen(400, rng)
    tracker, _ = told(SquaredLoss(), X, y, weights)
    Z = np.column_stack([X, np.ones(len(X))])
    exact = np.linalg.solve((Z.T * weights) @ Z, (Z.T * weights) @ y)
    # the start counts for less than one row in four hundred
    assert np.append(tracker.coef, tracker.intercept) == pytest.approx(exact, abs=0.01)
    unweighted = np.linalg.lstsq(Z, y, rcond=None)[0]
    assert np.abs(unweighted - exact).max() > 0.3


def test_a_weighted_logistic_fit_minimises_the_weighted_loss() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, FEATURES))
    y = np.sign(X[:, 0] + 0.5 * X[:, 0] ** 2 + rng.logistic(size=600))
    weights = np.exp(X[:, 0])
    tracker, _ = told(LogisticLoss(l2=0.01), X, y, weights)
    Z = np.column_stack([np.ones(len(X)), X])
    rows = DesignRows(
        loss=LogisticLoss(l2=0.01),
        X=Z,
        y=y,
        penalty=np.array([0.0, 0.01, 0.01, 0.01]),
        weights=weights / weights.mean(),
    )
    model = np.append(tracker.intercept, tracker.coef)
    for place in range(4):
        moved = model.copy()
        moved[place] += 0.05
        assert rows.value(model) < rows.value(moved)
    assert np.abs(rows.gradient(model)).max() < 0.01 * len(y)


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(l2=0.1)])
def test_weights_of_one_change_no_bit(loss: Any) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, FEATURES))
    y = np.sign(X[:, 0] + rng.standard_normal(60))
    plain, first = told(loss, X, y, None)
    ones, second = told(loss, X, y, np.full(60, 3.0))
    assert plain.coef.tolist() == pytest.approx(ones.coef.tolist(), rel=1e-9)
    assert first.risk_bound == pytest.approx(second.risk_bound, rel=1e-9)
    assert first.effective_samples is None
    assert second.effective_samples == pytest.approx(60.0)


def test_a_row_of_weight_two_is_not_the_row_twice() -> None:
    """Both give one model. The sandwich squares the weight of the row, 4 g g', where two rows add 2 g g'."""
    rng = np.random.default_rng(3)
    X, y = regression(200, rng)
    weights = np.where(np.arange(200) < 100, 2.0, 1.0)
    twice = np.concatenate([np.arange(200), np.arange(100)])
    heavy, one = told(SquaredLoss(), X, y, weights)
    double, two = told(SquaredLoss(), X[twice], y[twice], None)
    assert heavy.coef == pytest.approx(double.coef, abs=2e-3)
    Z = np.column_stack([X, np.ones(200)])
    residuals = y - Z @ np.append(heavy.coef, heavy.intercept)
    hessian = (Z.T * weights) @ Z
    inverse = np.linalg.inv(hessian)

    def brute(scale: FloatArray) -> float:
        leverage = np.einsum("ij,jk,ik->i", Z, inverse, Z) * weights
        scatter = (Z.T * (scale * residuals**2 / (1.0 - leverage))) @ Z
        return 0.5 * float(np.trace(inverse @ scatter @ inverse @ (hessian / weights.sum())))

    right, wrong = brute(weights**2), brute(weights)
    # stated with half a standard error of the noise on top, and the metric without each row
    assert one.risk_bound / right == pytest.approx(1.1, abs=0.12)
    assert one.risk_bound / two.risk_bound == pytest.approx(right / wrong, rel=0.1)


def excess(model: FloatArray, best: FloatArray, hessian: FloatArray) -> float:
    """Return the excess risk of a quadratic."""
    return 0.5 * float((model - best) @ hessian @ (model - best))


def stated_and_true(weighted: bool, runs: int) -> tuple[float, float]:
    """Return the means of the stated and of the true excess risk of importance samples of 150 rows."""
    rng = np.random.default_rng(4)
    X, y = regression(400_000, rng)
    Z = np.column_stack([X, np.ones(len(X))])
    hessian = Z.T @ Z / len(Z)
    best: FloatArray = np.asarray(np.linalg.solve(hessian, Z.T @ y / len(Z)), dtype=np.float64)
    stated, true = [], []
    for _ in range(runs):
        rows, targets, weights = chosen(150, rng)
        tracker, report = told(SquaredLoss(), rows, targets, weights if weighted else None)
        stated.append(report.risk_bound)
        true.append(excess(np.append(tracker.coef, tracker.intercept), best, hessian))
    return float(np.mean(stated)), float(np.mean(true))


def test_the_stated_risk_of_importance_samples_is_the_true_one() -> None:
    """150 samples: the standard error of the mean of the true risk is about 7 %. Ignoring the weights must fail."""
    stated, true = stated_and_true(weighted=True, runs=150)
    assert 0.8 <= stated / true <= 1.25
    stated, true = stated_and_true(weighted=False, runs=30)
    assert stated / true < 0.5


def history_with(weighted: bool) -> History:
    """Return 25 periods that stand still, with weights that have nothing to do with the rows, or none."""
    rng = np.random.default_rng(5)
    tracker = Tracker(SquaredLoss(), epsilon=0.03, rng=0)

    def draw(samples: int) -> tuple[Any, ...]:
        X = rng.standard_normal((samples, FEATURES))
        weights = rng.choice([0.17, 1.83], size=samples)
        return X, X[:, 0] + rng.standard_normal(samples), None, weights if weighted else None

    for _ in range(25):
        tracker.step(draw)
    return tracker.history


def test_uneven_weights_need_more_rows() -> None:
    """Weights that have nothing to do with the rows cost their design effect, 1 + var w = 1.69 here."""
    plain, weighted = history_with(weighted=False), history_with(weighted=True)
    first = weighted[0]
    assert first.effective_samples is not None
    assert first.effective_samples / first.samples == pytest.approx(1 / 1.69, abs=0.12)
    assert 1.3 < sum(one.samples for one in weighted) / sum(one.samples for one in plain) < 2.2


def test_candidates_compare_weighted_losses() -> None:
    """Half of the rows have the opposite slope and no weight: a heavy penalty is chosen only where they count."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((80, 1))
    sign = np.where(np.arange(80) % 2, 1.0, -1.0)
    y = 2.0 * sign * X[:, 0] + 0.3 * rng.standard_normal(80)
    choices = {}
    for name, weights in (("none", None), ("half", np.where(sign > 0, 1.0, 0.0))):
        tracker, report = told(SquaredLoss(), X, y, weights, l2=[0.0, 30.0])
        assert report.selected is not None
        choices[name] = report.selected.chosen
    assert choices["half"] == "l2=0"
    assert tracker.coef == pytest.approx([2.0], abs=0.2)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -1.0, 1.0], "must be finite and not negative; got -1.0 in row 1"),
        ([1.0, float("nan"), 1.0], "must be finite and not negative; got nan in row 1"),
        ([1.0, float("inf"), 1.0], "must be finite and not negative; got inf in row 1"),
        ([0.0, 0.0, 0.0], "must have a positive entry; got 3 zeros"),
        ([1.0, 1.0], "must have one entry for each of the 3 rows of X; got shape (2,)"),
        (["a", "b", "c"], "must be numeric"),
    ],
)
def test_bad_weights_are_refused_and_nothing_changes(weights: list[Any], words: str) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    tracker.ask()
    with pytest.raises(DataError, match="sample_weight") as error:
        tracker.tell(np.eye(3), [1.0, 2.0, 3.0], sample_weight=weights)
    assert words in str(error.value)
    assert tracker.period == 1
    assert tracker.snapshot()[1].gathered == 0


def test_the_method_of_the_paper_refuses_weights() -> None:
    tracker = Tracker.as_in_paper(
        SquaredLoss(),
        epsilon=0.1,
        domain=Ball(radius=10.0),
        constants=Constants.given(m=1.0, M=1.0, A=0.16, B=4.0),
        first_samples=(5, 5),
        rng=0,
    )
    tracker.ask()
    with pytest.raises(ParameterError, match="must be None with learner=, drift= and rule="):
        tracker.tell(np.ones((5, 2)), np.ones(5), sample_weight=np.ones(5))


def test_weights_are_saved_and_come_late(tmp_path: Any) -> None:
    rng = np.random.default_rng(7)
    X, y, weights = chosen(60, rng)
    tracker = Tracker(SquaredLoss(), epsilon=0.1, delay=1, rng=0)
    tracker.ask()
    tracker.tell(X[:40], y[:40], sample_weight=weights[:40], final=False)
    tracker.save(tmp_path / "open.json")
    loaded = Tracker.load(tmp_path / "open.json")
    for one in (tracker, loaded):
        one.tell(X[40:50], y[40:50], sample_weight=weights[40:50])
        one.tell_late(1, X[50:], y[50:], sample_weight=weights[50:])
    assert tracker.coef.tolist() == loaded.coef.tolist()
    whole, report = told(SquaredLoss(), X, y, weights)
    assert tracker.history[0].effective_samples == pytest.approx(effective_rows(weights))
    assert tracker.coef == pytest.approx(whole.coef, rel=1e-6)
    assert report.samples == 60


def test_rows_of_no_weight_do_not_make_a_pilot() -> None:
    rng = np.random.default_rng(8)
    X, y = regression(40, rng)
    tracker = Tracker(SquaredLoss(), epsilon=0.5, rng=0)
    tracker.ask()
    tracker.tell(X, y, sample_weight=np.where(np.arange(40) < 5, 1.0, 0.0), final=False)
    assert tracker.ask().samples > 0
    report = tracker.tell()
    assert report is not None
    assert not report.outcome.promised
