"""How fast gradients grow away from the minimiser, for losses without a closed form: A, B, sigma, V by probing.

Gradients are taken at the model before, w, and at w +- r u for a few radii r, along two directions u: the longest of the rows,
and the one down which the zero model goes. The line A + B r^2 must lie above E||g||^2 at every probe; of all such lines the
lowest close to the minimiser is taken, since samples grow with A and hardly with B. Growth in other directions is not seen.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.constants.concentration import length, positive_ends
from driftpace.constants.units import in_units, largest_entry, shrink, unit_for
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray

RADII = np.array([0.5, 1.0, 2.0, 4.0])
CLOSE = 0.25
"""Where lines are compared, in radii."""
OFFSETS = np.concatenate([[0.0], RADII, RADII, RADII, RADII])  # twice there and back


@dataclass(frozen=True, kw_only=True, slots=True)
class Probes:
    """Sums over rows at each probe, in ``unit``: ||g||^2, its square, ||g - gbar||^2, its square. ``radius`` is r = 1.

    The radius is the distance over which the gradient changes by its own size, and is fixed by the first period that counts;
    as for other gradients, the first period of all is dropped when a second one comes.
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
        found = np.array([_moments(in_units(gradients, unit)) for gradients in probed]).T
        powers = np.array([2, 4, 2, 4])
        old = np.array([shrink(base.unit, unit, power) for power in powers.tolist()])
        return Probes(
            periods=self.periods + 1,
            rows=base.rows + rows,
            radius=radius,
            unit=unit,
            sums=base.sums * old[:, None] + found,
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
    ):  # places too close to be told apart give lines that are not allowed
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
