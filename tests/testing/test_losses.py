"""check_loss passes what is right and says what is wrong."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from driftpace.errors import DataError
from driftpace.losses import Curve, HuberLoss, LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.testing import check_loss
from driftpace.typing import FloatArray

LOSSES: list[LinearLoss] = [
    SquaredLoss(),
    SquaredLoss(l2=0.1, unpenalised=1),
    SmoothedHinge(),
    SmoothedHinge(l2=0.1),
    LogisticLoss(),
    LogisticLoss(l2=3.0, unpenalised=5),
    HuberLoss(threshold=0.2),
    HuberLoss(threshold=2.0, l2=0.1),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_built_in_loss_passes(loss: LinearLoss, seed: int) -> None:
    check_loss(loss)
    for more in range(3):
        check_loss(loss, rng=np.random.default_rng([seed, more]))


SQUARE = SquaredLoss().curve


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongGradient(SquaredLoss):
    """The value is |r|, the gradient that of another function: the fault that style.md describes."""

    @property
    def curve(self) -> Curve:
        return Curve(
            phi=lambda s, y: np.abs(s - y),
            slope=lambda s, y: (s - y) / (1.0 + (s - y) ** 2),
            bend=SQUARE.bend,
            curvature=1.0,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongBend(LogisticLoss):
    """A bend that is one per cent too large."""

    @property
    def curve(self) -> Curve:
        right = LogisticLoss().curve
        return replace(right, bend=lambda s, y: 1.01 * right.bend(s, y))


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongCurvature(LogisticLoss):
    """A curvature that some score exceeds."""

    @property
    def curve(self) -> Curve:
        return replace(LogisticLoss().curve, curvature=0.15)


@dataclass(frozen=True, kw_only=True, slots=True)
class Jumps(SquaredLoss):
    """|r|, whose slope jumps, with a curvature that no row exceeds at the distances of a finite difference."""

    @property
    def curve(self) -> Curve:
        return Curve(
            phi=lambda s, y: np.abs(s - y),
            slope=lambda s, y: np.sign(s - y),
            bend=lambda s, y: np.zeros_like(s),
            curvature=1e9,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class NotConvex(SquaredLoss):
    """1 - exp(-r^2/2), with its true derivatives but for a bend cut at zero."""

    @property
    def curve(self) -> Curve:
        return Curve(
            phi=lambda s, y: 1.0 - np.exp(-0.5 * (s - y) ** 2),
            slope=lambda s, y: (s - y) * np.exp(-0.5 * (s - y) ** 2),
            bend=lambda s, y: np.maximum((1.0 - (s - y) ** 2) * np.exp(-0.5 * (s - y) ** 2), 0.0),
            curvature=1.0,
        )

    def hessian(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        off = X @ coef - y
        bend = (1.0 - off**2) * np.exp(-0.5 * off**2)
        return (bend[:, None] * X).T @ X / len(y)

    def hessian_product(self, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> FloatArray:
        return self.hessian(coef, X, y) @ direction


@dataclass(frozen=True, kw_only=True, slots=True)
class Overflows(LogisticLoss):
    """log(1 + exp(-ys)) as a beginner writes it."""

    @property
    def curve(self) -> Curve:
        return replace(LogisticLoss().curve, phi=lambda s, y: np.log(1.0 + np.exp(-y * s)))


@dataclass(frozen=True, kw_only=True, slots=True)
class SumNotMean(SquaredLoss):
    """A value that is a sum."""

    def value(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> float:
        return len(y) * SquaredLoss.value(self, coef, X, y)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetsPenalty(SquaredLoss):
    """A mean gradient without the penalty."""

    def gradient(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        return SquaredLoss().gradient(coef, X, y)


@dataclass(frozen=True, kw_only=True, slots=True)
class PenalisesIntercept(SquaredLoss):
    """A penalty on every coefficient, whatever ``unpenalised`` says."""

    def penalty_weights(self, features: int) -> FloatArray:
        return np.full(features, self.l2)

    def _penalty(self, coef: FloatArray) -> float:
        return 0.5 * self.l2 * float(coef @ coef)


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongProduct(SquaredLoss):
    """A Hessian product that forgets to divide by the rows."""

    def hessian_product(self, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> FloatArray:
        return X.T @ (X @ direction)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutates(SquaredLoss):
    """A gradient that scales the rows in place."""

    def gradient(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        right = SquaredLoss.gradient(self, coef, X, y)
        y += 1e-3
        return right


@dataclass(frozen=True, kw_only=True, slots=True)
class AcceptsNan(SquaredLoss):
    """Targets are not looked at."""

    def encode(self, y: FloatArray) -> FloatArray:
        return np.asarray(y, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetsZero(SmoothedHinge):
    """0/1 targets are left as they are."""

    def encode(self, y: FloatArray) -> FloatArray:
        SmoothedHinge.encode(self, y)
        return np.asarray(y, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgetsUnpenalised(SquaredLoss):
    """with_unpenalised changes nothing."""

    def with_unpenalised(self, trailing: int) -> "ForgetsUnpenalised":
        return self


BROKEN: list[tuple[LinearLoss, str]] = [
    (WrongGradient(), "has a gradient that is not the gradient of its value"),
    (WrongBend(), "has a Hessian that is not the derivative of its gradient"),
    (WrongCurvature(), "has a gradient that changes faster than its row_smoothness allows"),
    (NotConvex(), "is not convex"),
    (Jumps(), "has a gradient that jumps"),
    (Overflows(), "overflows at scores of 1e100"),
    (SumNotMean(), "has a value that is not the mean of its row values"),
    (ForgetsPenalty(l2=0.1), "has a gradient that is not the mean of its row gradients"),
    (PenalisesIntercept(l2=0.1), "has a penalty that does not leave the trailing unpenalised coefficients alone"),
    (WrongProduct(), "has a hessian_product that is not the Hessian times the direction"),
    (Mutates(), "changes an array that gradient was given"),
    (AcceptsNan(), "does not refuse a target of nan with a DataError"),
    (ForgetsZero(), r"does not encode \[0, 1\] as \[-1.0, 1.0\]"),
    (ForgetsUnpenalised(unpenalised=1), "does not keep the number given to with_unpenalised"),
]


@pytest.mark.parametrize(("loss", "sentence"), BROKEN, ids=lambda value: type(value).__name__)
def test_a_broken_loss_is_caught_by_name(loss: LinearLoss, sentence: str, seed: int) -> None:
    for more in range(3):
        with pytest.raises(AssertionError, match=f"^The loss {sentence}.*\\.$"):
            check_loss(loss, rng=np.random.default_rng([seed, more]))


def test_something_that_is_no_loss_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"^The loss does not have every method"):
        check_loss(object())  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftCount(SquaredLoss):
    """A loss whose targets are counts, which are neither any number nor two classes."""

    def encode(self, y: FloatArray) -> FloatArray:
        if not (np.asarray(y) >= 0.0).all():
            raise DataError("y must be counts.")
        return np.asarray(y, dtype=np.float64)


def test_a_loss_may_define_its_targets() -> None:
    check_loss(SoftCount(), targets=lambda rng, rows: rng.poisson(2.0, rows).astype(np.float64))
    with pytest.raises(AssertionError, match="encodes neither numbers nor"):
        check_loss(SoftCount())
