"""Files that people bring are read by path, from a pipe or from stdin; what cannot be read is refused by what it is."""

import io
import os
import socket
import sys
from pathlib import Path

import pytest

from driftpace.cli.shared.tables import content_of, not_readable, readable
from driftpace.errors import ParameterError


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


@pytest.mark.parametrize(("text", "shown"), [("Zürich.csv", "Zürich.csv"), ("caf\udce9.csv", "caf?.csv")])
def test_readable(text: str, shown: str) -> None:
    assert readable(text) == shown
