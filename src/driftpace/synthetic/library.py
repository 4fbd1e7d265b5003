"""A small library of drifting worlds, ready to use: one for each way in which the best model may move.

Each is a :class:`~driftpace.synthetic.DriftingPopulation`: ``world.period(n)`` draws rows and knows its ``minimiser``, ``risk`` and
``excess_risk``, and ``world.rho_at(loss, n)`` says how far the minimiser moves. All of them know the squared loss. Their numbers
may be changed by name; those not named are the ones of the classes they are made of.

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
    """Return the paper's synthetic regression: coefficients that walk by ``rho`` a period in random directions (theory 6.1).

    For whether a method finds out how fast the world moves, where the truth is one number.

    >>> from driftpace.losses import SquaredLoss
    >>> regression(rho=0.3).rho_at(SquaredLoss(), 9)
    0.3
    """
    return DriftingRegression(features=features, rho=rho, noise=noise, rng=rng)


def classification(
    *, features: int = 2, angle: float = math.pi / 25.0, radius: float = 1.0, variance: float = 0.5
) -> DriftingClasses:
    """Return the paper's synthetic classification: two Gaussian classes that turn half round in 25 periods (theory 6.2).

    For a model that goes from good to wrong way round without a moment at which anything broke.

    >>> world = classification()
    >>> [round(world.period(n).auc([1.0, 0.0]), 2) for n in (1, 13, 25)]
    [0.98, 0.55, 0.02]
    """
    return DriftingClasses(features=features, angle=angle, radius=radius, variance=variance)


def seasonal(
    *, rng: int = 0, features: int = 2, cost: float = _STEP, turn: int = 12, noise: float = 1.0
) -> ShapedRegression:
    """Return a regression that comes back to where it was after ``turn`` periods, by steps that cost a stale model ``cost``.

    For methods that could remember: the model of a year ago is right again, that of half a year ago as wrong as can be.

    >>> from driftpace.losses import SquaredLoss
    >>> world = seasonal(turn=12)
    >>> old = world.period(1).minimiser(SquaredLoss())
    >>> [round(world.period(n).excess_risk(SquaredLoss(), old), 2) for n in (2, 7, 13)]
    [0.12, 1.87, 0.0]
    """
    return ShapedRegression(features=features, cost=cost, shape="seasonal", rng=rng, turn=turn, noise=noise)


def jump(
    *, rng: int = 0, features: int = 2, cost: float = _STEP, jump_at: int = 13, noise: float = 1.0
) -> ShapedRegression:
    """Return a regression that stands still, but for one step into period ``jump_at`` that costs a stale model ``cost``.

    For what a method does with a surprise, and how soon it is at rest again.

    >>> from driftpace.losses import SquaredLoss
    >>> jump(jump_at=4).rhos(SquaredLoss(), periods=5)
    array([0. , 0. , 0.5, 0. ])
    """
    return ShapedRegression(features=features, cost=cost, shape="jump", rng=rng, jump_at=jump_at, noise=noise)


def rotating_features(
    *, angle: float = math.pi / 25.0, variances: tuple[float, float] = (2.0, 0.5), noise: float = 0.5
) -> RotatingFeatures:
    """Return a regression whose rows turn by ``angle`` a period, while their causes do to y what they always did.

    For drift that is nobody's doing but the instrument's: variances along the axes, noise and least risk stay as they are.

    >>> from driftpace.losses import SquaredLoss
    >>> world = rotating_features(angle=0.3)
    >>> [round(world.period(n).risk(SquaredLoss(), world.period(n).minimiser(SquaredLoss())), 3) for n in (1, 9)]
    [0.25, 0.25]
    """
    return RotatingFeatures(covariance=np.diag(variances), noise=noise, angle=angle)


def still(*, rng: int = 0, features: int = 2, noise: float = 1.0) -> ShapedRegression:
    """Return a regression that never moves: the control, in which buying fresh rows for ever is a waste.

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
"""The worlds by name."""
