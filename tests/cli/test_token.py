"""Tokens are made, listed without their secrets, and removed."""

import csv
import io
import json
from pathlib import Path

import pytest

from driftpace.service.auth import find_token
from driftpace.storage import open_store
from tests.cli.loop import Run, content


def test_the_secret_is_printed_once_and_alone(churn: Path, run: Run) -> None:
    code, out, err = run("token", "make", "nightly", "--write", "--days", "90")
    assert code == 0
    secret = out.strip()
    assert err == "Token nightly created (read and write). The secret is shown only once: store it safely.\n"
    store = open_store("driftpace.db")
    token = find_token(store, secret)
    store.close()
    assert token is not None
    assert (token.name, token.scopes, token.expires_at is None) == ("nightly", ("read", "write"), False)
    for form in ("table", "json", "csv"):
        assert secret not in run("token", "list", "--format", form)[1]
    assert json.loads(run("token", "list", "--format", "json")[1])[0]["scopes"] == ["read", "write"]
    assert [row["name"] for row in csv.DictReader(io.StringIO(run("token", "list", "--format", "csv")[1]))] == [
        "nightly"
    ]
    assert run("token", "list")[1].splitlines()[1].startswith("nightly  read write")


@pytest.mark.parametrize(("more", "scopes"), [((), ["read"]), (("--hook",), ["hook"])])
def test_scopes(churn: Path, run: Run, more: tuple[str, ...], scopes: list[str]) -> None:
    run("token", "make", "one", *more)
    assert json.loads(run("token", "list", "--format", "json")[1])[0]["scopes"] == scopes


def test_removing(churn: Path, run: Run) -> None:
    run("token", "make", "nightly")
    before = content()
    assert run("token", "remove", "nightly", "--dry-run") == (
        0,
        "Token nightly would be removed.\n",
        "Nothing was written.\n",
    )
    assert content() == before
    assert run("token", "remove", "nightly") == (0, "Token nightly removed.\n", "")
    assert run("token", "list")[1] == "No tokens: the service accepts only clients on this machine.\n"


def test_a_dry_run_makes_none(churn: Path, run: Run) -> None:
    before = content()
    assert run("token", "make", "nightly", "--dry-run") == (0, "", "Nothing was written.\n")
    assert content() == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("make", "a b"), "NAME must be up to 100 letters"),
        (("make", "there"), "NAME must be unused; got 'there', which exists."),
        (("make", "x", "--days", "-1"), "--days must be positive and finite; got -1.0."),
        (("make", "x", "--write", "--hook"), "--hook must not be used with --write; got both."),
        (("remove", "their"), "NAME must be an existing token; got 'their': did you mean 'there'?"),
        (("remove", "zzz"), "NAME must be an existing token; got 'zzz': there are there."),
        (("mak",), "No such command 'mak'. Did you mean 'make'?"),
    ],
)
def test_refusals(churn: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    run("token", "make", "there")
    before = content()
    code, out, err = run("token", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert content() == before
