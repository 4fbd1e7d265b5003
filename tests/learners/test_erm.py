"""Anchored minimisers: exactly the minimiser, in the set, and the nearest of many; paired with their bounds."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace import bounds as b
from driftpace.constraints import Ball, Box, ConstraintSet, WholeSpace
from driftpace.errors import ParameterError, UnknownConstantError
from driftpace.learners import AnchoredErm, Learner
from driftpace.learners.newton import TOLERANCE
from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, Loss, SmoothedHinge, SquaredLoss
from driftpace.records import Constants, Fit, Outcome
from driftpace.typing import FloatArray

KNOWN = Constants.given(m=1.0, M=1.0, m_rows=0.5, noise=0.5, spread=1.5, sigma_star=0.6, G=2.0)
KINDS: dict[str, Any] = {"squared": SquaredLoss, "hinge": SmoothedHinge, "logistic": LogisticLoss, "huber": HuberLoss}


def fit(
    loss: Loss,
    domain: ConstraintSet,
    start: FloatArray,
    X: FloatArray,
    y: FloatArray,
    strength: float,
    distance: float = 1.0,
) -> Fit:
    learner = AnchoredErm(form="m-estimation", strength=strength)
    return learner.fit(loss, domain, start, X, y, constants=KNOWN, distance=distance)


def rows(rng: np.random.Generator, loss: Loss, count: int, features: int, scale: float = 1.0) -> tuple[Any, Any]:
    X = scale * rng.standard_normal((count, features))
    y = X @ rng.standard_normal(features) + 0.5 * rng.standard_normal(count)
    return X, np.sign(y) if isinstance(loss, SmoothedHinge | LogisticLoss) else y


def error(
    fitted: Fit, loss: LinearLoss, domain: ConstraintSet, start: FloatArray, X: FloatArray, y: FloatArray, lam: float
) -> float:
    """How far the result is from fulfilling the condition w = Pi(w - gradient/h), in units of the gradient."""
    w = fitted.coef
    gradient = loss.gradient(w, X, y) + lam * (w - start)
    h = float(np.linalg.norm(X, 2)) ** 2 / len(y) + loss.l2 + lam
    return h * float(np.linalg.norm(domain.project(w - gradient / h) - w))


@dataclass(frozen=True)
class HalfSpace:
    """Coefficients that add up to at most one; not one of the built-in sets."""

    @property
    def diameter(self) -> float:
        return math.inf

    def project(self, point: FloatArray) -> FloatArray:
        over = max(0.0, float(point.sum()) - 1.0)
        return np.asarray(point - over / point.size)

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return float(point.sum()) <= 1.0 + tolerance * (1.0 + float(np.abs(point).sum()))

    def fits(self, features: int) -> bool:
        return True


def sets(features: int) -> list[ConstraintSet]:
    center = np.linspace(-0.2, 0.2, features)
    return [
        WholeSpace(),
        Ball(0.3),
        Ball(50.0),
        Ball(0.4, center=center),
        Box(low=-0.1, high=0.2),
        Box(low=center - 0.1, high=np.where(np.arange(features) % 2, math.inf, center + 0.1)),
        HalfSpace(),
    ]


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(KINDS)),
    l2=st.sampled_from([0.0, 0.1]),
    free=st.integers(0, 1),
    lam=st.sampled_from([0.0, 1e-6, 0.05, 2.0]),
    where=st.integers(0, 6),
    count=st.integers(1, 60),
    features=st.integers(1, 8),
    far=st.sampled_from([0.0, 1.0, 30.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_result_is_a_minimiser_over_the_set(
    name: str, l2: float, free: int, lam: float, where: int, count: int, features: int, far: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    loss = KINDS[name](l2=l2, unpenalised=free)
    domain = sets(features)[where]
    X, y = rows(rng, loss, count, features)
    start = domain.project(far * rng.standard_normal(features))
    fitted = fit(loss, domain, start, X, y, lam)
    assert domain.contains(fitted.coef, tolerance=1e-9)
    if name == "logistic" and lam == 0.0 and (l2 == 0.0 or free) and not math.isfinite(domain.diameter):
        return  # separable classes have no minimiser
    assert fitted.outcome is Outcome.MET
    size = math.sqrt(float((X**2).sum()) / count) * (1.0 + np.abs(y).max() + far) + (l2 + lam) * far
    assert error(fitted, loss, domain, start, X, y, lam) <= 10.0 * TOLERANCE * size
    np.testing.assert_allclose(fitted.gradient, loss.gradient(fitted.coef, X, y), rtol=0, atol=1e-12 * size)
    assert fitted.rows == count


@settings(max_examples=80, deadline=None)
@given(
    count=st.integers(1, 30),
    features=st.integers(1, 12),
    rank=st.integers(1, 12),
    lam=st.sampled_from([0.0, 0.0, 1e-3, 1.0]),
    l2=st.sampled_from([0.0, 0.0, 0.3]),
    free=st.integers(0, 2),
    seed=st.integers(0, 2**32 - 1),
)
def test_least_squares_is_the_closed_form_and_the_least_change(
    count: int, features: int, rank: int, lam: float, l2: float, free: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rank = min(rank, features)
    X = rng.standard_normal((count, rank)) @ rng.standard_normal((rank, features))
    y, start = rng.standard_normal(count), rng.standard_normal(features)
    loss = SquaredLoss(l2=l2, unpenalised=min(free, features))
    fitted = fit(loss, WholeSpace(), start, X, y, lam)
    penalty = loss.penalty_weights(features)
    hessian = X.T @ X / count + np.diag(penalty + lam)
    right = X.T @ (y - X @ start) / count - penalty * start
    change = np.linalg.pinv(hessian, rcond=1e-10, hermitian=True) @ right
    np.testing.assert_allclose(fitted.coef, start + change, rtol=0, atol=1e-6 * (1.0 + np.abs(change).max()))
    gradient = hessian @ (fitted.coef - start) - right
    assert np.abs(gradient).max() <= 1e-10 * (1.0 + np.abs(hessian).max() * np.abs(change).max())


def test_duplicated_columns_share_the_change_evenly(rng: np.random.Generator) -> None:
    column, y = rng.standard_normal((40, 1)), rng.standard_normal(40)
    X = np.hstack([column, column])
    fitted = fit(SquaredLoss(), WholeSpace(), np.array([3.0, -1.0]), X, y, 0.0)
    assert fitted.coef[0] - 3.0 == pytest.approx(fitted.coef[1] + 1.0, abs=1e-9)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_columns_of_very_different_scale_are_solved(name: str, rng: np.random.Generator) -> None:
    loss = KINDS[name](l2=1e-12)
    X, y = rows(rng, loss, 200, 3)
    scale = np.array([1e-3, 1.0, 1e3])
    same = fit(loss, WholeSpace(), np.zeros(3), X, y, 0.0).coef
    result = fit(KINDS[name](), WholeSpace(), np.zeros(3), X * scale, y, 0.0)
    if name == "logistic":  # what is separable has its minimiser at infinity
        assert result.outcome is Outcome.MET
    np.testing.assert_allclose(result.coef * scale, same, rtol=1e-4)


def test_a_start_far_outside_the_curvature_of_the_loss_converges(rng: np.random.Generator) -> None:
    X, y = rows(rng, HuberLoss(), 100, 4)
    near = fit(HuberLoss(threshold=0.1), WholeSpace(), np.zeros(4), X, y, 0.0)
    far = fit(HuberLoss(threshold=0.1), WholeSpace(), np.full(4, 1e6), X, y, 0.0)
    assert far.outcome is Outcome.MET
    np.testing.assert_allclose(far.coef, near.coef, atol=1e-8)


def test_newton_needs_few_steps(rng: np.random.Generator) -> None:
    for name, kind in KINDS.items():
        loss = kind(l2=0.01)
        X, y = rows(rng, loss, 500, 10)
        fitted = fit(loss, WholeSpace(), np.zeros(10), X, y, 0.0)
        assert fitted.updates <= (1 if name == "squared" else 15)


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongWay(LogisticLoss):
    """A loss whose gradient points the wrong way."""

    def gradient(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        return -LogisticLoss.gradient(self, coef, X, y)


def test_an_impossible_minimisation_is_reported_as_stalled(rng: np.random.Generator) -> None:
    loss = WrongWay(l2=0.1)
    X, y = rows(rng, LogisticLoss(), 30, 2)
    assert fit(loss, WholeSpace(), np.zeros(2), X, y, 0.0).outcome is Outcome.STALLED


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e200])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_overflow_is_an_outcome_not_an_exception(bad: float, name: str, rng: np.random.Generator) -> None:
    loss = KINDS[name]()
    X, y = rows(rng, loss, 12, 2)
    X[3, 0] = bad
    fitted = fit(loss, WholeSpace(), np.zeros(2), X, y, 0.1)
    assert fitted.outcome in (Outcome.NONFINITE, Outcome.MET)
    assert (fitted.outcome is Outcome.MET) == bool(
        np.isfinite(fitted.coef).all() and np.isfinite(fitted.gradient).all()
    )
    assert (bad != 1e200) <= (fitted.outcome is Outcome.NONFINITE)


def test_no_rows_and_a_start_that_is_right_already_stay(rng: np.random.Generator) -> None:
    X, y = rows(rng, SquaredLoss(), 20, 2)
    start = np.array([0.3, 0.4])
    learner = AnchoredErm()
    nothing = learner.fit(SquaredLoss(), WholeSpace(), start, X[:0], y[:0], constants=KNOWN, distance=1.0)
    assert (nothing.coef == start).all()
    assert (nothing.rows, nothing.updates, nothing.outcome) == (0, 0, Outcome.MET)
    stay = learner.fit(SquaredLoss(), WholeSpace(), start, X, y, constants=KNOWN, distance=0.0)
    assert (stay.coef == start).all()
    np.testing.assert_allclose(stay.gradient, SquaredLoss().gradient(start, X, y))
    unknown = learner.fit(SquaredLoss(), WholeSpace(), start, X, y, constants=KNOWN, distance=math.inf)
    np.testing.assert_allclose(unknown.coef, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-9)


def test_the_strength_is_that_of_the_bound(rng: np.random.Generator) -> None:
    X, y = rows(rng, SquaredLoss(), 20, 2)
    for learner, lam in ((AnchoredErm(), 0.5 * 2 / (20 * 0.49)), (AnchoredErm(form="m-estimation"), 1.5 / (20 * 0.49))):
        fitted = learner.fit(SquaredLoss(), WholeSpace(), np.ones(2), X, y, constants=KNOWN, distance=0.7)
        wanted = np.linalg.solve(X.T @ X / 20 + lam * np.eye(2), X.T @ y / 20 + lam)
        np.testing.assert_allclose(fitted.coef, wanted, rtol=1e-10)


@pytest.mark.parametrize(
    ("learner", "wanted"),
    [
        (AnchoredErm(), b.Anchored(noise=0.5, features=3)),
        (AnchoredErm(strength=0.0), b.OrdinaryLeastSquares(noise=0.5, features=3)),
        (AnchoredErm(form="ols"), b.OrdinaryLeastSquares(noise=0.5, features=3)),
        (AnchoredErm(form="m-estimation"), b.AnchoredMinimiser(spread=1.5, features=3)),
        (AnchoredErm(form="m-estimation", strength=0.0), b.Minimiser(spread=1.5, features=3)),
        (
            AnchoredErm(form="fixed-design", strength=0.1),
            b.AnchoredFixedDesign(noise=0.5, strength=0.1, eigenvalues=(1.0, 1.0, 1.0)),
        ),
        (
            AnchoredErm(form="fixed-design", strength=0.1, eigenvalues=(2.0, 1.0, 0.5)),
            b.AnchoredFixedDesign(noise=0.5, strength=0.1, eigenvalues=(2.0, 1.0, 0.5)),
        ),
        (AnchoredErm(form="penalised"), b.PenalisedMinimiser(m=0.5, M=1.0, trace_sigma=0.36)),
        (AnchoredErm(form="stable"), b.StableMinimiser(m=0.5, G=2.0, M=1.0)),
    ],
)
def test_each_form_has_its_bound(learner: AnchoredErm, wanted: b.RiskBound) -> None:
    assert isinstance(learner, Learner)
    assert learner.bound(KNOWN, features=3) == wanted


def test_where_no_bound_is_true_none_is_given() -> None:
    for wrong in (
        AnchoredErm(strength=0.2),
        AnchoredErm(form="ols", strength=0.2),
        AnchoredErm(form="stable", strength=1.0),
    ):
        with pytest.raises(ParameterError, match="as no bound is known for another"):
            wrong.bound(KNOWN, features=3)
    steep = KNOWN.updated(Constants.given(m=0.5))
    for form in ("harmonic", "m-estimation"):
        with pytest.raises(ParameterError, match="whitened coordinates"):
            AnchoredErm(form=form).bound(steep, features=3)
    AnchoredErm(form="ols").bound(steep, features=3)
    with pytest.raises(UnknownConstantError, match="noise"):
        AnchoredErm().bound(Constants.given(m=1.0, M=1.0), features=3)
    for words in ({"form": "best"}, {"strength": -1.0}, {"form": "fixed-design"}, {"eigenvalues": ("a",)}):
        with pytest.raises(ParameterError, match=r"^AnchoredErm\("):
            AnchoredErm(**words)
    assert replace(AnchoredErm(), strength=0.0) == AnchoredErm(strength=0.0)


@pytest.mark.statistical
def test_the_bound_on_given_rows_is_true_over_them_and_attained(rng: np.random.Generator) -> None:
    """Risk over the very rows (theory 1.5c): the mean over the noise is at most the bound, and near it in the worst direction."""
    count, features, runs, lam, noise = 40, 3, 4_000, 0.4, 0.5
    X = rng.standard_normal((count, features)) * np.array([1.0, 0.6, 0.3])
    values, vectors = np.linalg.eigh(X.T @ X / count)
    learner = AnchoredErm(form="fixed-design", strength=lam, eigenvalues=tuple(values))
    bound = learner.bound(KNOWN.updated(Constants.given(noise=noise)), features)
    worst = vectors[:, int(np.argmax(values / (values + lam) ** 2))]
    risks = np.empty(runs)
    for run in range(runs):
        y = math.sqrt(noise) * rng.standard_normal(count)
        fitted = learner.fit(SquaredLoss(), WholeSpace(), 1.5 * worst, X, y, constants=KNOWN, distance=1.5)
        risks[run] = 0.5 * float(np.mean((X @ fitted.coef) ** 2))
    mean, off = risks.mean(), 4.9 * risks.std() / math.sqrt(runs)
    assert abs(mean - bound(1.5, count)) <= off  # in the worst direction it is attained
    assert mean - off > 0.8 * bound(1.5, count)  # and a bound a fifth smaller would be found out
