"""Vectorised evaluation of an outlook, for the planner's tables.

Most bounds have a simple form in the distance (alpha d^2 + beta, a harmonic sum), so that a table is one array expression. The form
is checked at many points; other bounds are evaluated point by point.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.planning.outlook import Outlook
from driftpace.typing import FloatArray, IntArray

_PROBES = 24
_SAME = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class OutlookArrays:
    """An ``outlook`` on arrays. ``square``: idle risk = square d^2; ``root``: reach = root sqrt(risk); None if not of this form.

    ``widest`` is the largest distance in a plan of ``horizon`` periods.

    >>> from driftpace.bounds import Anchored
    >>> arrays = OutlookArrays.of(Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), horizon=10)
    >>> arrays.after(np.array([1.0, 3.0]), np.array([10, 40])).round(4)
    array([[0.1667, 0.0385],
           [0.2368, 0.0413]])
    >>> arrays.idle(np.array([1.0])), arrays.reach(np.array([0.02]))
    (array([0.5]), array([0.2]))
    """

    outlook: Outlook
    widest: float
    square: float | None
    root: float | None

    @classmethod
    def of(cls, outlook: Outlook, horizon: int) -> "OutlookArrays":
        """Return the vectorised outlook for a horizon."""
        widest = max(outlook.first_distance(horizon), outlook.idle_distance(outlook.start, horizon), 1e-9)
        probes = np.geomspace(1e-6 * widest, widest, _PROBES)
        return cls(outlook, widest, _square(outlook, probes), _root(outlook, widest))

    def idle(self, distances: FloatArray) -> FloatArray:
        """Return the risk at each distance without samples."""
        if self.square is not None:
            return self.square * np.square(distances)
        bound = self.outlook.bound
        return np.array([bound(float(d), 0) for d in distances.ravel()]).reshape(distances.shape)

    def reach(self, risks: FloatArray) -> FloatArray:
        """Return the largest distance from its optimum of a model with each risk."""
        if self.root is not None:
            return self.root * np.sqrt(risks)
        reach = self.outlook.reach
        return np.array([reach(float(risk)) for risk in risks.ravel()]).reshape(risks.shape)

    def moved(self, reach: FloatArray, gap: int | IntArray) -> FloatArray:
        """Return each distance ``gap`` periods later."""
        outlook = self.outlook
        if outlook.steps == "walk":
            distances = np.sqrt(np.square(reach) + gap * outlook.rho**2)
        else:
            distances = reach + gap * outlook.rho
        return np.minimum(distances, outlook.diameter)

    def factors(self, counts: IntArray) -> tuple[FloatArray, FloatArray] | None:
        """Return alpha, beta of each count if the risk is min(idle, alpha d^2 + beta), else None."""
        if self.square is None:
            return None
        factors = [self.outlook.bound.factors(int(count)) for count in counts]
        if any(each is None for each in factors):
            return None
        alpha = np.array([each.alpha for each in factors if each is not None])
        beta = np.array([each.beta for each in factors if each is not None])
        if not (np.isfinite(alpha).all() and np.isfinite(beta).all()):
            return None
        return (alpha, beta) if self._agrees(counts, alpha, beta) else None

    def concave(self, counts: IntArray) -> bool:
        """Whether the risk after each count is known to be concave in the squared distance, like that of waiting.

        min(square z, alpha z + beta) is; other bounds declare it.
        """
        simple = self.square is not None and self.root is not None
        return simple and (self.factors(counts) is not None or getattr(self.outlook.bound, "concave", False) is True)

    def after(self, distances: FloatArray, counts: IntArray) -> FloatArray:
        """Return the risk from each distance (a row) after each number of samples (a column)."""
        factors = self.factors(counts)
        if factors is not None:
            squared = np.square(distances)[:, None]
            assert self.square is not None
            return np.minimum(squared * factors[0] + factors[1], self.square * squared)
        bound = self.outlook.bound
        if hasattr(bound, "table"):
            return np.asarray(bound.table(distances, counts), dtype=np.float64)
        return np.array([[bound(float(d), int(count)) for count in counts] for d in distances])

    def _agrees(self, counts: IntArray, alpha: FloatArray, beta: FloatArray) -> bool:
        """Whether the factors reproduce the bound at a range of distances and counts."""
        assert self.square is not None
        bound = self.outlook.bound
        picks = np.unique(np.linspace(0, len(counts) - 1, _PROBES).astype(int))
        for at, d in zip(picks, np.geomspace(1e-3 * self.widest, self.widest, len(picks)), strict=True):
            for distance in (float(d), self.widest, 1e-3 * self.widest):
                formula = min(self.square * distance**2, alpha[at] * distance**2 + beta[at])
                true = bound(distance, int(counts[at]))
                if not abs(formula - true) <= _SAME * true:
                    return False
        return True


def _square(outlook: Outlook, probes: FloatArray) -> float | None:
    square = outlook.bound(1.0, 0)
    true = np.array([outlook.bound(float(d), 0) for d in probes])
    return square if np.allclose(square * probes**2, true, rtol=_SAME, atol=0.0) else None


def _root(outlook: Outlook, widest: float) -> float | None:
    if outlook.m is not None:
        return math.sqrt(2.0 / outlook.m)
    root = outlook.reach(1.0)
    risks = np.geomspace(1e-12, 1.0, _PROBES) * max(outlook.bound(widest, 0), 1e-300)
    true = np.array([outlook.reach(float(risk)) for risk in risks])
    return root if np.allclose(root * np.sqrt(risks), true, rtol=_SAME, atol=0.0) else None
