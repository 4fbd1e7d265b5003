"""check_learner passes the built-in learners, and catches learners that lie."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from driftpace.bounds import FormulaBound, Nature, RiskBound
from driftpace.constraints import Ball, ConstraintSet, WholeSpace
from driftpace.learners import AnchoredErm, GradientPasses, Learner, Sgd
from driftpace.losses import HuberLoss, Loss, SmoothedHinge, SquaredLoss
from driftpace.records import Constants, Fit
from driftpace.synthetic import BoundedRegression, GaussianRegression, TwoClasses
from driftpace.testing import check_learner
from driftpace.typing import FloatArray

pytestmark = pytest.mark.statistical

STEEP = GaussianRegression(coef=np.array([0.5, -0.5]), covariance=np.diag([1.0, 0.25]), noise=0.5)
BOUNDED = BoundedRegression(coef=np.array([0.5, -0.5]), covariance=np.diag([1.0, 0.25]), noise=0.5)
EIGENVALUES = (1.0, 0.25)


@pytest.mark.parametrize("world", [None, STEEP], ids=["alike", "steep"])
@pytest.mark.parametrize(
    "learner",
    [
        Sgd(),
        Sgd(shift=5.0),
        Sgd(steps="harmonic", shift=20.0),
        Sgd(steps="constant"),
        Sgd(steps="greedy"),
        Sgd(batch=5),
        Sgd(steps="greedy", batch=5),
        Sgd(form="variance"),
        Sgd(form="variance", batch=5),
        Sgd(form="least-squares"),
        Sgd(form="least-squares", steps="constant"),
        Sgd(form="least-squares", steps="greedy", batch=3),
        Sgd(output="weighted"),
        Sgd(output="weighted", form="variance"),
        Sgd(output="weighted", form="least-squares"),
        Sgd(output="uniform", steps="constant"),
        Sgd(output="uniform", steps="constant", form="variance"),
        Sgd(output="uniform", steps="constant", form="least-squares"),
        Sgd(output="tail", steps="constant", form="least-squares"),
        AnchoredErm(form="ols"),
        AnchoredErm(form="m-estimation", strength=0.0),
    ],
    ids=repr,
)
def test_built_in_learners_keep_their_promises(
    learner: Learner, world: GaussianRegression | None, rng: np.random.Generator
) -> None:
    check_learner(learner, world=world, samples=(3, 17, 64), runs=400, rng=rng)


@pytest.mark.parametrize(
    ("learner", "case"),
    [
        (Sgd(form="gaussian"), {}),
        (Sgd(form="gaussian", steps="greedy"), {}),
        (Sgd(form="gaussian", batch=4), {}),
        (Sgd(form="gaussian", steps="constant", output="uniform"), {}),
        (Sgd(form="gaussian", eigenvalues=EIGENVALUES), {"world": STEEP}),
        (Sgd(form="gaussian", eigenvalues=EIGENVALUES, steps="constant", output="tail"), {"world": STEEP}),
        (Sgd(form="row-smooth"), {"world": BOUNDED}),
        (Sgd(form="row-smooth", batch=4), {"world": BOUNDED}),
        (Sgd(form="row-smooth", steps="greedy"), {"world": BOUNDED}),
        (Sgd(form="row-smooth", output="weighted"), {"world": BOUNDED}),
        (Sgd(form="row-smooth", output="uniform", steps="constant"), {"world": BOUNDED}),
        (Sgd(form="bounded"), {"world": BOUNDED, "domain": Ball(2.0)}),
        (Sgd(form="bounded", output="weighted", shift=1.0), {"world": BOUNDED, "domain": Ball(2.0)}),
        (Sgd(form="bounded", output="uniform", steps="harmonic"), {"world": BOUNDED, "domain": Ball(2.0)}),
        (Sgd(), {"loss": SquaredLoss(l2=0.2), "world": STEEP}),
        (Sgd(), {"loss": HuberLoss(l2=0.2), "world": STEEP, "domain": Ball(3.0)}),
        (Sgd(), {"loss": SmoothedHinge(l2=0.1), "world": TwoClasses(mean=np.array([1.0, 0.0]), covariance=0.5)}),
        (AnchoredErm(), {}),
        (AnchoredErm(form="m-estimation"), {"samples": (12, 64)}),
        (AnchoredErm(form="penalised"), {"loss": SquaredLoss(l2=0.3), "world": BOUNDED}),
        (GradientPasses(15), {"loss": SquaredLoss(l2=0.3), "world": BOUNDED}),
    ],
    ids=lambda part: repr(part) if isinstance(part, Sgd | AnchoredErm | GradientPasses) else None,
)
def test_learners_that_need_a_custom_world(learner: Learner, case: dict[str, Any], rng: np.random.Generator) -> None:
    settings: dict[str, Any] = {"samples": (3, 17, 64), "runs": 400, "rng": rng} | case
    check_learner(learner, **settings)


class Liar:
    """An honest learner, but for what a test changes."""

    honest = Sgd(form="gaussian")

    def bound(self, constants: Constants, features: int) -> RiskBound:
        return self.honest.bound(constants, features)

    def fit(
        self,
        loss: Loss,
        domain: ConstraintSet,
        start: FloatArray,
        X: FloatArray,
        y: FloatArray,
        *,
        constants: Constants,
        distance: float,
    ) -> Fit:
        return self.honest.fit(loss, domain, start, X, y, constants=constants, distance=distance)


@dataclass(frozen=True, kw_only=True)
class Shrunk(FormulaBound):
    """A bound times a factor."""

    honest: Any
    factor: float
    name = "too good"
    nature = Nature.UPPER
    rate = -1.0
    conditions = ("none",)

    def start(self, distance: float) -> float:
        return float(self.honest.start(distance))

    def raw(self, distance: float, samples: int) -> float:
        return self.factor * float(self.honest(distance, samples))

    def reach(self, risk: float) -> float:
        return float(self.honest.reach(risk))


class PromisesTooMuch(Liar):
    factor = 0.1

    def bound(self, constants: Constants, features: int) -> RiskBound:
        return Shrunk(honest=self.honest.bound(constants, features), factor=self.factor)


class PromisesAFifthTooMuch(PromisesTooMuch):
    factor = 0.8


class IgnoresTheSet(Liar):
    def fit(self, loss: Loss, domain: ConstraintSet, *rest: Any, **more: Any) -> Fit:
        return self.honest.fit(loss, WholeSpace(), *rest, **more)


class StepsTooFar(Liar):
    def fit(self, *arguments: Any, **more: Any) -> Fit:
        return Sgd(steps="constant", step=0.3).fit(*arguments, **more)


class MovesWithoutRows(Liar):
    def fit(self, *arguments: Any, **more: Any) -> Fit:
        fitted = Liar.fit(self, *arguments, **more)
        return fitted if fitted.rows else replace(fitted, coef=fitted.coef + 1.0)


class ChangesItsStart(Liar):
    def fit(self, loss: Loss, domain: ConstraintSet, start: FloatArray, *rest: Any, **more: Any) -> Fit:
        fitted = Liar.fit(self, loss, domain, start, *rest, **more)
        if fitted.rows:
            start += 1.0
        return fitted


class RollsDice(Liar):
    def fit(self, *arguments: Any, **more: Any) -> Fit:
        fitted = Liar.fit(self, *arguments, **more)
        return (
            replace(fitted, coef=fitted.coef + 1e-6 * np.random.default_rng().standard_normal())
            if fitted.rows
            else fitted
        )


class SeldomExplodes(Liar):
    """Right on the whole, and a hundred million off in one run of a hundred: no mean with its error can see it."""

    def fit(self, loss: Loss, domain: ConstraintSet, start: FloatArray, X: FloatArray, *rest: Any, **more: Any) -> Fit:
        fitted = Liar.fit(self, loss, domain, start, X, *rest, **more)
        unlucky = fitted.rows not in (0, 37) and int(abs(X[0, 0]) * 1e6) % 100 == 0  # 37 rows show its conduct
        return replace(fitted, coef=fitted.coef + 1e8) if unlucky else fitted


class ForgetsThePenalty(Liar):
    def fit(self, loss: Loss, *rest: Any, **more: Any) -> Fit:
        fitted = Liar.fit(self, loss, *rest, **more)
        return replace(fitted, gradient=fitted.gradient * 0.99)


@pytest.mark.parametrize(
    ("liar", "sentence"),
    [
        (PromisesTooMuch(), "promises a mean excess risk"),
        (PromisesAFifthTooMuch(), "promises a mean excess risk"),
        (StepsTooFar(), "promises a mean excess risk"),
        (SeldomExplodes(), "times that in"),
        (IgnoresTheSet(), "outside the set"),
        (MovesWithoutRows(), "does not return the start"),
        (ChangesItsStart(), "changes its start or its rows"),
        (RollsDice(), "two answers to the same call"),
        (ForgetsThePenalty(), "from the mean gradient"),
        (object(), "does not have every member"),
    ],
)
def test_learners_that_lie_are_caught(liar: Any, sentence: str, rng: np.random.Generator) -> None:
    with pytest.raises(AssertionError, match=sentence) as caught:
        check_learner(liar, rng=rng)
    assert str(caught.value).endswith(".")


def test_the_honest_learner_behind_the_liars_passes(rng: np.random.Generator) -> None:
    check_learner(Liar(), rng=rng)
    assert math.isfinite(Liar().bound(Constants.given(m=1.0, M=1.0, noise=0.5, trace=3.0), 3)(1.0, 10))
