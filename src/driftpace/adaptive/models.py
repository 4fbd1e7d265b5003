"""The ways in which a best model may move: a bank of drift models, from standing still to a straight line.

How the best model of a block of coordinates will move is unknown, so every plausible way is followed at once and weighted by
the data. In whitened coordinates one coordinate of the best model at period n is

    w*_n = theta_n + wobble,   wobble ~ N(0, nu)            what comes and goes within a period
    theta_(n+1) = theta_n + v_n                             what stays
    v_(n+1) = phi v_n + noise,  Var v = q                   how it moves: phi = 0 a random walk, phi = 1 a straight line

A trend is therefore a separate model and not a large random walk: steps that add up differ from steps that average out.
The costs of one step, ``q`` or ``nu`` in units of the target, lie on a geometric grid: 1/256 of the target matters only
after hundreds of periods, 64 times the target leaves nothing of a last model. Standing still is a model too.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray

COSTS = tuple(4.0**power for power in range(-4, 4))
"""What one step of a model costs a stale fit, in units of the target."""

_TURNING = 0.85
"""A velocity that keeps 0.85 of itself turns in about six periods: seasons, and trends that end."""

_KINDS = (  # share, step variance, persistence, wobble variance; variances in units of the cost
    (0.30, 1.0, 0.0, 0.0),  # a random walk
    (0.15, 1.0, _TURNING, 0.0),  # a trend that turns
    (0.15, 1.0, 1.0, 0.0),  # a straight line
    (0.20, 0.0, 0.0, 1.0),  # wobble about a fixed place
    (0.20, 1.0 / 16.0, 0.0, 1.0),  # wobble about a place that walks slowly
)
_STILL = 0.1
_TILT = 0.1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DriftModels:
    """The parameters of every model of a bank, one entry each; ``prior`` are log weights before anything is seen."""

    step: FloatArray
    persistence: FloatArray
    wobble: FloatArray
    prior: FloatArray


def drift_models(unit: float) -> DriftModels:
    """Return the bank for a block in which a step of cost 1 has variance ``unit`` in each coordinate.

    The prior falls very slowly, as cost^(-1/10): fast drift stays plausible until rows speak against it.

    >>> models = drift_models(0.01)
    >>> len(models.prior), float(models.step[0]), float(models.wobble[0])
    (41, 0.0, 0.0)
    """
    rows = [(_STILL, 0.0, 0.0, 0.0)]
    shares = [share * cost**-_TILT for cost in COSTS for share, *_ in _KINDS]
    scale = (1.0 - _STILL) / sum(shares)
    for cost in COSTS:
        for share, step, persistence, wobble in _KINDS:
            rows.append(
                (scale * share * cost**-_TILT, step * cost * unit, persistence, wobble * cost * unit),
            )
    table = np.array(rows)
    return DriftModels(
        step=table[:, 1].copy(), persistence=table[:, 2].copy(), wobble=table[:, 3].copy(), prior=np.log(table[:, 0])
    )
