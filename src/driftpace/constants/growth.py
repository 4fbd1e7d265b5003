"""Closed forms for the squared loss: R2, A, B, sigma, V from moments of rows (theory 1.1, 2)."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.constants.concentration import positive_ends, scaled_inverse
from driftpace.constants.row_moments import RowSummary
from driftpace.constants.scores import Scores
from driftpace.constants.units import shrink, unit_for
from driftpace.records import Estimate
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """A, B, sigma, V; None where no period could be fitted on its own."""

    A: Estimate | None
    B: Estimate
    sigma: Estimate | None
    V: Estimate


def trace(rows: RowSummary, weights: FloatArray, confidence: float) -> Estimate:
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
