"""Sgd as its users see it: what it is told, what it returns, whose loss it takes, and how it refuses."""

import math
import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.constraints import Ball, Box, ConstraintSet, WholeSpace
from driftpace.errors import ParameterError
from driftpace.learners import Learner, Sgd
from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, Loss, SmoothedHinge, SquaredLoss
from driftpace.records import Constants, Fit, Outcome
from driftpace.schedules import ConstantSteps, GreedySteps, InverseTime
from driftpace.typing import FloatArray
from tests.reference import naive_sgd as naive

CONSTANTS = Constants.given(m=1.0, M=1.0, A=0.5, B=4.0)
NAMES = {SquaredLoss: "squared", SmoothedHinge: "hinge", LogisticLoss: "logistic", HuberLoss: "huber"}


def fit(
    learner: Sgd, loss: Loss, domain: ConstraintSet, start: FloatArray, X: FloatArray, y: FloatArray, **more: Any
) -> Fit:
    known: dict[str, Any] = {"constants": CONSTANTS, "distance": 1.0} | more
    return learner.fit(loss, domain, start, X, y, **known)


def rows(rng: np.random.Generator, loss: LinearLoss, count: int, features: int) -> tuple[FloatArray, FloatArray]:
    X = rng.standard_normal((count, features)) / math.sqrt(features)
    y = X @ rng.standard_normal(features) + 0.3 * rng.standard_normal(count)
    return X, np.sign(y) if type(loss) in (SmoothedHinge, LogisticLoss) else y


LOSSES = st.sampled_from([SquaredLoss, SmoothedHinge, LogisticLoss, HuberLoss])
LEARNERS = st.builds(
    Sgd,
    steps=st.sampled_from(["inverse-time", "harmonic", "constant", "greedy", InverseTime(scale=0.7, shift=2.0)]),
    output=st.sampled_from(["last", "weighted", "uniform", "tail"]),
    batch=st.sampled_from([1, 1, 3]),
)


