"""Decompression with a bound, so that a small file cannot fill the memory."""

import hashlib
import zlib

SMALL, RATIO = 64 << 20, 250
"""Bytes that anything may unpack to, and by how much it may grow beyond; rows that are all zero shrink to a 230th."""


def most_bytes(packed: int) -> int:
    """Return how many bytes ``packed`` bytes may unpack to."""
    return SMALL + RATIO * packed


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
