"""A small library of drifting populations: one for each way in which the minimiser may move.

Each is a :class:`~driftpace.synthetic.DriftingPopulation`: ``population.period(n)`` draws rows and has ``minimiser``, ``risk`` and
``excess_risk``, and ``population.rho_at(loss, n)`` measures how far the minimiser moves. All support the squared loss. Their
parameters may be changed by name; the others are the defaults of the classes they are made of.

>>> from driftpace.losses import SquaredLoss
>>> for name, make in POPULATIONS.items():
...     print(f"{name:18s}", make().rhos(SquaredLoss(), periods=6))
regression         [1. 1. 1. 1. 1.]
classification     [0.0838 0.0838 0.0838 0.0838 0.0838]
seasonal           [0.5 0.5 0.5 0.5 0.5]
jump               [0. 0. 0. 0. 0.]
rotating_features  [0.1256 0.1256 0.1256 0.1256 0.1256]
still              [0. 0. 0. 0. 0.]
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from driftpace.synthetic.drifting import DriftingClasses, DriftingRegression, RotatingFeatures
from driftpace.synthetic.protocol import DriftingPopulation
from driftpace.synthetic.shaped_regression import ShapedRegression

_STEP = 0.125  # what a step costs a stale model, half its squared length where rows are white: a step of 1/2


def regression(*, rng: int = 0, features: int = 2, rho: float = 1.0, noise: float = 0.08) -> DriftingRegression:
    """Create the paper's synthetic regression: coefficients that walk by ``rho`` a period in random directions (theory 6.1).

    Tests whether a method estimates the drift, where the truth is a single number.

    Parameters
    ----------
    rng : int, default 0
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    features : int, default 2
        Number of columns of X.
    rho : float, default 1.0
        Distance the coefficients move each period.
    noise : float, default 0.08
        Variance of the noise.

    Returns
    -------
    DriftingRegression
        The drifting population.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> regression(rho=0.3).rho_at(SquaredLoss(), 9)
    0.3
    """
    return DriftingRegression(features=features, rho=rho, noise=noise, rng=rng)


def classification(
    *, features: int = 2, angle: float = math.pi / 25.0, radius: float = 1.0, variance: float = 0.5
) -> DriftingClasses:
    """Create the paper's synthetic classification: two Gaussian classes that rotate by half a turn in 25 periods (theory 6.2).

    A fixed model goes from accurate to reversed without any abrupt change.

    Parameters
    ----------
    features : int, default 2
        Number of columns of X.
    angle : float, default 0.12566370614359174
        Rotation per period, in radians.
    radius : float, default 1.0
        Distance of the class means from the origin.
    variance : float, default 0.5
        Variance of a class in every direction.

    Returns
    -------
    DriftingClasses
        The drifting population.

    Examples
    --------
    >>> population = classification()
    >>> [round(population.period(n).auc([1.0, 0.0]), 2) for n in (1, 13, 25)]
    [0.98, 0.55, 0.02]
    """
    return DriftingClasses(features=features, angle=angle, radius=radius, variance=variance)


def seasonal(
    *, rng: int = 0, features: int = 2, cost: float = _STEP, turn: int = 12, noise: float = 1.0
) -> ShapedRegression:
    """Create a regression that returns to its start after ``turn`` periods.

    Tests methods with memory: the model of one season ago is optimal again, that of half a season ago is the worst.

    Parameters
    ----------
    rng : int, default 0
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    features : int, default 2
        Number of columns of X.
    cost : float, default 0.125
        Excess risk that one step of drift costs a stale model.
    turn : int, default 12
        Periods in a season, for ``shape='seasonal'``.
    noise : float, default 1.0
        Variance of the noise.

    Returns
    -------
    ShapedRegression
        The drifting population.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> population = seasonal(turn=12)
    >>> old = population.period(1).minimiser(SquaredLoss())
    >>> [round(population.period(n).excess_risk(SquaredLoss(), old), 2) for n in (2, 7, 13)]
    [0.12, 1.87, 0.0]
    """
    return ShapedRegression(features=features, cost=cost, shape="seasonal", rng=rng, turn=turn, noise=noise)


def jump(
    *, rng: int = 0, features: int = 2, cost: float = _STEP, jump_at: int = 13, noise: float = 1.0
) -> ShapedRegression:
    """Create a regression that is constant except for one step into period ``jump_at``.

    Tests the response to an abrupt change, and the recovery from it.

    Parameters
    ----------
    rng : int, default 0
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    features : int, default 2
        Number of columns of X.
    cost : float, default 0.125
        Excess risk that one step of drift costs a stale model.
    jump_at : int, default 13
        Period of the jump, for ``shape='jump'``.
    noise : float, default 1.0
        Variance of the noise.

    Returns
    -------
    ShapedRegression
        The drifting population.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> jump(jump_at=4).rhos(SquaredLoss(), periods=5)
    array([0. , 0. , 0.5, 0. ])
    """
    return ShapedRegression(features=features, cost=cost, shape="jump", rng=rng, jump_at=jump_at, noise=noise)


def rotating_features(
    *, angle: float = math.pi / 25.0, variances: tuple[float, float] = (2.0, 0.5), noise: float = 0.5
) -> RotatingFeatures:
    """Create a regression whose measurements rotate by ``angle`` a period, while their causes keep their effect on y.

    Drift caused by the instrument alone: variances along the axes, noise and least risk stay constant.

    Parameters
    ----------
    angle : float, default 0.12566370614359174
        Rotation per period, in radians.
    variances : tuple[float, float], default (2.0, 0.5)
        Variances along the two axes.
    noise : float, default 0.5
        Variance of the noise.

    Returns
    -------
    RotatingFeatures
        The drifting population.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> population = rotating_features(angle=0.3)
    >>> [round(population.period(n).risk(SquaredLoss(), population.period(n).minimiser(SquaredLoss())), 3) for n in (1, 9)]
    [0.25, 0.25]
    """
    return RotatingFeatures(covariance=np.diag(variances), noise=noise, angle=angle)


def still(*, rng: int = 0, features: int = 2, noise: float = 1.0) -> ShapedRegression:
    """Create a regression without drift: the control, in which buying fresh rows is a waste.

    Parameters
    ----------
    rng : int, default 0
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    features : int, default 2
        Number of columns of X.
    noise : float, default 1.0
        Variance of the noise.

    Returns
    -------
    ShapedRegression
        The population, the same in every period.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> still().rho_at(SquaredLoss(), 100)
    0.0
    """
    return ShapedRegression(features=features, cost=0.0, shape="still", rng=rng, noise=noise)


POPULATIONS: Mapping[str, Callable[..., DriftingPopulation]] = MappingProxyType(
    {
        "regression": regression,
        "classification": classification,
        "seasonal": seasonal,
        "jump": jump,
        "rotating_features": rotating_features,
        "still": still,
    }
)
"""The populations by name."""
