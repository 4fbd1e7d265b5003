"""Means of functions of one normal variable, to rounding error.

E F(T), T ~ N(mean, scale^2), by Gauss-Legendre rules on panels that are at most one standard deviation wide and are cut at
``breaks``, the places where F has a kink or lives at a scale of its own. Beyond 12 standard deviations there is nothing
left to find: the mass there is below 1e-32.
"""

from collections.abc import Sequence

import numpy as np

from driftpace.typing import FloatArray

_REACH = 12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def normal_rule(
    mean: FloatArray, scale: FloatArray, breaks: Sequence[float] | FloatArray = ()
) -> tuple[FloatArray, FloatArray]:
    """Return nodes u and weights p, (..., nodes), with E F(T) = sum p F(mean + scale u) for each mean and scale.

    A scale of zero is allowed: T is then its mean. ``breaks`` are places in T, the same for all or (..., breaks) for each.

    >>> import numpy as np
    >>> u, p = normal_rule(np.array(1.0), np.array(2.0), breaks=[0.0])
    >>> float((p * np.maximum(1.0 + 2.0 * u, 0.0)).sum())  # E max(T, 0)
    1.39559
    """
    mean, scale = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(scale, np.float64))
    grid = np.broadcast_to(np.arange(-_REACH, _REACH + 1.0), (*mean.shape, 2 * _REACH + 1))
    if len(breaks):
        spread = np.where(scale > 0.0, scale, 1.0)[..., None]
        cuts = np.clip((np.asarray(breaks, np.float64) - mean[..., None]) / spread, -_REACH, _REACH)
        grid = np.sort(np.concatenate([grid, cuts], axis=-1), axis=-1)
    half = 0.5 * np.diff(grid, axis=-1)[..., None]
    middle = 0.5 * (grid[..., 1:] + grid[..., :-1])[..., None]
    u = (middle + half * _NODES).reshape(*mean.shape, -1)
    weights = (half * _WEIGHTS).reshape(*mean.shape, -1)
    return u, weights * np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
