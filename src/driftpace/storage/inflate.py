"""Decompression with a bound, so that a small file cannot fill the memory."""

import hashlib
import zlib

from driftpace.errors import DataError

SMALL, RATIO = 64 << 20, 250
"""Bytes that anything may unpack to, and by how much it may grow beyond; rows that are all zero shrink to a 230th."""

LARGEST = 1 << 30
"""Bytes that one piece of a campaign, such as a delivery, may have unpacked."""


def most_bytes(packed: int, *, largest: int = LARGEST) -> int:
    """Return how many bytes ``packed`` bytes may unpack to."""
    return min(SMALL + RATIO * packed, largest)


def deflate(content: bytes) -> bytes:
    """Return ``content`` packed, or raise DataError where :func:`inflate` would refuse it for its size.

    >>> inflate(deflate(b"rows"))
    b'rows'
    """
    if len(content) > LARGEST:
        raise DataError(f"must be at most {LARGEST:,} bytes in one delivery; got {len(content):,}.", name="rows")
    return zlib.compress(content, 1)


def inflate(data: bytes) -> bytes:
    """Return what ``data`` unpacks to, or raise ``zlib.error`` where it is damaged or unpacks to more than :func:`most_bytes`.

    >>> inflate(zlib.compress(b"rows"))
    b'rows'
    """
    unpacking = zlib.decompressobj()
    most = most_bytes(len(data))
    content = unpacking.decompress(data, most + 1)
    if len(content) > most:
        raise zlib.error(f"it unpacks to more than {most:,} bytes")
    if not unpacking.eof:
        raise zlib.error("it is incomplete or truncated")
    return content


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of what ``data`` unpacks to; the packed bytes depend on the machine."""
    return hashlib.sha256(inflate(data)).hexdigest()
