"""Files that people bring: their bytes, which identify a delivery, and their columns as a campaign reads them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Definition
    from driftpace.tables import Column, TableLimits

ROW_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""What rows can be written as."""


def own_limits() -> "TableLimits":
    """Return the limits for the user's own files."""
    from driftpace.tables import LOCAL_LIMITS

    return LOCAL_LIMITS


def content_of(file: str, *, owner: str) -> tuple[str, bytes]:
    """Return the name of a file and its bytes; ``-`` is what comes from stdin."""
    if file == "-":
        if sys.stdin.isatty():
            raise ParameterError(
                f"{owner}: FILE must be a file, or - with rows piped into the command; nothing is piped."
            )
        return "stdin", sys.stdin.buffer.read()
    path = Path(file)
    if not path.exists():
        raise ParameterError(f"{owner}: FILE must be an existing file; got {file!r}.")
    wrong = not_readable(path)
    if wrong is not None:
        raise ParameterError(f"{owner}: FILE must be a file; {file!r} {wrong}.")
    return readable(path.name), path.read_bytes()


def not_readable(path: Path) -> str | None:
    """Return why nothing can be read from a path, in words behind its name; None where it can be. A pipe can be read once.

    >>> not_readable(Path("/")), not_readable(Path("/no/such/file"))
    ('is a folder', 'does not exist')
    """
    if path.is_file() or path.is_fifo():
        return None
    return "is a folder" if path.is_dir() else "is a device" if path.exists() else "does not exist"


def require_place(out: Path, endings: Sequence[str]) -> None:
    """Refuse a place where no file of such an ending can be written: before the work rather than after it, and in a dry run too."""
    if out.suffix.lower() not in endings:
        *others, last = endings
        shown = f"{', '.join(others)}{' or ' if others else ''}{last}"
        raise ParameterError(f"--out must end in {shown}; got {readable(out.name)!r}.")
    if out.is_dir():
        raise ParameterError(f"--out must be a file; {readable(str(out))!r} is a folder.")
    if not out.absolute().parent.is_dir():
        raise ParameterError(f"--out must be in a folder that exists; got {readable(str(out))!r}.")


def readable(text: str) -> str:
    r"""Return a text from the system so that it can be printed and kept; bytes in it that are no UTF-8 become question marks.

    >>> readable("caf\udce9.csv")
    'caf?.csv'
    """
    return text.encode("utf-8", "replace").decode()


def read(
    definition: "Definition", name: str, data: bytes | Path, *, owner: str, exact: bool = False
) -> "dict[str, Column]":
    """Return the columns of a file; ids and words stay as they were written, and ``exact`` keeps how all else was written too."""
    from driftpace.tables import read_columns

    as_text = [*definition.categories, *(one for one in (definition.id, definition.groups) if one is not None)]
    if definition.classes is not None and definition.target is not None:
        as_text.append(definition.target)
    return read_columns(
        data,
        name=None if name == "stdin" else name,
        limits=own_limits(),
        owner=owner,
        as_text=as_text,
        exact=exact,
        target=definition.target,
    )