@settings(max_examples=150, deadline=None)
@given(
    learner=LEARNERS,
    kind=LOSSES,
    l2=st.sampled_from([0.0, 0.2]),
    free=st.integers(0, 1),
    domain=st.sampled_from(
        [WholeSpace(), Ball(0.5), Ball(5.0), Ball(0.6, center=np.full(20, 0.1)), Box(low=-0.1, high=0.2)]
    ),
    count=st.integers(1, 40),
    features=st.sampled_from([1, 3, 7, 13, 16, 20]),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_fit_is_the_textbook_loop_and_its_mean_gradient(
    learner: Sgd, kind: type[Any], l2: float, free: int, domain: Any, count: int, features: int, seed: int
) -> None:
    if isinstance(domain, Ball) and domain.center is not None:
        features = 20
    rng = np.random.default_rng(seed)
    loss = kind(l2=l2, unpenalised=free)
    X, y = rows(rng, loss, count, features)
    start = domain.project(rng.standard_normal(features))
    fitted = fit(learner, loss, domain, start, X, y)
    schedule = learner.schedule(CONSTANTS)
    if isinstance(schedule, GreedySteps):  # a batch that is not whole is not used
        count -= count % learner.batch
        X, y = X[:count], y[:count]
    updates = -(-count // learner.batch)
    k = np.arange(1.0, updates + 1.0)
    shift = schedule.shift if isinstance(schedule, InverseTime) else 1.0
    if isinstance(schedule, GreedySteps):
        shift = schedule.B / schedule.m**2
    weights = {
        "last": None,
        "weighted": np.ones(updates) if isinstance(schedule, ConstantSteps) else k + max(shift, 1.0) - 1.0,
        "uniform": np.ones(updates),
        "tail": (k > updates // 2).astype(float),
    }[learner.output]
    assert (fitted.rows, fitted.updates, fitted.outcome) == (count, updates, Outcome.MET)
    if count == 0:
        assert (fitted.coef == start).all()
        return
    wanted = naive.naive_sgd(
        NAMES[kind],
        X,
        y,
        start,
        list(schedule.steps(updates, distance=1.0)),
        domain.project,
        weights=None if weights is None else list(weights),
        batch=learner.batch,
        l2=l2,
        free=free,
    )
    np.testing.assert_allclose(fitted.coef, wanted, rtol=0, atol=1e-12 * max(1.0, float(np.abs(wanted).max())))
    gradient = naive.mean_gradient(NAMES[kind], wanted, X, y, l2=l2, free=free, threshold=1.0)
    np.testing.assert_allclose(fitted.gradient, gradient, rtol=0, atol=1e-12)
    assert domain.contains(fitted.coef)


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnSquares(SquaredLoss):
    """Derived from a built-in loss, with another gradient."""

    def gradient(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        return 2.0 * SquaredLoss.gradient(self, coef, X, y)


@dataclass(frozen=True)
class OwnSet:
    """Non-negative coefficients."""

    @property
    def diameter(self) -> float:
        return math.inf

    def project(self, point: FloatArray) -> FloatArray:
        return np.maximum(point, 0.0)

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool((point >= 0.0).all())

    def fits(self, features: int) -> bool:
        return True


@pytest.mark.parametrize("output", ["last", "weighted", "uniform", "tail"])
@pytest.mark.parametrize("batch", [1, 4])
def test_custom_losses_and_sets_are_trusted(output: str, batch: int, rng: np.random.Generator) -> None:
    X, y = rows(rng, SquaredLoss(), 30, 3)
    learner, start = Sgd(output=output, batch=batch), np.array([1.0, -0.5, 0.2])
    custom = fit(learner, OwnSquares(), WholeSpace(), start, X, y)
    schedule = learner.schedule(CONSTANTS)
    assert isinstance(schedule, InverseTime)
    doubled = replace(
        learner, steps=replace(schedule, scale=2.0 * schedule.scale)
    )  # twice the gradient, twice the step
    same = fit(doubled, SquaredLoss(), WholeSpace(), start, X, y)
    np.testing.assert_allclose(custom.coef, same.coef, rtol=1e-12)
    np.testing.assert_allclose(custom.gradient, 2.0 * same.gradient, rtol=1e-9)
    held = fit(learner, SquaredLoss(), OwnSet(), np.abs(start), X, -y)
    box = fit(learner, SquaredLoss(), Box(low=0.0, high=math.inf), np.abs(start), X, -y)
    np.testing.assert_allclose(held.coef, box.coef, rtol=0, atol=1e-13)


def test_no_rows_leave_the_start(rng: np.random.Generator) -> None:
    start = rng.standard_normal(3)
    for learner in (Sgd(), Sgd(steps="greedy"), Sgd(output="tail"), Sgd(batch=7)):
        for loss in (SquaredLoss(), OwnSquares()):
            fitted = fit(learner, loss, WholeSpace(), start, np.empty((0, 3)), np.empty(0))
            assert (fitted.coef == start).all()
            assert fitted.coef is not start
            assert (fitted.gradient == 0.0).all()
            assert (fitted.rows, fitted.updates, fitted.outcome) == (0, 0, Outcome.MET)


def test_rows_of_any_layout_and_kind_of_number_give_the_same_fit(rng: np.random.Generator) -> None:
    X, y = rows(rng, SquaredLoss(), 40, 5)
    wanted = fit(Sgd(), SquaredLoss(), Ball(1.0), np.zeros(5), X, y)
    frozen = X.copy()
    frozen.setflags(write=False)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], frozen, X.astype(">f8")):
        result = fit(Sgd(), SquaredLoss(), Ball(1.0), np.zeros(5), other, np.repeat(y, 2)[::2])
        np.testing.assert_array_equal(result.coef, wanted.coef)
    whole = np.rint(4.0 * X).astype(np.int64)
    result = fit(Sgd(), SquaredLoss(), Ball(1.0), np.zeros(5, dtype=int), whole, y.astype(np.float32))  # type: ignore[arg-type]
    same = fit(Sgd(), SquaredLoss(), Ball(1.0), np.zeros(5), whole.astype(float), y.astype(np.float32).astype(float))
    np.testing.assert_array_equal(result.coef, same.coef)


@pytest.mark.parametrize("loss", [SquaredLoss(), OwnSquares(), LogisticLoss(), SmoothedHinge(), HuberLoss()])
def test_overflow_is_an_outcome_not_an_exception(loss: LinearLoss) -> None:
    X = np.full((20, 2), 1e180)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    fitted = fit(Sgd(steps="constant", step=1e200), loss, WholeSpace(), np.zeros(2), X, y)
    assert fitted.outcome is Outcome.NONFINITE


def test_greedy_steps_from_an_unknown_distance_are_those_of_a_far_start(rng: np.random.Generator) -> None:
    X, y = rows(rng, SquaredLoss(), 50, 2)
    far = fit(Sgd(steps="greedy"), SquaredLoss(), WholeSpace(), np.zeros(2), X, y, distance=math.inf)
    steps = InverseTime(scale=1.0, shift=4.0)  # 1/(m (k + B/m^2))
    same = fit(Sgd(steps=steps), SquaredLoss(), WholeSpace(), np.zeros(2), X, y)
    np.testing.assert_array_equal(far.coef, same.coef)


def test_constants_that_change_change_the_steps(rng: np.random.Generator) -> None:
    X, y = rows(rng, SquaredLoss(), 20, 2)
    learner, coefs = Sgd(), []
    for _ in range(3):
        for m in np.linspace(0.5, 1.5, 40):  # more than are remembered; new objects may take over old identities
            given = Constants.given(m=m, A=0.5, B=4.0)
            coefs.append(fit(learner, SquaredLoss(), WholeSpace(), np.zeros(2), X, y, constants=given).coef)
    assert np.unique(np.round(coefs, 12), axis=0).shape[0] == 40
    np.testing.assert_array_equal(coefs[:40], coefs[40:80])


def test_a_penalty_that_leaves_every_coefficient_alone_is_none(rng: np.random.Generator) -> None:
    X, y = rows(rng, SquaredLoss(), 20, 2)
    for batch in (1, 3):
        learner = Sgd(batch=batch, output="uniform")
        free = fit(learner, SquaredLoss(l2=0.5, unpenalised=5), WholeSpace(), np.ones(2), X, y)
        none = fit(learner, SquaredLoss(), WholeSpace(), np.ones(2), X, y)
        np.testing.assert_allclose(free.coef, none.coef, rtol=1e-13)
        np.testing.assert_allclose(free.gradient, none.gradient, rtol=1e-12)


def test_learners_are_values() -> None:
    learner = Sgd(steps="constant", step=0.1, output="uniform", form="gaussian", eigenvalues=(1.0, 0.5))
    assert isinstance(learner, Learner)
    assert pickle.loads(pickle.dumps(learner)) == learner
    assert hash(learner) == hash(replace(learner))
    assert "steps='constant'" in repr(learner)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"steps": "fast"}, "Sgd(steps=...)"),
        ({"output": "best"}, "Sgd(output=...)"),
        ({"form": "none"}, "Sgd(form=...)"),
        ({"batch": 0}, "Sgd(batch=...)"),
        ({"shift": -1.0}, "Sgd(shift=...)"),
        ({"shift": 1.0, "steps": "constant"}, "Sgd(shift=...)"),
        ({"step": 0.0, "steps": "constant"}, "Sgd(step=...)"),
        ({"step": 0.1}, "Sgd(step=...)"),
        ({"eigenvalues": (1.0,)}, "Sgd(eigenvalues=...)"),
        ({"eigenvalues": (1.0, -1.0), "form": "gaussian"}, "Sgd(eigenvalues=...)"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Sgd(**wrong)
    assert str(refused.value).startswith(named)
    assert str(refused.value).endswith(".")
