"""A saved state: one JSON file with a format, a version and a checksum; a crash leaves the old one or the new one.

The file holds {"format": "driftpace-state", "version": 1, "sha256": ..., "body": ...}; the checksum is over the body as
compact JSON with sorted keys.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from driftpace.errors import StateFileError
from driftpace.storage.atomic_file import atomic_file

FORMAT = "driftpace-state"
VERSION = 1


def write_state(path: str | os.PathLike[str], body: Any) -> None:
    """Write ``body``, a plain JSON value, to ``path``: complete or not at all."""
    document = {"format": FORMAT, "version": VERSION, "sha256": _checksum(body), "body": body}
    with atomic_file(path) as file:
        file.write(json.dumps(document, allow_nan=False).encode("utf-8"))


def read_state(path: str | os.PathLike[str]) -> Any:
    """Return the body that was written to ``path``, or raise StateFileError in one sentence."""
    file_name = os.fspath(path)
    text = Path(path).read_bytes()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise StateFileError(f"{file_name!r} is truncated, or not a driftpace state.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StateFileError(f"{file_name!r} is not a driftpace state.")
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise StateFileError(
            f"{file_name!r} has version {version!r} and this driftpace reads versions up to {VERSION}; upgrade driftpace."
        )
    try:
        whole = _checksum(document.get("body")) == document.get("sha256")
    except (ValueError, RecursionError):  # NaN, or nesting without end
        whole = False
    if not whole:
        raise StateFileError(f"{file_name!r} was edited or damaged: its checksum does not match.")
    return document["body"]


def _checksum(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
