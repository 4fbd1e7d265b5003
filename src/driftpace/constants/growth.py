"""Growth of the gradients away from the minimiser: A, B, sigma, V and R2.

For the squared loss they have closed forms in moments of the rows (theory 1.1, 2). For other losses there are two ways, and
the smaller result is used: a proven bound from the smoothness of the loss, and probing. Gradients are probed at the previous
model w and at w +- r u for a few radii r, along two directions u: the longest of the rows, and the negative gradient of the
zero model. The line A + B r^2 must lie above E||g||^2 at every probe; among such lines the lowest close to the minimiser is
taken, since the sample size grows with A and hardly with B. Growth in other directions is not observed.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.constants.concentration import length, positive_ends, scaled_inverse
from driftpace.constants.moments import RowSummary, in_units, largest_entry, shrink, unit_for
from driftpace.constants.scores import Scores
from driftpace.losses.protocol import Loss
from driftpace.records import Estimate
from driftpace.typing import FloatArray

RADII = np.array([0.5, 1.0, 2.0, 4.0])
CLOSE = 0.25
"""Where lines are compared, in radii."""
OFFSETS = np.concatenate([[0.0], RADII, RADII, RADII, RADII])  # twice there and back


@dataclass(frozen=True, kw_only=True, slots=True)
class Probes:
    """Sums over rows at each probe, in ``unit``: ||g||^2, its square, ||g - gbar||^2, its square. ``radius`` is r = 1.

    The radius is the distance over which the gradient changes by its own size, and is fixed by the first period that counts;
    as for other gradients, the very first period is dropped once there is a second.
    """

    periods: int
    rows: int
    radius: float
    unit: float
    sums: FloatArray

    @classmethod
    def none(cls) -> "Probes":
        """Return the sums over no rows."""
        return cls(periods=0, rows=0, radius=0.0, unit=0.0, sums=np.zeros((4, OFFSETS.size)))

    def add(self, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> "Probes":
        """Return the sums with one more period of at least two rows."""
        rows = len(y)
        if rows < 2:
            return self
        base = self if self.periods != 1 else Probes.none()
        directions = _directions(loss, X, y)
        curvature = max(length(loss.hessian_product(coef, X, y, direction)) for direction in directions)
        here = loss.row_gradients(coef, X, y)
        radius = base.radius
        if radius == 0.0:
            size = largest_entry(here)
            typical = size * math.sqrt(float((in_units(here, size) ** 2).sum()) / rows)
            radius = typical / curvature if curvature > 0.0 else 0.0
        probed = [here]
        for direction in (sign * u for u in directions for sign in (-1.0, 1.0)):
            probed += [loss.row_gradients(coef + r * radius * direction, X, y) for r in RADII.tolist()]
        unit = unit_for(base.unit, max(largest_entry(gradients) for gradients in probed))
        sums = np.array([_moments(in_units(gradients, unit)) for gradients in probed]).T
        powers = np.array([2, 4, 2, 4])
        old = np.array([shrink(base.unit, unit, power) for power in powers.tolist()])
        return Probes(
            periods=self.periods + 1,
            rows=base.rows + rows,
            radius=radius,
            unit=unit,
            sums=base.sums * old[:, None] + sums,
        )

    def growth(self, *, centred: bool, off: float, confidence: float) -> tuple[float, float] | None:
        """Return the constant and the slope of the lowest line above E||g||^2 (or its centred form) at every probe.

        ``off`` is how far the models may have been from the minimisers: the probes are taken to be that much closer (theory 2).
        """
        if self.rows == 0 or self.radius == 0.0:
            return None
        mean, second = self.sums[2:] / self.rows if centred else self.sums[:2] / self.rows
        errors = np.sqrt(np.maximum(second - mean**2, 0.0) / self.rows)
        uppers = [positive_ends(*pair, confidence)[1] for pair in zip(mean.tolist(), errors.tolist(), strict=True)]
        near = np.maximum(np.abs(OFFSETS) - off / self.radius, 0.0) ** 2
        constant, slope = lowest_line(near, np.array(uppers), CLOSE**2)
        steep = self.unit / self.radius
        return self.unit * (self.unit * constant), steep * (steep * slope)


def lowest_line(places: FloatArray, heights: FloatArray, at: float) -> tuple[float, float]:
    """Return a, b >= 0 with a + b x_j >= h_j for every j and a + b ``at`` as small as possible: a linear programme in two unknowns.

    Its optimum is at a corner, and there are few.

    Examples
    --------
    >>> lowest_line(np.array([0.0, 1.0, 4.0]), np.array([1.0, 2.0, 3.0]), 2.0)
    (1.666666, 0.333333)
    """
    needed: dict[float, float] = {}
    for place, height in zip(places.tolist(), heights.tolist(), strict=True):
        needed[place] = max(height, needed.get(place, 0.0))
    places, heights = np.array(list(needed)), np.array(list(needed.values()))
    corners: list[tuple[float, float]] = [(float(heights.max()), 0.0)]
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # places too close to be distinguished give lines that are not allowed
        if places.min() > 0.0:
            corners.append((0.0, max(0.0, float((heights / places).max()))))
        for i in range(places.size):
            for j in range(i):
                slope = float((heights[i] - heights[j]) / (places[i] - places[j]))
                corners.append((float(heights[i] - slope * places[i]), slope))
        slack = 1e-12 * max(1.0, float(np.abs(heights).max()))
        allowed = [
            (a, b) for a, b in corners if a >= 0.0 and b >= 0.0 and bool((a + b * places >= heights - slack).all())
        ]
    return min(allowed, key=lambda line: line[0] + line[1] * at)


def _directions(loss: Loss, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    x = in_units(X, largest_entry(X))
    weighted = np.sqrt(np.einsum("ki,ki->k", x, x))[:, None] * x
    longest: FloatArray = np.linalg.eigh(weighted.T @ weighted)[1][:, -1]
    down = loss.gradient(np.zeros(X.shape[1]), X, y)
    size = length(down)
    return longest, down / size if size > 0.0 else longest


def _moments(gradients: FloatArray) -> list[Any]:
    rows = len(gradients)
    squares = np.einsum("ki,ki->k", gradients, gradients)
    centred = gradients - gradients.mean(axis=0)
    spread = np.einsum("ki,ki->k", centred, centred) * (rows / (rows - 1))
    return [squares.sum(), (squares**2).sum(), spread.sum(), (spread**2).sum()]


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """A, B, sigma, V; None where no period could be fitted separately."""

    A: Estimate | None
    B: Estimate
    sigma: Estimate | None
    V: Estimate


def curvature_trace(rows: RowSummary, weights: FloatArray, confidence: float) -> Estimate:
    """Return tr H, the mean of ||z||^2, with the penalty's part."""
    mean, second = rows.moments[0], max(rows.moments[1], rows.gaussian_moments[1])
    lower, upper = positive_ends(mean, math.sqrt(max(0.0, second - mean * mean) / rows.count), confidence)
    square, extra = rows.unit * rows.unit, float(weights.sum())
    return Estimate(
        value=square * mean + extra,
        lower=square * lower + extra,
        upper=square * upper + extra,
        rows=rows.count,
        account="mean of the curvature of rows",
    )


