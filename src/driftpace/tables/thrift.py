"""Records in Thrift's compact protocol, as Parquet writes its footer and its page headers: read, within bounds, to plain values.

A record is a dict by field number, a list a list; numbers, flags and bytes are themselves.
"""

from typing import Any

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_DEEPEST = 16


class OddThriftError(ValueError):
    """The bytes are no record, or one without end."""


class Reader:
    """Reads records from ``data``, at most ``values`` values in all.

    >>> Reader(memoryview(bytes([0x15, 0x04, 0x18, 0x02, 0x41, 0x42, 0x00])), values=10).record(0)
    ({1: 2, 2: b'AB'}, 7)
    """

    def __init__(self, data: memoryview, *, values: int) -> None:
        self._data, self._left = data, values

    def record(self, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
        """Return the record that begins at a place, and the place behind it."""
        if depth > _DEEPEST:
            raise OddThriftError("it nests without end")
        fields: dict[int, Any] = {}
        number = 0
        while (first := self._byte(at)) != _STOP:
            at += 1
            step, kind = first >> 4, first & 15
            if step:
                number += step
            else:
                number, at = self._whole(at)
            if kind in (_TRUE, _FALSE):
                fields[number] = kind == _TRUE
            else:
                fields[number], at = self._value(at, kind, depth)
        return fields, at + 1

    def _byte(self, at: int) -> int:
        if not 0 <= at < len(self._data):
            raise OddThriftError("it is cut short")
        return self._data[at]

    def _value(self, at: int, kind: int, depth: int) -> tuple[Any, int]:
        self._left -= 1
        if self._left < 0:
            raise OddThriftError("it holds too many values")
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte(at), at + 1
        if kind < _DOUBLE:
            return self._whole(at)
        if kind == _DOUBLE:
            return None, at + 8
        if kind == _BINARY:
            length, at = self._varint(at)
            if at + length > len(self._data):
                raise OddThriftError("it is cut short")
            return bytes(self._data[at : at + length]), at + length
        if kind in (_LIST, _SET):
            return self._list(at, depth)
        if kind == _STRUCT:
            return self.record(at, depth + 1)
        raise OddThriftError("it holds what no Parquet file holds")

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        head = self._byte(at)
        count, kind, at = head >> 4, head & 15, at + 1
        if count == 15:
            count, at = self._varint(at)
        items: list[Any] = []
        for _ in range(count):
            item, at = self._value(at, kind, depth + 1)
            items.append(item)
        return items, at

    def _varint(self, at: int) -> tuple[int, int]:
        value = 0
        for place in range(10):
            byte = self._byte(at + place)
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                return value, at + place + 1
        raise OddThriftError("it holds an endless number")

    def _whole(self, at: int) -> tuple[int, int]:
        value, at = self._varint(at)
        return (value >> 1) ^ -(value & 1), at
