"""Shared options: the user's name for the log, and lists of names."""

import getpass

import pytest

from driftpace.cli.options import split_names, user_name


def test_as_given() -> None:
    assert user_name("anna") == "anna"
    assert user_name("") == ""
    assert user_name("caf\udce9") == "caf?"


def test_the_login_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "anna")
    assert user_name(None) == "anna"


@pytest.mark.parametrize("error", [OSError, KeyError, ImportError])
def test_nobody(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def unknown() -> str:
        raise error("no such user")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert user_name(None) == ""


@pytest.mark.parametrize(("text", "names"), [("a, b ,c", ["a", "b", "c"]), ("", []), (" , ", []), (None, None)])
def test_split_names(text: str | None, names: list[str] | None) -> None:
    assert split_names(text) == names
