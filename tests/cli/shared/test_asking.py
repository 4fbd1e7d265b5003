"""What the library refuses by its parameters is said by the words that were typed."""

from pathlib import Path

import pytest

from driftpace.cli.shared.asking import folder as place
from driftpace.cli.shared.asking import in_options, names, one_target, penalties, source
from driftpace.errors import ParameterError
from tests.cli.loop import Run, content


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Campaign.tell(X=...) must be finite; column 'age' has inf.", "FILE must be finite; column 'age' has inf."),
        ("Campaign.tell: the table must have the column 'id'.", "FILE: the table must have the column 'id'."),
        ("Campaign.override(samples=...) must be a number.", "ROWS must be a number."),
        ("Campaign.forget(reason=...) must say why.", "--reason must say why."),
        ("make_token(expires_days=...) must be at most 36,500.", "--days must be at most 36,500."),
        ("Campaign(name=...) must be short.", "NAME must be short."),
        ("Campaign(epsilon=...) must be positive.", "epsilon must be positive."),
        ("import(name=...) must be a name that is free.", "--as must be a name that is free."),
        (
            "ask(pool=5) came after period 2 was sized for pool=None.",
            "--pool 5 came after period 2 was sized without --pool.",
        ),
        (
            "ask(pool=5) came after period 2 was sized for pool=7.",
            "--pool 5 came after period 2 was sized for --pool 7.",
        ),
        ("tell() came before ask() in period 1; ask first.", "tell came before ask in period 1; ask first."),
        ("open_store(storage=...) must be a path.", "--storage must be a path."),
        ("LabelStudio(url=...) must be an address.", "--label-studio must be an address."),
        ("Nothing about parameters: 3 of them.", "Nothing about parameters: 3 of them."),
    ],
)
def test_in_options(said: str, shown: str) -> None:
    assert in_options(said) == shown


def test_a_pool_that_comes_too_late_is_refused_by_its_name(churn: Path, run: Run) -> None:
    run("ask", "churn")
    before = content()
    sentence = "driftpace: --pool 5 came after period 1 was sized without --pool.\n"
    assert run("ask", "churn", "--pool", "5") == (2, "", sentence)
    assert content() == before


@pytest.mark.parametrize(("text", "found"), [("a, b ,c", ["a", "b", "c"]), ("", []), (" , ", []), (None, None)])
def test_names(text: str | None, found: list[str] | None) -> None:
    assert names(text) == found


@pytest.mark.parametrize("text", ["", "much", "0.1;0.2", "-1", "nan"])
def test_penalties_that_are_none(text: str) -> None:
    with pytest.raises(ParameterError, match="l2"):
        penalties(text)


@pytest.mark.parametrize(("epsilon", "tolerance", "came"), [(None, None, "neither"), (0.1, 0.1, "both")])
def test_one_target(epsilon: float | None, tolerance: float | None, came: str) -> None:
    with pytest.raises(ParameterError, match=f"one of the two; got {came}"):
        one_target(epsilon, tolerance)


def test_a_bundled_table_is_known_by_its_name_unless_a_file_is_meant(folder: Path) -> None:
    Path("gss_income").touch()
    assert source("./gss_income") == "./gss_income"
    with pytest.raises(ParameterError, match="did you mean 'gss_income'"):
        source("gss_incom")
    Path("gss_incom").touch()
    assert source("gss_incom") == "gss_incom"


@pytest.mark.parametrize("out", ["pool.csv", "pool.csv/deep/er"])
def test_a_folder_cannot_be_where_a_file_is(folder: Path, out: str) -> None:
    with pytest.raises(ParameterError, match=r"'pool\.csv' is a file"):
        place(Path(out))
