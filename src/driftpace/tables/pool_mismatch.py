"""How rows differ from the pool they were drawn from: records and their sentences, read without NumPy."""

from dataclasses import dataclass
from typing import Any

from driftpace.formatting import known_number


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnDifference:
    """A column in which rows differ from their pool: in their share of a category, or in the median, mean or spread.

    The spread is the range of the middle 80 %.
    """

    column: str
    statistic: str
    pool: float
    delivered: float

    @property
    def sentence(self) -> str:
        """The difference in words, without a full stop."""
        if self.statistic == "share":
            return f"{self.column}: {100.0 * self.pool:.3g} % of the pool, {100.0 * self.delivered:.3g} % of the rows"
        pool, delivered = known_number(self.pool), known_number(self.delivered)
        if self.statistic == "spread":
            return f"{self.column}: the middle 80 % span {pool} in the pool, {delivered} in the rows"
        return f"{self.column}: the pool's {self.statistic} is {pool}, the rows' {delivered}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolMismatch:
    """Rows that do not look like the pool they were drawn from.

    Parameters
    ----------
    rows : int
        Rows delivered so far in the period.
    columns : tuple of ColumnDifference
        The columns that differ most, at most three.
    """

    rows: int
    columns: tuple[ColumnDifference, ...]

    @property
    def sentence(self) -> str:
        """The mismatch in words, without a full stop."""
        which = "; ".join(column.sentence for column in self.columns)
        what = "the row does" if self.rows == 1 else f"the {self.rows:,} rows of the period do"
        return f"{what} not look like the pool they were drawn from ({which})"

    def to_values(self) -> dict[str, Any]:
        """Return plain values that :meth:`of` reads, such as JSON holds."""
        columns = [
            {name: getattr(column, name) for name in ColumnDifference.__slots__} | {"sentence": column.sentence}
            for column in self.columns
        ]
        return {"rows": self.rows, "columns": columns, "sentence": self.sentence}

    @classmethod
    def of(cls, values: Any) -> "PoolMismatch":
        """Return the mismatch of plain values."""
        columns = tuple(
            ColumnDifference(**{name: column[name] for name in ColumnDifference.__slots__})
            for column in values["columns"]
        )
        return cls(rows=values["rows"], columns=columns)
