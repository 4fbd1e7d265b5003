"""Weights that make rows look like their pool: entropy balancing (Hainmueller 2012), the calibration of survey statistics.

Of all weights under which the rows have the means of the pool, those are taken that differ least from the weights that the rows
were drawn with. Means are those of the columns, and of the spread of their ranks where there are rows enough. A model that is not
the truth depends on where its rows are; one that is fitted on balanced rows is the model of the pool, as far as the selection of
rows depends on the columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.errors import DataError
from driftpace.formatting import known_number
from driftpace.tables.pool_profile import ColumnProfile, PoolProfile
from driftpace.typing import FloatArray

LEAST_EFFECTIVE = 0.25
"""The least share of rows that weights may leave as effective ones."""
LEAST_EXPECTED = 5.0
"""A category is balanced where so many rows are expected to have it, and as many not to."""
ROWS_FOR_SPREAD = 8
"""Rows for each mean to be balanced before the spread of the ranks is balanced too."""

SLACK = 1.0
"""The penalty on the exponents of weights, times the rows. It keeps them finite, and leaves a difference to the means of the pool
that is far below the sampling error of the rows."""

_ITERATIONS = 200
_TOLERANCE = 1e-8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Balanced:
    """Weights of mean 1, and how many rows of equal weight would say as much."""

    weights: FloatArray
    effective: float


def balance(
    X: FloatArray, profiles: Sequence[tuple[PoolProfile, float]], base: FloatArray | None = None, *, owner: str
) -> Balanced:
    """Return weights under which rows look like their pool.

    Parameters
    ----------
    X : ndarray of shape (rows, columns)
        The rows, with the columns of the profiles.
    profiles : sequence of (PoolProfile, float)
        The pools, and the share of the rows that is drawn from each.
    base : ndarray, optional
        The weights that the rows were drawn with.
    owner : str
        The function that error messages name.

    Returns
    -------
    Balanced

    Raises
    ------
    DataError
        If no weights do so, or those that do leave fewer than a quarter of the rows as effective ones.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pool = rng.standard_normal((5000, 2))
    >>> rows = pool[rng.random(5000) < 0.1 / (1.0 + np.exp(-pool[:, 0]))]
    >>> made = balance(rows, [(PoolProfile.of_rows(pool, ("a", "b")), 1.0)], owner="tell")
    >>> bool(abs(np.average(rows[:, 0], weights=made.weights) - pool[:, 0].mean()) < 0.01), made.effective < len(rows)
    (True, True)
    """
    base = np.ones(len(X)) if base is None else base
    means, spreads = _constraints(X, profiles, owner)
    k = means.shape[1] + spreads.shape[1]
    wanted = np.column_stack([means, spreads]) if len(X) >= ROWS_FOR_SPREAD * k else means
    weights = _solve(wanted, base)
    effective = 0.0 if weights is None else float(weights.sum() ** 2 / (weights @ weights))
    if weights is None or effective < LEAST_EFFECTIVE * len(X):
        few = f"the {len(X):,} rows count for {effective:.1f} when weights make them"
        left = "no weights make them" if weights is None else few
        raise DataError(
            f"must be False for these rows: {left} look like their pool, and {100.0 * LEAST_EFFECTIVE:.0f} % are required. "
            "Balance them together with more rows of the period, or deliver them as they are.",
            owner=owner,
            name="balance",
        )
    return Balanced(weights=weights / weights.mean(), effective=effective)


def _constraints(
    X: FloatArray, profiles: Sequence[tuple[PoolProfile, float]], owner: str
) -> tuple[FloatArray, FloatArray]:
    """Return what must have mean 0: each column less the mean of the pool, and the spread of its ranks."""
    total = sum(share for _, share in profiles)
    means, spreads = [], []
    for place, column in enumerate(profiles[0][0].columns):
        alike = [(profile.columns[place], share / total) for profile, share in profiles]
        values = X[:, place]
        mean = sum(share * one.mean for one, share in alike)
        variance = sum(share * (one.variance + (one.mean - mean) ** 2) for one, share in alike)
        if variance <= 0.0 or (column.is_share and min(mean, 1.0 - mean) * len(X) < LEAST_EXPECTED):
            continue
        deviation = (values - mean) / np.sqrt(variance)
        _require_both_sides(column, deviation, mean, owner)
        means.append(deviation)
        if column.spreads.any():
            levels = column.spreads
            target = sum(share * float(_regrouped(one, column) @ levels) for one, share in alike)
            spreads.append((levels[column.intervals(values)] - target) / np.sqrt(column.shares @ levels**2))
    empty = np.empty((len(X), 0))
    return np.column_stack([empty, *means]), np.column_stack([empty, *spreads])


def _regrouped(one: ColumnProfile, column: ColumnProfile) -> FloatArray:
    """Return the shares of a pool in the intervals of another; an interval that is cut counts where its upper edge is."""
    if one.edges == column.edges:
        return one.shares
    upper = np.append(one.edges, np.inf)
    return np.asarray(
        np.bincount(column.intervals(upper), weights=one.shares, minlength=len(column.counts)), np.float64
    )


def _require_both_sides(column: ColumnProfile, deviation: FloatArray, mean: float, owner: str) -> None:
    """Refuse rows that are all on one side of the pool's mean: no weights can move them there."""
    if deviation.min() < 0.0 < deviation.max():
        return
    if column.is_share:
        rows = "all rows have" if deviation.min() > 0.0 else "no row has"
        problem = f"{rows} {column.name}, and {100.0 * mean:.3g} % of the pool"
    else:
        side = "above" if deviation.min() >= 0.0 else "below"
        problem = f"all rows have {column.name} {side} {known_number(mean)}, the pool's mean"
    raise DataError(f"must be rows that weights can make look like their pool; {problem}.", owner=owner, name="balance")


def _solve(wanted: FloatArray, base: FloatArray) -> FloatArray | None:
    """Return base * exp(wanted @ b) under which every column has mean 0, nearly, by Newton's method on the dual.

    A small penalty on b keeps the solution finite; None where rounding stops the method.
    """
    solution, penalty = np.zeros(wanted.shape[1]), SLACK / len(wanted)
    logs = np.log(np.maximum(base, 1e-300))

    def dual(at: FloatArray) -> tuple[float, FloatArray]:
        scores = logs + wanted @ at
        most = float(scores.max())
        weights = np.exp(scores - most)
        return most + float(np.log(weights.sum())) + 0.5 * penalty * float(at @ at), weights / weights.sum()

    value, shares = dual(solution)
    for _ in range(_ITERATIONS):
        means = shares @ wanted
        gradient = means + penalty * solution
        if np.abs(gradient).max(initial=0.0) < _TOLERANCE:
            return shares
        hessian = (wanted * shares[:, None]).T @ wanted - np.outer(means, means)
        hessian[np.diag_indices_from(hessian)] += penalty
        step, share = np.linalg.solve(hessian, -gradient), 1.0
        while share > 1e-10:
            new, found = dual(solution + share * step)
            if new <= value + 1e-4 * share * float(gradient @ step):
                break
            share *= 0.5
        else:
            return None
        solution, value, shares = solution + share * step, new, found
    return None
