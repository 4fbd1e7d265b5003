"""Tables are read in child processes whose memory and time are limited; what they do to one is not felt elsewhere."""

import gzip
import io
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from driftpace.errors import DataError
from driftpace.service.reading import Arrays, TableReader, TableRequest
from driftpace.service.reading.packing import receive
from driftpace.service.reading.reader import SMALL, is_small_text
from driftpace.tables.limits import TableLimits
from driftpace.tables.read import read_columns
from tests.reference.serving import poll

MIB = 2**20
LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory as Linux shows it")


@pytest.fixture(scope="module")
def small() -> Iterator[TableReader]:
    """A reader whose children may have 64 MiB."""
    made = TableReader(memory=64 * MIB, seconds=60)
    yield made
    made.close()


def asked(data: bytes, kind: Any = None, **more: Any) -> TableRequest:
    return TableRequest(data=data, kind=kind, limits=TableLimits(), owner="tell", **more)


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), sink, compression="zstd")
    return sink.getvalue()


@pytest.mark.parametrize(
    ("data", "kind", "here"),
    [
        (b"a\n1\n", "csv", True),
        (b"[1]", "json", True),
        (b"a\n1\n", None, True),
        (b"a\n" + b"1\n" * SMALL, "csv", False),
        (gzip.compress(b"a\n1\n", mtime=0), "csv", False),
        (gzip.compress(b"a\n1\n", mtime=0), None, False),
        (parquet(a=[1.0]), "parquet", False),
        (parquet(a=[1.0]), None, False),
        (b"a\n1\n", "excel", False),
        (b"a\n1\n", "arrow", False),
    ],
)
def test_only_small_texts_are_read_in_this_process(data: bytes, kind: Any, here: bool) -> None:
    assert is_small_text(asked(data, kind)) is here


def test_children_read_what_this_process_reads(small: TableReader) -> None:
    data = parquet(id=["a", "b", None], n=[1.5, None, 2.0], flag=[True, False, None])
    got, expected = small.read(asked(data, as_text=("id",))), read_columns(data, as_text=["id"])
    assert isinstance(got, dict)
    assert list(got) == list(expected)
    for name, column in expected.items():
        assert repr(got[name].values.tolist()) == repr(column.values.tolist())
    arrays = small.read(asked(gzip.compress(b'{"X": [[1.5]], "y": [2]}'), "json", arrays=True))
    assert isinstance(arrays, Arrays)
    assert (arrays.X.tolist(), arrays.y.tolist()) == ([[1.5]], [2.0])


def test_refusals_are_those_of_this_process(small: TableReader) -> None:
    for data, kind in ((b"PAR1" + bytes(100) + b"PAR1", "parquet"), (gzip.compress(b'[{"a": 1'), "json")):
        with pytest.raises(DataError) as here:
            read_columns(data, kind=kind, owner="tell")  # type: ignore[arg-type]
        with pytest.raises(DataError) as child:
            small.read(asked(data, kind))
        assert str(child.value) == str(here.value)


@LINUX
def test_a_table_that_needs_more_memory_is_refused_in_a_sentence(small: TableReader) -> None:
    texts = [f"{place:>200}" for place in range(400_000)]
    data = parquet(a=texts)
    assert len(data) < 4 * MIB
    with pytest.raises(DataError, match=r"^tell: the table must be read in 64 MiB of memory; it needs more\.$"):
        small.read(asked(data))
    assert small.read(asked(parquet(a=[1.0])))  # and nothing is left of it


@LINUX
def test_time_is_limited() -> None:
    hurried = TableReader(memory=512 * MIB, seconds=1)
    data = json.dumps([{f"column {place}": 0.125 for place in range(20)}] * 100_000).encode()
    with pytest.raises(DataError, match=r"^tell: the table must be readable in 1 s; it is not\.$"):
        hurried.read(asked(data, "json"))
    hurried.close()


def test_an_abort_of_a_child_is_a_refusal(small: TableReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child is killed while it reads, as by an abort in a library."""
    small.read(asked(parquet(a=[1.0])))
    process = small._process
    assert process is not None

    def killing(wire: Any, most: int) -> Any:
        children: list[str] = []

        def appeared() -> bool:
            children[:] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            return bool(children)

        poll(appeared)
        for child in children:
            os.kill(int(child), signal.SIGABRT)
        return receive(wire, most)

    monkeypatch.setattr("driftpace.service.reading.reader.receive", killing)
    data = json.dumps([{"a": place} for place in range(500_000)]).encode()
    with pytest.raises(DataError, match="must be readable"):
        small.read(asked(data, "json"))
    monkeypatch.undo()
    assert small.read(asked(parquet(a=[1.0])))
    assert small._process is process


def test_the_process_starts_again_after_it_was_killed(small: TableReader) -> None:
    small.read(asked(parquet(a=[1.0])))
    process = small._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    assert small.read(asked(parquet(a=[1.0])))
    assert small._process is not process


def test_several_threads_read_at_once(small: TableReader) -> None:
    got: list[list[float]] = []

    def read(number: float) -> None:
        rows = small.read(asked(parquet(a=[number])))
        assert isinstance(rows, dict)
        got.append(rows["a"].values.tolist())

    threads = [threading.Thread(target=read, args=(float(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert sorted(got) == [[float(number)] for number in range(8)]
