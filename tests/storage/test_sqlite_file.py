"""Which files are read as they are: those that may not be written here, while nobody writes to them."""

import os
from pathlib import Path

import pytest

from driftpace.storage.sqlite_file import at_rest, changes_beside, may_be_written


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that may not be written, whoever runs the tests."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    found = tmp_path / "labels.db"
    found.write_bytes(b"pages")
    return found


def test_what_may_be_written_is_left_to_sqlite(tmp_path: Path) -> None:
    found = tmp_path / "labels.db"
    assert at_rest(found) is None
    found.write_bytes(b"pages")
    assert may_be_written(found)
    assert at_rest(found) is None


def test_a_rest_is_over_when_somebody_writes(file: Path) -> None:
    rest = at_rest(file)
    assert rest is not None
    assert rest == at_rest(file)
    with file.open("ab") as more:
        more.write(b"more")
    assert at_rest(file) not in (None, rest)
    file.with_name("new").write_bytes(b"pages")
    before = at_rest(file)
    file.with_name("new").replace(file)
    assert at_rest(file) != before


@pytest.mark.parametrize(
    ("beside", "rests", "waiting"),
    [
        ({}, True, False),
        ({"-wal": b""}, True, False),
        ({"-shm": b""}, True, False),
        ({"-wal": b"", "-shm": b""}, False, False),
        ({"-wal": b"changes"}, False, True),
        ({"-wal": b"changes", "-shm": b""}, False, True),
        ({"-journal": b"changes"}, False, True),
    ],
)
def test_a_file_with_something_beside_it_does_not_rest(
    file: Path, beside: dict[str, bytes], rests: bool, waiting: bool
) -> None:
    for ending, content in beside.items():
        file.with_name(f"{file.name}{ending}").write_bytes(content)
    assert (at_rest(file) is not None, changes_beside(file)) == (rests, waiting)
