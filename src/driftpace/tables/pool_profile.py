"""What a pool of rows looks like, column by column, in a form small enough for a log."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftpace.typing import FloatArray, IntArray

_SHARES = np.arange(1, 10) / 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnProfile:
    """An encoded column of a pool: the deciles that differ, how many rows each interval between them has, and the moments.

    Interval k has the values above ``edges[k - 1]`` up to ``edges[k]``; the last has those above all edges.
    """

    name: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    mean: float
    variance: float

    @property
    def shares(self) -> FloatArray:
        """The share of the rows in each interval."""
        counts = np.array(self.counts, dtype=np.float64)
        return np.asarray(counts / max(counts.sum(), 1.0))

    @property
    def constant(self) -> bool:
        """Whether all rows of the pool are in one interval, so that nothing can be compared."""
        return sum(count > 0 for count in self.counts) < 2

    @property
    def ridits(self) -> FloatArray:
        """The mean rank of each interval, from -1 to 1; its mean over the pool is 0."""
        shares = self.shares
        return np.asarray(2.0 * (np.cumsum(shares) - 0.5 * shares) - 1.0)

    @property
    def spreads(self) -> FloatArray:
        """The squared mean rank of each interval less its mean over the pool; all 0 for a column of two values."""
        squares = self.ridits**2
        if sum(count > 0 for count in self.counts) < 3:
            return np.zeros(len(squares))
        return np.asarray(squares - self.shares @ squares)

    @property
    def is_share(self) -> bool:
        """Whether the column is 0 or 1: a category, or a mark of missing cells."""
        return self.edges == (0.0,) and abs(self.mean - self.counts[-1] / max(sum(self.counts), 1)) < 1e-9

    def intervals(self, values: FloatArray) -> IntArray:
        """Return the interval of each value."""
        return np.searchsorted(self.edges, values, side="left")

    def quantile(self, share: float) -> float:
        """Return the decile of the pool that at least this share of the rows does not exceed."""
        place = int(np.searchsorted(np.cumsum(self.shares), share - 1e-9, side="left"))
        return self.edges[min(place, len(self.edges) - 1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolProfile:
    """The encoded columns of a pool.

    Parameters
    ----------
    rows : int
        Rows of the pool.
    columns : tuple of ColumnProfile
        Its columns, in order.

    Examples
    --------
    >>> profile = PoolProfile.of_rows(np.column_stack([np.arange(100.0), np.arange(100) % 4 == 0]), ("age", "city=Rome"))
    >>> profile.columns[0].quantile(0.5), profile.columns[1].counts
    (49.0, (75, 25))
    >>> PoolProfile.of(profile.to_values()) == profile
    True
    """

    rows: int
    columns: tuple[ColumnProfile, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @classmethod
    def of_rows(cls, X: FloatArray, names: Sequence[str]) -> "PoolProfile":
        """Return the profile of finite rows."""
        columns = []
        for name, values in zip(names, X.T, strict=True):
            edges = np.unique(np.quantile(values, _SHARES, method="inverted_cdf")) if len(values) else np.zeros(1)
            lowest, highest = (values.min(), values.max()) if len(values) else (0.0, 0.0)
            edges = edges if len(edges) > 1 or edges[0] < highest else np.unique([lowest, edges[0]])
            if np.isin(values, (0.0, 1.0)).all():
                edges = np.zeros(1)
            counts = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
            columns.append(
                ColumnProfile(
                    name=name,
                    edges=tuple(edges.tolist()),
                    counts=tuple(counts.tolist()),
                    mean=float(values.mean()) if len(values) else 0.0,
                    variance=float(values.var()) if len(values) else 0.0,
                )
            )
        return cls(rows=len(X), columns=tuple(columns))

    def restricted(self, names: Collection[str]) -> "PoolProfile":
        """Return the profile of some of the columns."""
        return replace(self, columns=tuple(column for column in self.columns if column.name in names))

    def aligned(self, X: FloatArray, names: Sequence[str] | None) -> "tuple[FloatArray, PoolProfile]":
        """Return the columns that rows and the profile have in common, of both.

        Rows without names have the columns of the profile in its order; where their number differs, nothing is in common.
        """
        if names is None:
            return (X, self) if X.shape[1] == len(self.columns) else (X[:, :0], self.restricted(()))
        profile = self.restricted(names)
        places = {name: place for place, name in enumerate(names)}
        return np.ascontiguousarray(X[:, [places[name] for name in profile.names]]), profile

    def to_values(self) -> dict[str, Any]:
        """Return plain values that :meth:`of` reads, such as JSON holds."""
        columns = [
            [column.name, list(column.edges), list(column.counts), column.mean, column.variance]
            for column in self.columns
        ]
        return {"rows": self.rows, "columns": columns}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "PoolProfile":
        """Return the profile of plain values."""
        columns = tuple(
            ColumnProfile(
                name=name, edges=tuple(edges), counts=tuple(counts), mean=float(mean), variance=float(variance)
            )
            for name, edges, counts, mean, variance in values["columns"]
        )
        return cls(rows=int(values["rows"]), columns=columns)
