"""A saved state: one JSON file with a format, a version and a checksum; a crash leaves the old one or the new one.

The file holds {"format": "driftpace-state", "version": 1, "sha256": ..., "body": ...}; the checksum is over the body as
compact JSON with sorted keys.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from driftpace.errors import ParameterError, StateFileError

FORMAT = "driftpace-state"
VERSION = 1


def write_state(path: str | os.PathLike[str], body: Any) -> None:
    """Write ``body``, a plain JSON value, to ``path``: complete or not at all."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise ParameterError(f"save(path=...) must be in a folder that exists; got {os.fspath(path)!r}.")
    document = {"format": FORMAT, "version": VERSION, "sha256": _checksum(body), "body": body}
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, allow_nan=False)
            file.flush()
            os.chmod(name, _mode(target))
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def read_state(path: str | os.PathLike[str]) -> Any:
    """Return the body that was written to ``path``, or raise StateFileError in one sentence."""
    shown = os.fspath(path)
    text = Path(path).read_bytes()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise StateFileError(f"{shown!r} is truncated, or not a driftpace state.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StateFileError(f"{shown!r} is not a driftpace state.")
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise StateFileError(
            f"{shown!r} has version {version!r} and this driftpace reads versions up to {VERSION}; upgrade driftpace."
        )
    try:
        whole = _checksum(document.get("body")) == document.get("sha256")
    except (ValueError, RecursionError):  # NaN, or nesting without end
        whole = False
    if not whole:
        raise StateFileError(f"{shown!r} was edited or damaged: its checksum does not match.")
    return document["body"]


def _checksum(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those a new file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
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
