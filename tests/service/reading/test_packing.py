"""What is sent between the service and the process that reads tables."""

import socket
import threading
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.errors import DataError, MissingExtraError, ParameterError, StorageError
from driftpace.service.reading.body import Arrays, TableRequest
from driftpace.service.reading.packing import (
    Packed,
    pack_error,
    pack_request,
    pack_rows,
    receive,
    unpack_request,
    unpack_rows,
)
from driftpace.tables.columns import Column, from_objects
from driftpace.tables.limits import TableLimits


def sent(packed: Packed, *, most: int = 2**30) -> Packed | None:
    here, there = socket.socketpair()

    def send() -> None:
        with here, suppress(BrokenPipeError):
            for piece in packed.pieces():
                here.sendall(piece)

    thread = threading.Thread(target=send)
    thread.start()
    with there:
        received = receive(there, most)
    thread.join(30.0)
    return received


def returned(rows: Any) -> Any:
    packed = sent(pack_rows(rows))
    assert packed is not None
    return unpack_rows(packed)


def assert_same(column: Column, other: Column) -> None:
    assert column.kind == other.kind
    assert column.values.dtype == other.values.dtype
    assert repr(column.values.tolist()) == repr(other.values.tolist())
    assert column.missing.tolist() == other.missing.tolist()


_CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_infinity=False),
    st.text(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(
    items=st.one_of(st.lists(_CELLS, max_size=8), st.lists(st.text(), max_size=8), st.lists(st.floats(), max_size=8))
)
@settings(max_examples=100, database=None)
def test_columns_arrive_as_they_were(items: list[Any]) -> None:
    column = from_objects(items)
    assert_same(returned({"a": column})["a"], column)


@pytest.mark.parametrize(
    "item",
    [
        b"\x00\xff",
        Decimal("1.50"),
        date(2026, 11, 2),
        datetime(2026, 11, 2, 3, tzinfo=UTC),
        time(3, 4),
        timedelta(-1, 5),
    ],
)
def test_values_of_other_kinds_arrive_as_they_were(item: Any) -> None:
    column = from_objects([item, "a", None])
    assert returned({"a": column})["a"].values.tolist() == [item, "a", None]


def test_times_flags_and_many_texts_arrive_as_they_were() -> None:
    texts = [f"text {place % 7_000}" for place in range(10_000)]
    rows = {
        "time": from_objects([datetime(2026, 1, 2), None]),
        "flag": from_objects([True, None]),
        "\ud800": from_objects(["\n\r\u2028", "\0x"]),
        "many": from_objects(texts),
    }
    for name, column in returned(rows).items():
        assert_same(column, rows[name])


def test_arrays_arrive_as_they_were() -> None:
    rows = Arrays(X=np.arange(6.0).reshape(3, 2), y=np.arange(3.0), ids=["a", "b", "a"], groups=None, annotators=[])
    got = returned(rows)
    assert got.X.tolist() == rows.X.tolist()
    assert got.y.tolist() == rows.y.tolist()
    assert (got.ids, got.groups, got.annotators, got.exposure) == (["a", "b", "a"], None, [], None)


def test_requests_arrive_as_they_were() -> None:
    request = TableRequest(
        data=b"\x00a", limits=TableLimits(rows=7), owner="tell", kind="csv", name="é.csv", as_text=("id",), arrays=True
    )
    packed = sent(pack_request(request))
    assert packed is not None
    assert unpack_request(packed) == request


@pytest.mark.parametrize("kind", [DataError, ParameterError, MissingExtraError])
def test_errors_arrive_as_they_were(kind: type[DataError]) -> None:
    packed = sent(pack_error(kind("must be there; it is not.", owner="tell", name="y")))
    assert packed is not None
    error = unpack_rows(packed)
    assert type(error) is kind
    assert str(error) == "tell(y=...) must be there; it is not."


def test_other_errors_arrive_as_data_errors() -> None:
    assert isinstance(unpack_rows(pack_error(StorageError("the store is gone."))), DataError)


def test_answers_that_are_cut_short_or_too_long_are_none() -> None:
    whole = b"".join(bytes(piece) for piece in pack_rows({"a": from_objects([1.0])}).pieces())
    for cut in (0, 5, 12, len(whole) - 1):
        here, there = socket.socketpair()
        with here, there:
            here.sendall(whole[:cut])
            here.shutdown(socket.SHUT_WR)
            assert receive(there, 2**20) is None
    assert sent(pack_rows({"a": from_objects([1.0])}), most=20) is None


def test_an_answer_of_unknown_kinds_is_refused() -> None:
    with pytest.raises(ValueError, match="code"):
        unpack_rows(Packed(head={"columns": [["a", "code"]]}, buffers=[b"\0"]))
    with pytest.raises(ValueError, match="a"):
        unpack_rows(Packed(head={"columns": [["a", "number"]]}, buffers=[b"\0", bytes(16)]))
