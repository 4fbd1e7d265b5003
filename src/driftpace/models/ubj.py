"""Whether a text in binary JSON (UBJSON) is whole: XGBoost reads beyond the end of one that was cut off."""

_SIZES = {
    b"i": 1,
    b"U": 1,
    b"C": 1,
    b"I": 2,
    b"u": 2,
    b"l": 4,
    b"d": 4,
    b"L": 8,
    b"D": 8,
    b"T": 0,
    b"F": 0,
    b"Z": 0,
    b"N": 0,
}
_DEEPEST = 50


def check_whole(data: bytes) -> None:
    """Raise ValueError where binary JSON ends too early, or is none.

    >>> check_whole(b"{L" + (1).to_bytes(8) + b"ai" + bytes([7]) + b"}")
    >>> check_whole(b"{L" + (1).to_bytes(8) + b"ai")
    Traceback (most recent call last):
    ...
    ValueError: it ends too early
    """
    if _end(data, 0, 0) > len(data):
        raise ValueError("it ends too early")


def _end(data: bytes, at: int, depth: int) -> int:
    """Return the place after the value at a place."""
    mark = data[at : at + 1]
    if mark in _SIZES and mark:
        return _inside(data, at + 1 + _SIZES[mark])
    if mark == b"S":
        return _text(data, at + 1)
    if mark not in (b"{", b"[") or depth > _DEEPEST:
        raise ValueError("it ends too early" if not mark else f"{mark!r} is no kind of value")
    at += 1
    if mark == b"[" and data[at : at + 1] in (b"$", b"#"):
        return _counted(data, at, depth)
    close = b"}" if mark == b"{" else b"]"
    while data[at : at + 1] != close:
        at = _end(data, _text(data, at) if mark == b"{" else at, depth + 1)
    return at + 1


def _counted(data: bytes, at: int, depth: int) -> int:
    kind = b""
    if data[at : at + 1] == b"$":
        kind, at = data[at + 1 : at + 2], at + 2
    count, at = _number(data, at + 1)
    if kind in _SIZES:
        return _inside(data, at + count * _SIZES[kind])
    for _ in range(count):
        at = _end(data, at, depth + 1)
    return at


def _text(data: bytes, at: int) -> int:
    length, at = _number(data, at)
    return _inside(data, at + length)


def _number(data: bytes, at: int) -> tuple[int, int]:
    end = _inside(data, at + 1 + _SIZES.get(data[at : at + 1], len(data)))
    number = int.from_bytes(data[at + 1 : end], "big", signed=True)
    if number < 0:
        raise ValueError("it has a length below 0")
    return number, end


def _inside(data: bytes, at: int) -> int:
    if at > len(data):
        raise ValueError("it ends too early")
    return at
