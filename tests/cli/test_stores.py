"""A place and a name lead to a campaign, or to one sentence with what may have been meant; no place is made by looking at it."""

import os
from pathlib import Path

import pytest

from driftpace.cli.stores import find_campaign, opened_if_exists, public_place, require_campaign
from driftpace.errors import ParameterError, StorageError, UnknownCampaignError
from driftpace.storage import open_store
from tests.cli.loop import Run, in_store


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("chrun", "did you mean 'churn'?"),
        ("CHURN", "did you mean 'churn'?"),
        ("prices", "did you mean 'Prices'?"),
        ("zzz", "there are Prices, churn."),
        ("", "there are Prices, churn."),
        ("a/b", "there are Prices, churn."),
        ("half \udcff", "there are Prices, churn."),
    ],
)
def test_a_name_that_is_not_there(two: Path, name: str, hint: str) -> None:
    with pytest.raises(UnknownCampaignError) as refused:
        in_store(lambda store: require_campaign(store, name))
    assert str(refused.value).startswith(f"there is no campaign {name!r} in sqlite:///")
    assert str(refused.value).endswith(hint)


def test_of_many_names_some_are_said(folder: Path, run: Run) -> None:
    for number in range(7):
        assert run("init", f"n{number}", "--target", "y", "--epsilon", "1")[0] == 0
    assert run("ask", "zzz")[2].endswith("; there are n0, n1, n2, n3, n4 and more.\n")


def test_a_store_that_is_not_there_is_none_and_is_not_made(churn: Path) -> None:
    before = sorted(os.listdir())
    with opened_if_exists("none.db") as store:
        assert store is None
    with opened_if_exists("driftpace.db") as store:
        assert store is not None
        assert store.head("churn") is not None
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("place", ["pool.csv", ".", "no/x.db"])
def test_what_could_not_be_made_either_is_refused(churn: Path, place: str) -> None:
    with pytest.raises(StorageError), opened_if_exists(place):
        raise AssertionError("it was opened")


def test_what_goes_wrong_inside_is_not_taken_for_a_store_that_is_missing(churn: Path) -> None:
    with pytest.raises(StorageError, match="there is no store at all"), opened_if_exists("driftpace.db"):
        raise StorageError("there is no store at all.")


def test_find_campaign(churn: Path) -> None:
    url, head = find_campaign(None, "churn")
    assert url == f"sqlite:///{churn.resolve()}/driftpace.db"
    assert head is not None
    assert head.name == "churn"
    assert find_campaign(None, "none") == (url, None)
    assert find_campaign("none.db", "churn") == ("none.db", None)


def test_what_is_forgotten_at_once_is_no_place(folder: Path) -> None:
    with pytest.raises(ParameterError, match="must be persistent"):
        find_campaign("memory://", "churn")


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://anna:s3cret@db/labels",
        "postgresql://anna:s3cret@db:5432/labels?sslmode=require",
        "postgresql://db/labels?user=anna&password=s3cret",
        "postgresql+psycopg://anna:s3c@ret@db/labels",
    ],
)
def test_no_password_is_shown(place: str) -> None:
    shown = public_place(place)
    assert "s3c" not in shown
    assert shown.endswith("/labels")


def test_the_store_is_closed_behind(churn: Path, run: Run) -> None:
    assert run("ask", "churn")[0] == 0
    assert sorted(one for one in os.listdir() if one.startswith("driftpace.db")) == ["driftpace.db"]
    open_store("driftpace.db", create=False).close()
