"""A SQLite file that may only be read here: whether it lies at rest, so that it can be read just as it is.

SQLite makes two files beside a file with a write-ahead log, even to read it. Where it may not, nothing could be read; and where it
may although the file is another user's, they would stand in the way of its owner. So such a file is read as it is (``immutable``),
which holds as long as nobody writes to it: it must have no changes waiting beside it, and whoever reads looks again afterwards.
"""

import os
from pathlib import Path

Rest = tuple[int, int, int, int]
"""What tells a file at rest from the same file after somebody wrote to it."""


def may_be_written(path: Path) -> bool:
    """Whether this process may write to a file and to its folder."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def changes_beside(path: Path) -> bool:
    """Whether there are changes beside a file that are not in it yet."""
    return any(_size(path, ending) for ending in ("-wal", "-journal"))


def at_rest(path: Path) -> Rest | None:
    """Return the rest of a file that is to be read as it is; None where SQLite can see to it that readers and writers agree.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     at_rest(Path(folder) / "none.db") is None
    True
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    in_use = _size(path, "-wal") is not None and _size(path, "-shm") is not None
    if in_use or changes_beside(path) or may_be_written(path):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _size(path: Path, ending: str) -> int | None:
    try:
        return os.stat(f"{path}{ending}").st_size
    except OSError:
        return None
