"""Files that people bring are read by path, from a pipe or from stdin; what cannot be read is refused by what it is."""

import io
import os
import socket
import sys
from pathlib import Path

import pytest

from driftpace.cli.files import ROW_ENDINGS, printable, read_bytes, require_directory, require_output, why_unreadable
from driftpace.errors import ParameterError
from driftpace.tables import write_rows


def test_a_file(folder: Path) -> None:
    assert read_bytes("pool.csv") == ("pool.csv", Path("pool.csv").read_bytes())


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\n")))
    assert read_bytes("-") == ("stdin", b"a\n1\n")


def test_a_terminal_is_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(ParameterError, match="stdin is a terminal"):
        read_bytes("-")


def test_a_pipe_with_a_name() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a\n1\n")
    os.close(writing)
    try:
        assert read_bytes(f"/dev/fd/{reading}")[1] == b"a\n1\n"
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (".", "FILE must be an existing file; '.' is a directory."),
        ("/dev/zero", "FILE must be an existing file; '/dev/zero' is a device."),
        ("here.sock", "FILE must be an existing file; 'here.sock' is a device."),
        ("none.csv", "FILE must be an existing file; 'none.csv' does not exist."),
        ("pool.csv/deep", "FILE must be an existing file; 'pool.csv/deep' does not exist."),
        ("", "FILE must be an existing file; '' is a directory."),
    ],
)
def test_what_cannot_be_read(folder: Path, file: str, sentence: str) -> None:
    with socket.socket(socket.AF_UNIX) as there:
        there.bind("here.sock")
        with pytest.raises(ParameterError) as refused:
            read_bytes(file)
    assert str(refused.value) == sentence


def test_a_link_is_what_it_leads_to(folder: Path) -> None:
    Path("link.csv").symlink_to("pool.csv")
    Path("loose.csv").symlink_to("none.csv")
    assert why_unreadable(Path("link.csv")) is None
    assert why_unreadable(Path("loose.csv")) == "does not exist"


def test_rows_are_written_as_what_they_can_be_written_as(folder: Path) -> None:
    for ending in ROW_ENDINGS:
        require_output(Path(f"new{ending.upper()}"), ROW_ENDINGS)
        write_rows(f"new{ending}", {"a": [1]})
    with pytest.raises(ParameterError, match="must end in"):
        write_rows("new.xlsx", {"a": [1]})


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("new.xlsx", "--out must end in .html or .htm; got 'new.xlsx'."),
        ("", "--out must end in .html or .htm; got ''."),
        ("no/new.html", "--out must be in an existing directory; got 'no/new.html'."),
        ("pool.csv/new.html", "--out must be in an existing directory; got 'pool.csv/new.html'."),
        ("folder.html", "--out must be a file; 'folder.html' is a directory."),
    ],
)
def test_places_where_nothing_can_be_written(folder: Path, out: str, sentence: str) -> None:
    Path("folder.html").mkdir()
    with pytest.raises(ParameterError) as refused:
        require_output(Path(out), (".html", ".htm"))
    assert str(refused.value) == sentence


@pytest.mark.parametrize(("text", "shown"), [("Zürich.csv", "Zürich.csv"), ("caf\udce9.csv", "caf?.csv")])
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("out", ["pool.csv", "pool.csv/deep/er"])
def test_a_directory_cannot_be_where_a_file_is(folder: Path, out: str) -> None:
    with pytest.raises(ParameterError, match=r"'pool\.csv' is a file"):
        require_directory(Path(out))
