"""The ways to know how noisy a gradient is, by name: which constants each reads, and what it makes of them (theory 1.1, 1.2)."""

from collections.abc import Callable
from typing import NamedTuple

from driftpace.bounds import NoiseModel, SecondMoment
from driftpace.records import Constants

_ROWS = "rows are independent draws of the period's distribution, each used once"
_INTERIOR = "the gradient of the risk is zero at the minimiser (it is not on the border of the set)"


class Form(NamedTuple):
    """``noise(constants, batch)`` for the last iterate, ``moment(constants)`` for averages."""

    noise: Callable[[Constants, int], NoiseModel]
    moment: Callable[[Constants], SecondMoment]


def _second_moment(constants: Constants, batch: int) -> NoiseModel:
    M = constants.safe("M") if batch > 1 else None
    return NoiseModel.second_moment(A=constants.safe("A"), B=constants.safe("B"), M=M)


def _row_smooth(constants: Constants, batch: int) -> NoiseModel:
    L = constants.safe("L")  # the mean of L-smooth rows is L-smooth, so M may be taken as no more
    M = min(constants.safe("M"), L) if batch > 1 else None
    return NoiseModel.row_smooth(sigma_star=constants.safe("sigma_star"), L=L, m=constants.safe("m"), M=M)


def _variance(constants: Constants, batch: int) -> NoiseModel:
    del batch
    return NoiseModel.variance(
        sigma=constants.safe("sigma"), V=constants.safe("V"), m=constants.safe("m"), M=constants.safe("M")
    )


def _variance_moment(constants: Constants) -> SecondMoment:
    """E||g||^2 = E||g - grad f||^2 + ||grad f||^2, and ||grad f||^2 <= M <grad f(w), w - w*> where grad f(w*) = 0."""
    sigma, V, M = constants.safe("sigma"), constants.safe("V"), constants.safe("M")
    return SecondMoment(
        A=sigma**2,
        B=V,
        C=M,
        conditions=(
            _ROWS,
            _INTERIOR,
            f"the risk is convex and {M:.4g}-smooth",
            f"a row's gradient has variance E||g - grad f||^2 <= {sigma**2:.4g} + {V:.4g} ||w - w*||^2",
        ),
    )


def _least_squares(constants: Constants, batch: int) -> NoiseModel:
    R2 = constants.safe("R2")  # E||x||^2 xx' <= R2 H makes H <= R2 I
    M = min(constants.safe("M"), R2) if batch > 1 else None
    return NoiseModel.least_squares(
        noise=constants.safe("noise"), trace=constants.safe("trace"), R2=R2, m=constants.safe("m"), M=M
    )


def _gaussian(constants: Constants, batch: int) -> NoiseModel:
    M = constants.safe("M")
    return NoiseModel.least_squares(
        noise=constants.safe("noise"),
        trace=constants.safe("trace"),
        R2=gaussian_R2(constants),
        m=constants.safe("m"),
        M=M if batch > 1 else None,
    )


def _bounded(constants: Constants, batch: int) -> NoiseModel:
    del batch
    return NoiseModel.second_moment(A=constants.safe("G") ** 2, B=0.0)


def gaussian_R2(constants: Constants) -> float:
    """Return 2 lambda_max + tr H, the R2 of Gaussian features (theory 1.1b).

    >>> gaussian_R2(Constants.given(M=1.0, trace=2.0))
    4.0
    """
    return 2.0 * constants.safe("M") + constants.safe("trace")


FORMS: dict[str, Form] = {
    "second-moment": Form(_second_moment, lambda constants: SecondMoment(A=constants.safe("A"), B=constants.safe("B"))),
    "row-smooth": Form(
        _row_smooth,
        lambda constants: SecondMoment.row_smooth(sigma_star=constants.safe("sigma_star"), L=constants.safe("L")),
    ),
    "variance": Form(_variance, _variance_moment),
    "least-squares": Form(
        _least_squares,
        lambda constants: SecondMoment.least_squares(
            noise=constants.safe("noise"), trace=constants.safe("trace"), R2=constants.safe("R2")
        ),
    ),
    "gaussian": Form(
        _gaussian,
        lambda constants: SecondMoment.least_squares(
            noise=constants.safe("noise"), trace=constants.safe("trace"), R2=gaussian_R2(constants)
        ),
    ),
    "bounded": Form(
        _bounded,
        lambda constants: SecondMoment(A=constants.safe("G") ** 2),
    ),
}