def row_ratio(rows: RowSummary, confidence: float) -> Estimate | None:
    """Return R2, the least number with E||x||^2 xx' <= R2 E xx', or None while E xx' is singular.

    The greatest eigenvalue of H^-1/2 Q H^-1/2, which errs upwards; the upper end adds its error along the longest direction.
    """
    inverse = scaled_inverse(rows.second) if rows.count > rows.features else None
    if inverse is None:
        return None
    root = np.linalg.cholesky(inverse)
    value = float(np.linalg.eigvalsh(root.T @ rows.fourth @ root)[-1])
    along = float(rows.eigenvalues[-1])  # the direction that decides for Gaussian rows
    fourth, sixth, eighth = _along(rows, along)
    variance = eighth - 2.0 * value * sixth + value * value * fourth
    error = math.sqrt(max(0.0, variance) / rows.count) / along
    account = "fourth moments of rows against their second moments"
    return _around(value, error, confidence, rows.count, [rows.unit] * 2, account)


def greatest_fourth(rows: RowSummary, confidence: float) -> Estimate:
    """Return the greatest eigenvalue of E||x||^2 xx'."""
    value, along = _greatest(rows.fourth, rows.second)
    error = math.sqrt(max(0.0, _along(rows, along)[2] - value * value) / rows.count)
    return _around(value, error, confidence, rows.count, [rows.unit] * 4, "fourth moments of rows")


def gaussian_tail(rows: RowSummary) -> float:
    """Return the squared coefficient of variation of e^2 ||x||^2 for Gaussian rows and noise: 3 E||x||^4/(E||x||^2)^2 - 1."""
    mean, second = rows.gaussian_moments[:2]
    return 3.0 * second / (mean * mean) - 1.0 if mean > 0.0 else 0.0


