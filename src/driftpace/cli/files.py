"""Files of the user: read as the columns of a campaign, and places to write to."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from driftpace.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign, FleetCampaign
    from driftpace.tables import Column

ROW_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""The formats that rows can be written as."""


def read_bytes(file: str) -> tuple[str, bytes]:
    """Return the name and the content of FILE; ``-`` is stdin."""
    if file == "-":
        if sys.stdin.isatty():
            raise ParameterError("FILE must be a file, or - with rows piped to stdin; stdin is a terminal.")
        return "stdin", sys.stdin.buffer.read()
    path = Path(file)
    problem = why_unreadable(path)
    if problem is not None:
        raise ParameterError(f"FILE must be an existing file; {file!r} {problem}.")
    return printable(path.name), path.read_bytes()


def why_unreadable(path: Path) -> str | None:
    """Return why a path cannot be read, as the predicate of a sentence; None where it can. A pipe can be read once.

    >>> why_unreadable(Path("/")), why_unreadable(Path("/no/such/file"))
    ('is a directory', 'does not exist')
    """
    if path.is_file() or path.is_fifo():
        return None
    return "is a directory" if path.is_dir() else "is a device" if path.exists() else "does not exist"


def require_table(path: Path, option: str) -> None:
    """Refuse a path that is not a regular file, which is read twice."""
    if not path.is_file():
        problem = why_unreadable(path) or "is a pipe"
        raise ParameterError(f"{option} must be a file of rows; {str(path)!r} {problem}.")


def require_directory(out: Path) -> None:
    """Refuse a place where no directory can be made."""
    taken = next((place for place in (out, *out.parents) if place.exists() and not place.is_dir()), None)
    if taken is not None:
        raise ParameterError(f"--out must be a directory; {str(taken)!r} is a file.")


def require_new_place(file: Path) -> None:
    """Refuse a place for a file that is stdout, a directory, or in none."""
    if str(file) == "-":
        raise ParameterError("FILE must be a named file, because stdout carries the answer; got '-'.")
    if file.is_dir():
        raise ParameterError(f"FILE must be a file; {printable(str(file))!r} is a directory.")
    if not file.absolute().parent.is_dir():
        raise ParameterError(f"FILE must be in an existing directory; got {printable(str(file))!r}.")


def require_output(out: Path, endings: Sequence[str]) -> None:
    """Refuse a place where no file with such an ending can be written, before the work and in a dry run too."""
    if out.suffix.lower() not in endings:
        *first, last = endings
        choices = f"{', '.join(first)}{' or ' if first else ''}{last}"
        raise ParameterError(f"--out must end in {choices}; got {printable(out.name)!r}.")
    if out.is_dir():
        raise ParameterError(f"--out must be a file; {printable(str(out))!r} is a directory.")
    if not out.absolute().parent.is_dir():
        raise ParameterError(f"--out must be in an existing directory; got {printable(str(out))!r}.")


def require_plotly(what: str, instead: str) -> None:
    """Refuse a report that cannot be drawn, before the work."""
    if find_spec("plotly") is None:
        raise MissingExtraError(f'{what} needs plotly: pip install "driftpace[report]", or {instead}.')


def printable(text: str) -> str:
    r"""Return text from the system that can be printed and stored; bytes that are not UTF-8 become question marks.

    >>> printable("caf\udce9.csv")
    'caf?.csv'
    """
    return text.encode("utf-8", "replace").decode()


def read_rows(
    campaign: "Campaign | FleetCampaign",
    name: str,
    data: bytes | Path,
    *,
    option: str = "FILE",
    exact: bool = False,
    sheet: str | None = None,
) -> "dict[str, Column]":
    """Return the columns of a file: ids and categories as text, and with ``exact`` how every cell was written."""
    from driftpace.tables import LOCAL_LIMITS, read_columns

    return read_columns(
        data,
        name=None if name == "stdin" else name,
        limits=LOCAL_LIMITS,
        owner=option,
        as_text=campaign.text_columns,
        exact=exact,
        target=campaign.definition.target,
        annotator=campaign.definition.annotator,
        sheet=sheet,
    )


def read_table_option(
    path: Path, sheet: str | None = None, *, as_text: Sequence[str] = (), option: str = "--table"
) -> "dict[str, Column]":
    """Return the columns of the file given by an option, those in ``as_text`` as texts."""
    from driftpace.tables import LOCAL_LIMITS, read_columns

    require_table(path, option)
    return read_columns(path, owner=option, limits=LOCAL_LIMITS, as_text=as_text, sheet=sheet)
