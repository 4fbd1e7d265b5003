"""Write files atomically: to a temporary file in the same folder, synced, then renamed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from driftpace.errors import ParameterError

PRIVATE = 0o600
"""Permissions of files that may hold personal data."""


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, owner: str = "save", private: bool = False) -> Iterator[BinaryIO]:
    """Yield a binary file that replaces ``path`` when the block ends without an exception.

    Parameters
    ----------
    path : str or path-like
        The file; the permissions of an existing one are kept.
    owner : str
        The function that error messages name.
    private : bool, default False
        Whether only its owner may read a new file.
    """
    with atomic_place(path, owner=owner, private=private) as place, place.open("wb") as file:
        yield file


def write_text(path: str | os.PathLike[str], text: str, *, owner: str = "save") -> None:
    """Write a text in UTF-8 to a file, completely or not at all."""
    with atomic_file(path, owner=owner) as file:
        file.write(text.encode())


@contextmanager
def atomic_place(path: str | os.PathLike[str], *, owner: str = "save", private: bool = False) -> Iterator[Path]:
    """Yield the path of an empty file that replaces ``path`` when the block ends; parameters as in :func:`atomic_file`."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise ParameterError(f"must be in an existing folder; got {os.fspath(path)!r}.", owner=owner, name="path")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb+") as file:
            os.chmod(name, _mode(target, private=private))
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def make_private(path: str | os.PathLike[str]) -> None:
    """Take from others, and from a group that may not write to a file, the permission to read it."""
    mode = os.stat(path).st_mode & 0o777
    os.chmod(path, mode & (0o770 if mode & 0o020 else 0o700))


def _mode(target: Path, *, private: bool) -> int:
    """Return the permissions of the replaced file, or those of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    if private:
        return PRIVATE
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
