"""How much of a table anybody may bring: checked before it is unpacked, so that a small file cannot become a large memory."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

from driftpace import validation
from driftpace.errors import DataError

LONGEST_LINE = 4 * 2**20
"""No line of a text file is longer than this many characters."""
_MIB = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The most that is read: ``bytes`` of the file as it comes, ``unpacked`` bytes of it, ``rows``, ``columns`` and ``cells``.

    The defaults suit a service that reads what strangers send: with them, reading takes less than a gigabyte of memory at its
    worst. Whoever reads their own files may allow more.

    >>> Limits(rows=100).cells
    5000000
    """

    bytes: int = 64 * _MIB
    unpacked: int = 128 * _MIB
    rows: int = 1_000_000
    columns: int = 1_000
    cells: int = 5_000_000

    def __post_init__(self) -> None:
        validation.count("Limits", least=1, **{field.name: getattr(self, field.name) for field in fields(self)})


def refuse_size(limits: Limits, rows: int, columns: int, what: str) -> None:
    """Refuse a table of more rows, columns or cells than are allowed; ``what`` names it, owner first."""
    if columns > limits.columns:
        raise DataError(f"{what} must have at most {limits.columns:,} columns; got {columns:,}.")
    if rows > limits.rows:
        raise DataError(f"{what} must have at most {limits.rows:,} rows; got {rows:,} or more.")
    if rows * columns > limits.cells:
        raise DataError(
            f"{what} must have at most {limits.cells:,} cells; got {rows:,} or more rows of {columns:,} columns."
        )


def refuse_twin_names(names: Sequence[str], what: str) -> None:
    """Refuse a table that has two columns of one name."""
    if len(set(names)) < len(names):
        twin = Counter(names).most_common(1)[0][0]
        raise DataError(f"{what} must have columns of different names; got {clip(twin)!r} twice.")


def refuse_unpacked(limits: Limits, unpacked: int, what: str) -> None:
    """Refuse a table that takes more bytes than allowed once it is unpacked."""
    if unpacked > limits.unpacked:
        raise DataError(f"{what} must unpack to at most {size(limits.unpacked)}; it is larger.")


def size(count: int) -> str:
    """Return a number of bytes as people say it.

    >>> size(64 * 2**20), size(1500)
    ('64 MiB', '1,500 bytes')
    """
    return f"{count // _MIB:,} MiB" if count >= _MIB and count % _MIB == 0 else f"{count:,} bytes"


def clip(text: str, most: int = 60) -> str:
    """Return a text that fits into a sentence: printable, and not too long."""
    plain = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return plain if len(plain) <= most else plain[: most - 3] + "..."
