"""Rows to label are written whole or not at all, over nothing that is there, and as what they are."""

import datetime as dt
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.errors import ParameterError, StorageError
from driftpace.tables import Column, draw_rows, read_columns, rows_of, write_rows

_POOL = b'id,city,=sum,when\n007,"Rome, ""Lazio""",=1+1,2026-11-15\n8,,x,2026-11-16\n'


def _pool() -> dict[str, Column]:
    return read_columns(_POOL, as_text=["id"], exact=True)


def test_a_pool_comes_out_as_it_came_in(tmp_path: Path) -> None:
    pool = _pool()
    drawn = draw_rows(pool, 2, id_column="id", rng_key=[1])
    rows = rows_of(pool, drawn, id_column="id")
    write_rows(tmp_path / "tasks.csv", rows, empty=["churned"])
    lines = (tmp_path / "tasks.csv").read_bytes().split(b"\r\n")
    assert lines[0] == b"id,city,=sum,when,churned"
    assert sorted(lines[1:3]) == [b'007,"Rome, ""Lazio""",=1+1,2026-11-15,', b"8,,x,2026-11-16,"]
    assert lines[3:] == [b""]
    assert [line.split(b",")[0].decode() for line in lines[1:3]] == list(drawn.ids)


def test_rows_without_ids_get_some(tmp_path: Path) -> None:
    pool = read_columns(b"a\n1\n2\n3\n")
    drawn = draw_rows(pool, 2, rng_key=[1])
    for ending in ("csv", "tsv", "jsonl", "ndjson", "parquet"):
        path = tmp_path / f"tasks.{ending}"
        write_rows(path, rows_of(pool, drawn), empty=["a", "label"])
        back = read_columns(path)
        assert list(back) == ["driftpace_id", "a", "label"]
        assert tuple(back["driftpace_id"].values) == drawn.ids
        assert back["a"].values.tolist() == pool["a"].values[drawn.places].tolist()
        assert back["label"].missing.all()
        assert tuple(draw_rows(back, 2, rng_key=[5], already=drawn.ids).ids) == (), "known again"


def test_nothing_is_overwritten_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("mine")
    with pytest.raises(
        ParameterError, match=r"ask\(path=...\) must be a new file; .* is there already; choose another name"
    ):
        write_rows(path, {"a": [1]}, owner="ask")
    assert path.read_text() == "mine"
    write_rows(path, {"a": [1]}, overwrite=True)
    assert path.read_bytes() == b"a\r\n1\r\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["tasks.csv"]


def test_a_file_made_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tasks.csv"
    link = os.link

    def slow(source: Any, target: Any) -> None:
        path.write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", slow)
    with pytest.raises(ParameterError, match="must be a new file"):
        write_rows(path, {"a": [1]})
    assert path.read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_where_there_are_no_links_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(source: Any, target: Any) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", none)
    write_rows(tmp_path / "tasks.csv", {"a": [1]})
    assert (tmp_path / "tasks.csv").read_bytes() == b"a\r\n1\r\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        StorageError, match=r"write_rows: .* must be a file that can be written; No space left on device\."
    ):
        write_rows(tmp_path / "tasks.csv", {"a": [1]})
    assert list(tmp_path.iterdir()) == []


def test_paths_and_rows_are_checked(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path / "tasks.xlsx", r"must end in .csv, .tsv, .jsonl, .ndjson or .parquet; got 'tasks.xlsx'"),
        (tmp_path / "none" / "tasks.csv", "must be in a folder that exists"),
    ):
        with pytest.raises(ParameterError, match=why):
            write_rows(path, {"a": [1]})
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ParameterError, match="is a folder"):
        write_rows(tmp_path / "folder.csv", {"a": [1]}, overwrite=True)
    with pytest.raises(ParameterError, match=r"must have columns of one length; got \[1, 2\]"):
        write_rows(tmp_path / "a.csv", {"a": [1], "b": [1, 2]})


def test_dates_and_numpy_scalars_are_written_as_plain_text(tmp_path: Path) -> None:
    rows: dict[str, list[Any]] = {
        "day": [dt.date(2026, 11, 15), None],
        "moment": [dt.datetime(2026, 11, 15, 3), np.datetime64("2026-11-15T03:00:00")],
        "numpy_day": [np.datetime64("2026-11-15"), np.datetime64("NaT")],
        "price": [Decimal("1.50"), Decimal(2)],
        "count": [np.int64(4), np.float64(1.5)],
    }
    write_rows(tmp_path / "tasks.csv", rows)
    lines = (tmp_path / "tasks.csv").read_text().split()
    assert lines[1:] == ["2026-11-15,2026-11-15T03:00:00,2026-11-15,1.50,4", ",2026-11-15T03:00:00,,2,1.5"]
    write_rows(tmp_path / "tasks.jsonl", rows)
    first = json.loads((tmp_path / "tasks.jsonl").read_text().splitlines()[0])
    assert list(first.values()) == ["2026-11-15", "2026-11-15T03:00:00", "2026-11-15", "1.50", 4]
    write_rows(tmp_path / "tasks.parquet", rows)
    assert read_columns(tmp_path / "tasks.parquet")["count"].values.tolist() == [4.0, 1.5]
    for ending in ("csv", "jsonl", "parquet"):
        day = read_columns(tmp_path / f"tasks.{ending}", as_text=["day"])["day"]
        assert (day.values[0], day.missing.tolist()) == ("2026-11-15", [False, True])
