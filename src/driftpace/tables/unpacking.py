"""The bytes of what came: from memory, an open file or a path, gunzipped where they are gzipped, and never more than allowed."""

import os
import stat
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from driftpace.errors import DataError, ParameterError
from driftpace.tables.limits import Limits, clip, refuse_unpacked, size

Source = bytes | bytearray | memoryview | BinaryIO | str | PathLike[str]

_GZIP = b"\x1f\x8b"
_PIECE = 2**16
_MEMBERS = 10_000


def take(source: Source, name: str | None, limits: Limits, owner: str) -> tuple[str, bytes]:
    """Return the name to show (and to guess by) and the bytes as they came, at most ``limits.bytes`` of them."""
    if isinstance(source, bytes | bytearray | memoryview):
        shown = clip(name or "the upload")
        if len(memoryview(source).cast("B")) > limits.bytes:
            raise _too_large(owner, shown, limits)
        return shown, bytes(source)
    if isinstance(source, str | PathLike):
        path = Path(source)
        return _take_file(path, clip(name or path.name), limits, owner)
    if not callable(getattr(source, "read", None)):
        raise ParameterError(
            f"must be bytes, a path or an open binary file; got {type(source).__name__}.",
            owner=owner,
            name="data",
        )
    shown = clip(name or "the upload")
    return shown, _drain(source, shown, limits, owner)


def _take_file(path: Path, shown: str, limits: Limits, owner: str) -> tuple[str, bytes]:
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
        )  # a pipe that nobody writes to is not waited for
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ParameterError(f"{owner}: the file must be one that can be read; got {str(path)!r}: {why}.") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ParameterError(f"{owner}: {shown} must be a file; it is a folder, a pipe or a device.")
    with os.fdopen(handle, "rb") as file:
        return shown, _drain(file, shown, limits, owner)


def _drain(file: BinaryIO, shown: str, limits: Limits, owner: str) -> bytes:
    pieces, taken = [], 0
    try:
        while piece := file.read(_PIECE):
            if not isinstance(piece, bytes):
                raise ParameterError("must be opened in binary mode; got text.", owner=owner, name="data")
            taken += len(piece)
            if taken > limits.bytes:
                raise _too_large(owner, shown, limits)
            pieces.append(piece)
    except OSError as error:
        raise DataError(f"{owner}: {shown} must be a file that can be read; {error.strerror or error}.") from None
    return b"".join(pieces)


def _too_large(owner: str, shown: str, limits: Limits) -> DataError:
    return DataError(f"{owner}: {shown} must be at most {size(limits.bytes)}; it is larger.")


def gunzip(data: bytes, limits: Limits, what: str) -> bytes:
    """Return the bytes unpacked where they are gzipped, as they are where not.

    >>> import gzip
    >>> gunzip(gzip.compress(b"a,b"), Limits(), "read: rows.csv.gz")
    b'a,b'
    >>> gunzip(gzip.compress(bytes(10**6)), Limits(unpacked=1000), "read: rows.csv.gz")
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: read: rows.csv.gz must unpack to at most 1,000 bytes; it is larger.
    """
    if data[:2] != _GZIP:
        refuse_unpacked(limits, len(data), what)
        return data
    pieces, unpacked = [], 0
    try:
        for piece in _inflate(data):
            unpacked += len(piece)
            refuse_unpacked(limits, unpacked, what)
            pieces.append(piece)
    except (zlib.error, EOFError):
        raise DataError(f"{what} must be a whole gzip file; it is damaged or cut short.") from None
    return b"".join(pieces)


def _inflate(data: bytes) -> Iterator[bytes]:
    """Unpack member after member, a piece at a time; zeros behind the last member are padding."""
    at = 0
    for _ in range(_MEMBERS):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            given = member.unconsumed_tail
            if not given:
                given = data[at : at + _PIECE]
                at += len(given)
            if not given:
                raise EOFError
            if piece := member.decompress(given, _PIECE * 16):
                yield piece
        at -= len(member.unused_data)
        if not any(data[at : at + _PIECE]):
            return
    raise EOFError
