"""Errors name owner and parameter in fields, and every layer can rename them."""

import pickle

import pytest

from driftpace.errors import (
    CollinearColumnsError,
    DataError,
    DriftpaceError,
    MissingExtraError,
    NoOpenPeriodError,
    ParameterError,
    StorageError,
    TooEarlyError,
    UnknownCampaignError,
)


@pytest.mark.parametrize(
    ("owner", "name", "message"),
    [
        ("Ball", "radius", "Ball(radius=...) must be positive; got -1."),
        ("Ball", None, "Ball: must be positive; got -1."),
        (None, "radius", "radius must be positive; got -1."),
        (None, None, "must be positive; got -1."),
    ],
)
def test_the_message_is_made_of_the_fields(owner: str | None, name: str | None, message: str) -> None:
    assert str(ParameterError("must be positive; got -1.", owner=owner, name=name)) == message


def test_renamed_keeps_the_class_and_replaces_fields() -> None:
    error = DataError("must be finite; got nan.", name="y")
    renamed = error.renamed(owner="Tracker.tell")
    assert type(renamed) is DataError
    assert str(renamed) == "Tracker.tell(y=...) must be finite; got nan."
    assert str(renamed.renamed(subject="FILE")) == "FILE must be finite; got nan."
    assert str(renamed.renamed(problem="must be numbers.")) == "Tracker.tell(y=...) must be numbers."
    assert str(error) == "y must be finite; got nan."


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("must be positive.", owner="Ball", name="radius"),
        TooEarlyError("the first period is open"),
        TooEarlyError("the first period is open").renamed(owner="Tracker.plan"),
        NoOpenPeriodError("forget", 3),
        MissingExtraError("needs plotly.", owner="report", name="figures"),
        CollinearColumnsError("must be independent.", name="X", columns=(1, 2), rows=9).renamed(subject="FILE"),
        StorageError("the store{where} is full.", store="sqlite:///labels.db").renamed(owner="serve"),
    ],
)
def test_errors_survive_pickling(error: DriftpaceError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
    assert (copy.args, copy.name) == (error.args, error.name)


def test_the_store_is_a_field_and_not_part_of_the_public_problem() -> None:
    full = StorageError("the store{where} is full.", store="sqlite:///labels.db")
    assert (str(full), full.store) == ("the store at sqlite:///labels.db is full.", "sqlite:///labels.db")
    assert full.renamed(owner="serve").public_problem == "the store is full."
    unknown = UnknownCampaignError("there is no campaign named 'a'{where}.", store="sqlite:///labels.db")
    assert str(unknown) == "there is no campaign named 'a' in sqlite:///labels.db."
    assert unknown.public_problem == "there is no campaign named 'a'."
    assert ParameterError("must be positive; got -1.", name="n").public_problem == "must be positive; got -1."
    assert str(StorageError("the store{where} is full.")) == "the store is full."
