"""Files that people bring are read by path, from a pipe or from stdin; what cannot be read is refused by what it is."""

import io
import os
import socket
import sys
from pathlib import Path

import pytest

from driftpace.cli.shared.tables import ROW_ENDINGS, content_of, not_readable, readable, require_place
from driftpace.errors import ParameterError
from driftpace.tables import write_rows


def test_a_file(folder: Path) -> None:
    assert content_of("pool.csv", owner="tell") == ("pool.csv", Path("pool.csv").read_bytes())


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\n")))
    assert content_of("-", owner="tell") == ("stdin", b"a\n1\n")


def test_a_terminal_is_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(ParameterError, match="nothing is piped"):
        content_of("-", owner="tell")


def test_a_pipe_with_a_name() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a\n1\n")
    os.close(writing)
    try:
        assert content_of(f"/dev/fd/{reading}", owner="tell")[1] == b"a\n1\n"
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (".", "tell: FILE must be a file; '.' is a folder."),
        ("/dev/zero", "tell: FILE must be a file; '/dev/zero' is a device."),
        ("here.sock", "tell: FILE must be a file; 'here.sock' is a device."),
        ("none.csv", "tell: FILE must be an existing file; got 'none.csv'."),
        ("pool.csv/deep", "tell: FILE must be an existing file; got 'pool.csv/deep'."),
        ("", "tell: FILE must be a file; '' is a folder."),
    ],
)
def test_what_cannot_be_read(folder: Path, file: str, sentence: str) -> None:
    with socket.socket(socket.AF_UNIX) as there:
        there.bind("here.sock")
        with pytest.raises(ParameterError) as refused:
            content_of(file, owner="tell")
    assert str(refused.value) == sentence


def test_a_link_is_what_it_leads_to(folder: Path) -> None:
    Path("link.csv").symlink_to("pool.csv")
    Path("loose.csv").symlink_to("none.csv")
    assert not_readable(Path("link.csv")) is None
    assert not_readable(Path("loose.csv")) == "does not exist"


def test_rows_are_written_as_what_they_can_be_written_as(folder: Path) -> None:
    for ending in ROW_ENDINGS:
        require_place(Path(f"new{ending.upper()}"), ROW_ENDINGS)
        write_rows(f"new{ending}", {"a": [1]})
    with pytest.raises(ParameterError, match="must end in"):
        write_rows("new.xlsx", {"a": [1]})


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("new.xlsx", "--out must end in .html or .htm; got 'new.xlsx'."),
        ("", "--out must end in .html or .htm; got ''."),
        ("no/new.html", "--out must be in a folder that exists; got 'no/new.html'."),
        ("pool.csv/new.html", "--out must be in a folder that exists; got 'pool.csv/new.html'."),
        ("folder.html", "--out must be a file; 'folder.html' is a folder."),
    ],
)
def test_places_where_nothing_can_be_written(folder: Path, out: str, sentence: str) -> None:
    Path("folder.html").mkdir()
    with pytest.raises(ParameterError) as refused:
        require_place(Path(out), (".html", ".htm"))
    assert str(refused.value) == sentence


@pytest.mark.parametrize(("text", "shown"), [("Zürich.csv", "Zürich.csv"), ("caf\udce9.csv", "caf?.csv")])
def test_readable(text: str, shown: str) -> None:
    assert readable(text) == shown
