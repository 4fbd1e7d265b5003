"""Write files atomically: to a temporary file in the same folder, synced, then renamed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from driftpace.errors import ParameterError


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, owner: str = "save") -> Iterator[BinaryIO]:
    """Yield a binary file that replaces ``path`` when the block ends without an exception.

    Parameters
    ----------
    path : str or path-like
        The file; the permissions of an existing one are kept.
    owner : str
        The function that error messages name.
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise ParameterError(f"must be in an existing folder; got {os.fspath(path)!r}.", owner=owner, name="path")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.chmod(name, _mode(target))
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _mode(target: Path) -> int:
    """Return the permissions of the replaced file, or those of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename durable, if the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