def growth(rows: RowSummary, scores: Scores, weights: FloatArray, confidence: float) -> Growth:
    """Return the constants of E||g||^2 <= A + B||w - w*||^2 and of the variance, for the squared loss.

    With S = E xx', Q = E||x||^2 xx' and penalty P, E||g||^2 is A + c'd + d'(Q - S^2 + (S + P)^2)d in d = w - w*, and the
    variance the same without (S + P)^2. The linear term is charged by a factor 1 + theta on both (see ``Scores.tilt``).
    """
    unit = unit_for(rows.unit, math.sqrt(float(weights.max()))) or 1.0  # rows may be tiny beside the penalty
    ratio = shrink(rows.unit, unit, 2)
    variance = rows.fourth - rows.second @ rows.second
    V, along = _greatest(variance, rows.second)
    penalised = rows.second * ratio + np.diag(weights / unit / unit)
    B, _ = _greatest(variance * ratio * ratio + penalised @ penalised, rows.second)
    error = math.sqrt(max(0.0, _along(rows, along)[2] - V * V) / rows.count)
    tilt_B, tilt_V = 1.0 + scores.tilt(B, unit), 1.0 + scores.tilt(V, rows.unit)
    account = "second and fourth moments of rows"
    lengths = scores.squared_length(confidence, floor=gaussian_tail(rows))
    return Growth(
        A=None if lengths is None else _times(lengths, tilt_B, root=False),
        B=_around(B * tilt_B, error * ratio * ratio * tilt_B, confidence, rows.count, [unit] * 4, account),
        sigma=None if lengths is None else _times(lengths, tilt_V, root=True),
        V=_around(V * tilt_V, error * tilt_V, confidence, rows.count, [rows.unit] * 4, account),
    )


def _greatest(matrix: FloatArray, hessian: FloatArray) -> tuple[float, float]:
    """Return the greatest eigenvalue, and the second moment of rows along its direction."""
    values, vectors = np.linalg.eigh(matrix)
    direction = vectors[:, -1]
    return max(0.0, float(values[-1])), float(direction @ hessian @ direction)


def _along(rows: RowSummary, along: float) -> tuple[float, float, float]:
    """Return E(z'u)^4, E||z||^2 (z'u)^4 and E||z||^4 (z'u)^4 for a direction with E(z'u)^2 = ``along``.

    Those of Gaussian rows with the same second moments, times the factor by which the rows' own E||z||^8 is larger.
    """
    mean, second, _, eighth = rows.gaussian_moments
    tail = max(1.0, rows.moments[3] / eighth) if eighth > 0.0 else 1.0
    rest = mean - along
    rest_square = max(rest * rest, second - 2.0 * rest * along - 3.0 * along * along)  # E(||z||^2 - (z'u)^2)^2
    return (
        tail * 3.0 * along**2,
        tail * (15.0 * along**3 + 3.0 * along**2 * rest),
        tail * (105.0 * along**4 + 30.0 * along**3 * rest + 3.0 * along**2 * rest_square),
    )


def _around(value: float, error: float, confidence: float, count: int, units: list[float], account: str) -> Estimate:
    """Return the estimate in true units, multiplied one by one: zero times an overflow would not be a number."""
    value, lower, upper = (math.prod([end, *units]) for end in (value, *positive_ends(value, error, confidence)))
    return Estimate(value=value, lower=lower, upper=upper, rows=count, account=account)


def _times(estimate: Estimate, factor: float, *, root: bool) -> Estimate:
    ends = [factor * end for end in (estimate.value, estimate.lower, estimate.upper)]
    value, lower, upper = (math.sqrt(end) for end in ends) if root else ends
    return Estimate(value=value, lower=lower, upper=upper, rows=estimate.rows, account=estimate.account)


def smooth_growth(
    rows: RowSummary, *, curvature: float, l2: float, at_minimiser: float, confidence: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return (A, B) and (sigma^2, V) from E||g(w*)||^2 and the moments of plain rows, upper ends.

    g(w) - g(w*) is at most c|x'd| x + l2 d for d = w - w*, so E||g(w) - g(w*)||^2 <= d'(c^2 Q + 2 l2 c S + l2^2)d with
    S = E xx' and Q = E||x||^2 xx', and E||g||^2 is at most twice that plus twice E||g(w*)||^2.

    Examples
    --------
    >>> import numpy as np
    >>> from driftpace.constants.moments import RowMoments
    >>> rows = RowMoments.none(1).add(np.array([[1.0], [-1.0]])).summary()
    >>> smooth_growth(rows, curvature=0.25, l2=0.0, at_minimiser=3.0, confidence=0.5)[0][0]
    6.0
    """
    fourth = greatest_fourth(rows, confidence).upper
    second = math.prod([float(rows.eigenvalues[-1]), rows.unit, rows.unit])
    moved = curvature * curvature * fourth
    whole = moved + 2.0 * l2 * curvature * second + l2 * l2
    return (2.0 * at_minimiser, 2.0 * whole), (2.0 * at_minimiser, 2.0 * moved)
