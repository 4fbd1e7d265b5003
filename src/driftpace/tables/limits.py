"""Size limits of tables, checked before anything is decompressed so that a small file cannot fill the memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

from driftpace import validation
from driftpace.errors import DataError

MAX_CATEGORIES = 20
"""A text column with more distinct values than this is a name or free text, not a category."""
LONGEST_LINE = 4 * 2**20
"""The longest line of a text file, in characters."""
LONGEST_TEXT = 4 * 2**20
"""The longest text of a cell, in bytes."""
_MIB = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class TableLimits:
    """Upper limits on what is read of a table.

    The defaults suit a service that reads untrusted uploads: reading takes less than a gigabyte of memory in the worst case.
    Use ``LOCAL_LIMITS`` for trusted files.

    Parameters
    ----------
    bytes : int
        Size of the file as delivered.
    unpacked : int
        Size after decompression.
    rows, columns, cells : int
        Size of the table.

    Examples
    --------
    >>> TableLimits(rows=100).cells
    5000000
    """

    bytes: int = 64 * _MIB
    unpacked: int = 128 * _MIB
    rows: int = 1_000_000
    columns: int = 1_000
    cells: int = 5_000_000

    def __post_init__(self) -> None:
        validation.count("TableLimits", least=1, **{field.name: getattr(self, field.name) for field in fields(self)})


LOCAL_LIMITS = TableLimits(bytes=2**34, unpacked=2**34, rows=10**8, columns=10**5, cells=10**9)
"""Limits for files on the user's own disk: far above those for uploads, and still finite."""


def check_size(limits: TableLimits, rows: int, columns: int, what: str) -> None:
    """Refuse a table of more rows, columns or cells than are allowed; ``what`` names it, owner first."""
    if columns > limits.columns:
        raise DataError(f"{what} must have at most {limits.columns:,} columns; got {columns:,}.")
    if rows > limits.rows:
        raise DataError(f"{what} must have at most {limits.rows:,} rows; got {rows:,} or more.")
    if rows * columns > limits.cells:
        raise DataError(
            f"{what} must have at most {limits.cells:,} cells; got {rows:,} or more rows of {columns:,} columns."
        )


def check_unique_names(names: Sequence[str], what: str) -> None:
    """Refuse a table that has two columns of one name."""
    if len(set(names)) < len(names):
        twin = Counter(names).most_common(1)[0][0]
        raise DataError(f"{what} must have columns of different names; got {clip(twin)!r} twice.")


def check_unpacked(limits: TableLimits, unpacked: int, what: str) -> None:
    """Refuse a table that decompresses to more bytes than allowed."""
    if unpacked > limits.unpacked:
        raise DataError(f"{what} must unpack to at most {size(limits.unpacked)}; it is larger.")


def check_text_length(length: int, name: str, what: str) -> None:
    """Refuse a cell with a text that is too long."""
    if length > LONGEST_TEXT:
        raise DataError(
            f"{what} must have texts of at most {size(LONGEST_TEXT)} in a cell; column {clip(name)!r} has a longer one."
        )


def size(count: int) -> str:
    """Return a number of bytes as text.

    >>> size(64 * 2**20), size(1500)
    ('64 MiB', '1,500 bytes')
    """
    return f"{count // _MIB:,} MiB" if count >= _MIB and count % _MIB == 0 else f"{count:,} bytes"


def clip(text: str, most: int = 60) -> str:
    """Return a text for a message: printable, and not too long."""
    plain = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return plain if len(plain) <= most else plain[: most - 3] + "..."
