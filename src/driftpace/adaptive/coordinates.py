"""Whitened coordinates in which every direction costs alike, the level first (theory S2).

With the pooled Hessian H = L L' of the rows seen and u = L'w, the excess risk of a quadratic is ||u - u*||^2 / 2. The
intercept comes first, so that u_1 is the level, the score of an average row, and the other coordinates are slopes only.
What usually drifts is the level, so level and slopes are two blocks, each with a drift of its own. Without an intercept
there is one block.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from driftpace.typing import FloatArray

RIDGE = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Coordinates:
    """The factor L of the pooled Hessian and its inverse."""

    factor: FloatArray
    inverse: FloatArray

    def white_rows(self, X: FloatArray) -> FloatArray:
        """Return rows x as L^-1 x, so that x'w stays what it is."""
        return X @ self.inverse.T

    def white_matrix(self, A: FloatArray) -> FloatArray:
        """Return a matrix of second derivatives, or a covariance of gradients, in these coordinates."""
        return np.asarray(self.inverse @ A @ self.inverse.T)

    def white(self, w: FloatArray) -> FloatArray:
        """Return coefficients as coordinates u = L'w."""
        return np.asarray(self.factor.T @ w)

    def plain(self, u: FloatArray) -> FloatArray:
        """Return coordinates as coefficients."""
        return np.asarray(self.inverse.T @ u)


def coordinates(hessian: FloatArray) -> Coordinates:
    """Return the coordinates of a Hessian; directions without curvature get a billionth of their own scale.

    >>> white = coordinates(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> white.white_matrix(np.array([[1.0, 0.5], [0.5, 1.0]])).round(6)
    array([[1., 0.],
           [0., 1.]])
    """
    from scipy.linalg.lapack import dpotrf, dtrtri  # slow to import, and not always needed

    scale = np.sqrt(hessian.diagonal())
    scale[~(scale > 0.0)] = 1.0
    correlation = hessian / np.multiply.outer(scale, scale)
    diagonal = correlation.ravel()[:: len(scale) + 1]
    own = diagonal.copy()
    for power in range(8):
        diagonal[:] = own + RIDGE * 10.0**power
        factor, failed = dpotrf(correlation, lower=True)
        if not failed and np.isfinite(factor[-1]).all():
            break
    else:
        raise ValueError("the Hessian is not finite")
    inverse, _ = dtrtri(factor, lower=True)
    # in rows, as a saved state has them: the bits of a product depend on the order of its factors in memory
    return Coordinates(
        factor=np.ascontiguousarray(factor * scale[:, None]), inverse=np.ascontiguousarray(inverse / scale[None, :])
    )


def with_diagonal(matrix: FloatArray, added: FloatArray | float) -> FloatArray:
    """Return a square matrix with numbers added to its diagonal."""
    result = matrix.copy(order="C")
    result.ravel()[:: len(result) + 1] += added
    return result


@cache
def blocks(size: int, intercept: bool, outputs: int = 1, bands: tuple[int, ...] = ()) -> tuple[slice, ...]:
    """Return the blocks of coordinates: the levels, one for each output, the slopes, and ``bands`` of so many last columns each.

    >>> blocks(8, True, bands=(2, 3))
    (slice(0, 1, None), slice(1, 3, None), slice(3, 5, None), slice(5, 8, None))
    """
    ends = [size - outputs * sum(bands)]
    for band in bands:
        ends.append(ends[-1] + outputs * band)
    starts = [0, *ends[:-1]]
    if intercept and ends[0] > outputs:
        starts, ends = [0, outputs, *ends[:-1]], [outputs, *ends]
    return tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))
