"""Who does something is who they say, or how they are logged in; or nobody, where the system knows no name."""

import getpass

import pytest

from driftpace.cli.shared.options import who_am_i


def test_as_given() -> None:
    assert who_am_i("anna") == "anna"
    assert who_am_i("") == ""
    assert who_am_i("caf\udce9") == "caf?"


def test_the_login_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "anna")
    assert who_am_i(None) == "anna"


@pytest.mark.parametrize("error", [OSError, KeyError, ImportError])
def test_nobody(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def unknown() -> str:
        raise error("no such user")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert who_am_i(None) == ""
