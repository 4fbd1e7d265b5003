"""The directions in which rows vary, from unlabelled rows: principal components, whitened and cut into bands.

With thousands of columns and a few hundred labels most directions cannot be learned, and which ones can depends on how much rows
vary along them. Rows x become z = V'(x - center), the leading principal components at variance one, and neighbouring components
form a band. Within a band every direction is treated alike; between bands the labels decide how large coefficients are.

Components are found on two thirds of the rows and their variances are measured on the others: on the same rows they look more
different than they are, and rows look more independent than they are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.errors import DataError
from driftpace.typing import FloatArray
from driftpace.wide.moments import split_moments

BAND_ENDS = (4, 10, 25, 50, 100, 200, 450, 1000)
"""The last component of each band: variances within a band differ by a small factor."""

MOST_COMPONENTS = BAND_ENDS[-1]
"""Components beyond these count as noise."""

MOST_CELLS, LEAST_RANK = 10_000_000, 100
"""The cells that the components of very many columns have at most, and how many of them there may be nevertheless."""

SINGLE = 1000
"""Components of more columns than this are kept in single precision."""

LEAST_VARIANCE = 1e-10
"""Components below this share of the variance of the first are rounding errors."""

_ROWS_PER_COMPONENT = 2
_EXTRA = 10
_PASSES = 2
_BLOCK = 4096
_MOST_MOMENTS = 2500


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Spectrum:
    """The leading principal components of rows: z = (x - center) @ basis has variance one in each component.

    ``center`` (columns,), ``basis`` (columns, components), ``variance`` of each component before it was scaled, and how much of
    the variance of rows they have together, ``explained``. ``rows`` is the number of rows that showed them, those of a pool or,
    where there was none (``from_pool``), the first labelled ones.
    """

    center: FloatArray
    basis: Any
    variance: FloatArray
    explained: float
    rows: int
    from_pool: bool = True

    @property
    def columns(self) -> int:
        """The number of columns of rows."""
        return len(self.center)

    @property
    def components(self) -> int:
        """The number of components."""
        return len(self.variance)

    def scores(self, X: Any) -> FloatArray:
        """Return the components of rows, dense or sparse, (rows, components)."""
        along = X @ self.basis if hasattr(X, "nnz") else np.asarray(X, dtype=self.basis.dtype) @ self.basis
        return np.asarray(along, dtype=np.float64) - np.asarray(self.center @ self.basis, dtype=np.float64)

    def coefficients(self, along: FloatArray) -> FloatArray:
        """Return coefficients of components as coefficients of columns."""
        return np.asarray(self.basis @ along, dtype=np.float64)


def bands(components: int, intercept: bool) -> tuple[slice, ...]:
    """Return the bands of coordinates, the level first where there is an intercept.

    >>> bands(30, True)
    (slice(0, 1, None), slice(1, 5, None), slice(5, 11, None), slice(11, 26, None), slice(26, 31, None))
    """
    ends = [end for end in BAND_ENDS if end < components] + [components]
    first = 1 if intercept else 0
    starts = [0, *ends[:-1]]
    found = [slice(first + start, first + end) for start, end in zip(starts, ends, strict=True) if end > start]
    return (slice(0, 1), *found) if intercept else tuple(found)


def spectrum_of(X: Any, *, intercept: bool, rng: np.random.Generator, from_pool: bool = True) -> Spectrum:
    """Return the spectrum of rows, dense or sparse, which are not made dense.

    Parameters
    ----------
    X : ndarray or scipy.sparse matrix of shape (rows, columns)
        Finite numbers.
    intercept : bool
        Whether components are counted from the mean row, or from zero.
    rng : numpy.random.Generator
        For the random directions that the components are found from.
    from_pool : bool, default True
        Whether the rows are unlabelled ones.

    Returns
    -------
    Spectrum

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((3000, 5)) * [4.0, 2.0, 1.0, 0.5, 0.0]
    >>> found = spectrum_of(X, intercept=True, rng=rng)
    >>> found.components, np.sqrt(found.variance[:3]).round()
    (4, array([4., 2., 1.]))
    """
    rows, columns = X.shape
    if rows == 0:
        raise DataError("must have rows that differ; got none.", name="X")
    center = np.asarray(X.mean(axis=0), dtype=np.float64).ravel() if intercept else np.zeros(columns)
    if not hasattr(X, "nnz") and 3 * columns <= rows and columns <= _MOST_MOMENTS:
        return _from_moments(X, center, from_pool=from_pool)
    shown = np.arange(rows) % 3 != 2 if rows >= 6 else np.ones(rows, dtype=np.bool_)
    tested = ~shown if rows >= 6 else shown
    A, B = X[shown], X[tested]
    count = A.shape[0]
    most = min(MOST_COMPONENTS, max(MOST_CELLS // columns, LEAST_RANK))
    rank = max(min(most, columns, count // _ROWS_PER_COMPONENT), 1)
    axes, lengths = _leading(A, center, rank, rng)
    kept = np.square(lengths) > LEAST_VARIANCE * max(float(lengths[0]) ** 2, 1e-300)
    if not kept.any():
        return _no_directions(center, rows=rows, from_pool=from_pool)
    axes, lengths = axes[:, kept], lengths[kept]
    scores = np.asarray(B @ axes, dtype=np.float64) - np.asarray(center @ axes, dtype=np.float64)
    seen = np.square(scores).mean(axis=0)
    found = np.square(lengths) / max(count, 1)
    return _scaled(center, axes, found, seen, _total_variance(B, center), rows, from_pool=from_pool)


def _from_moments(X: Any, center: FloatArray, *, from_pool: bool) -> Spectrum:
    """Return the spectrum of many more rows than columns, from their second moments."""
    rows, columns = X.shape
    first, third = split_moments(X, center)
    tested = rows // 3
    rank = min(MOST_COMPONENTS, max(MOST_CELLS // columns, LEAST_RANK), columns)
    values, vectors = np.linalg.eigh(first)
    values, axes = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    kept = values > LEAST_VARIANCE * max(float(values[0]), 1e-300)
    values, axes = values[kept], axes[:, kept]
    seen = np.einsum("ij,ij->j", axes, third @ axes) / tested
    found = values / (rows - tested)
    return _scaled(center, axes, found, seen, float(np.trace(third)) / tested, rows, from_pool=from_pool)


def _scaled(
    center: FloatArray,
    axes: FloatArray,
    found: FloatArray,
    seen: FloatArray,
    total: float,
    rows: int,
    *,
    from_pool: bool,
) -> Spectrum:
    """Return the spectrum with components at variance one: ``found`` is theirs where they were found, ``seen`` on test rows."""
    variance = np.where(seen > 0.0, _smoothed(seen, found), found)
    order = np.argsort(-variance, kind="stable")
    axes, variance = axes[:, order], variance[order]
    basis = axes / np.sqrt(variance)
    return Spectrum(
        center=center,
        basis=np.ascontiguousarray(basis, dtype=np.float32 if len(center) > SINGLE else np.float64),
        variance=variance,
        explained=min(float(variance.sum()) / max(total, 1e-300), 1.0),
        rows=rows,
        from_pool=from_pool,
    )


def _no_directions(center: FloatArray, *, rows: int, from_pool: bool) -> Spectrum:
    """Return what equal rows show: one component that stands for any, of which rows have nothing."""
    basis = np.zeros((center.size, 1), dtype=np.float32 if center.size > SINGLE else np.float64)
    basis[0] = 1.0
    return Spectrum(center=center, basis=basis, variance=np.ones(1), explained=0.0, rows=rows, from_pool=from_pool)


def _smoothed(seen: FloatArray, found: FloatArray) -> FloatArray:
    """Return the variances of test rows, whose errors are averaged over neighbouring components of similar size.

    The ratio of what test rows have to what the components were found with falls slowly along the spectrum.
    """
    ratio = seen / found
    width = max(min(len(ratio) // 8, 25), 0)
    if width == 0:
        return seen
    sums = np.concatenate([[0.0], np.cumsum(ratio)])
    low = np.maximum(np.arange(len(ratio)) - width, 0)
    high = np.minimum(np.arange(len(ratio)) + width + 1, len(ratio))
    return np.asarray(found * (sums[high] - sums[low]) / (high - low))


def _leading(A: Any, center: FloatArray, rank: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the leading right singular vectors of A - 1 center' and its singular values: from random ones by power iterations."""
    rows, columns = A.shape
    sparse = hasattr(A, "nnz")
    if not sparse and min(rows, columns) <= max(4 * rank, 600) and min(rows, columns) <= 2500:
        return _exact(np.asarray(A, dtype=np.float64) - center, rank)
    width = min(rank + _EXTRA, rows, columns)
    small = np.float64 if sparse or A.dtype == np.float64 else np.float32
    mean = center.astype(small)

    def times(block: Any) -> Any:
        return np.asarray(A @ block) - mean @ block

    def turned(block: Any) -> Any:
        return np.asarray(A.T @ block) - np.outer(mean, block.sum(axis=0))

    block = turned(rng.standard_normal((rows, width)).astype(small))
    for _ in range(_PASSES):
        block = np.linalg.qr(block)[0]
        block = turned(np.linalg.qr(times(block))[0])
    block = np.linalg.qr(block)[0]
    _, lengths, right = np.linalg.svd(times(block), full_matrices=False)
    return np.asarray(block @ right.T[:, :rank]), np.asarray(lengths[:rank], dtype=np.float64)


def _exact(A: FloatArray, rank: int) -> tuple[FloatArray, FloatArray]:
    rows, columns = A.shape
    if columns <= rows:
        values, vectors = np.linalg.eigh(A.T @ A)
        values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        return vectors, np.sqrt(np.maximum(values, 0.0))
    values, vectors = np.linalg.eigh(A @ A.T)
    lengths = np.sqrt(np.maximum(values[::-1][:rank], 0.0))
    axes = A.T @ vectors[:, ::-1][:, :rank]
    return axes / np.maximum(lengths, 1e-300), lengths


def _total_variance(B: Any, center: FloatArray) -> float:
    rows = max(B.shape[0], 1)
    if hasattr(B, "nnz"):
        squares = float(B.multiply(B).sum())
        cross = float((B @ center).sum())
        return float(squares / rows - 2.0 * cross / rows + center @ center)
    total = 0.0
    for start in range(0, B.shape[0], _BLOCK):
        total += float(np.square(np.asarray(B[start : start + _BLOCK], dtype=np.float64) - center).sum())
    return float(total / rows)
