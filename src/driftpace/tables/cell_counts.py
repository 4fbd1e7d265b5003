"""Counts of missing cells and unknown categories, with their sentences."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class FilledCells:
    """Missing cells of a column and what they count as.

    Parameters
    ----------
    column : str
        The column.
    cells : int
        Number of cells.
    value : str
        The number or category that they count as.
    not_numbers : int
        How many of them hold a text in place of a number.
    example : str
        The first such text.

    Examples
    --------
    >>> FilledCells(column="age", cells=3, value="41.2", not_numbers=1, example="old").sentence
    "3 cells of age are missing (1 is not a number: 'old') and count as 41.2"
    """

    column: str
    cells: int
    value: str
    not_numbers: int = 0
    example: str = ""

    @property
    def sentence(self) -> str:
        """The cells as a sentence."""
        texts = ""
        if self.not_numbers:
            are = "is not a number" if self.not_numbers == 1 else "are not numbers"
            texts = f" ({self.not_numbers:,} {are}: {self.example!r})"
        cells, count = ("cell", "is missing") if self.cells == 1 else ("cells", "are missing")
        return (
            f"{self.cells:,} {cells} of {self.column} {count}{texts} and count{'s' * (self.cells == 1)} as {self.value}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MappedCategories:
    """Rows with categories that are not listed, mapped to a listed one.

    Parameters
    ----------
    column : str
        The categorical column.
    category : str
        The listed category that they count as.
    rows : int
        Number of rows.
    distinct : int
        Number of distinct categories that are not listed.
    examples : tuple of str
        The first few of them.

    Examples
    --------
    >>> MappedCategories(column="city", category="Milan", rows=3, distinct=2, examples=("Bari", "Turin")).sentence
    '3 rows with an unlisted city (Bari, Turin) count as Milan'
    """

    column: str
    category: str
    rows: int
    distinct: int
    examples: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The mapping as a sentence."""
        more = f" and {self.distinct - len(self.examples):,} more" if self.distinct > len(self.examples) else ""
        rows, count = ("row", "counts") if self.rows == 1 else ("rows", "count")
        unlisted = f"an unlisted {self.column} ({', '.join(self.examples)}{more})"
        return f"{self.rows:,} {rows} with {unlisted} {count} as {self.category}"
