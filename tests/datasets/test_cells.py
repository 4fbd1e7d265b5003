"""A cell of a CSV file means the same to a backtest as to a campaign."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.backtest.table import read_table
from driftpace.datasets import load_psid_extract
from driftpace.datasets.csvfile import read_csv, typed_cells
from driftpace.errors import DataError
from driftpace.tables import read_upload
from driftpace.tables.cells import column_of
from driftpace.tables.columns import from_arrays

CELLS = [
    "",
    " ",
    "NA",
    "none",
    ".",
    "nan",
    "0",
    "1",
    "-2.5",
    "1e3",
    "007",
    "1_000",
    "true",
    "FALSE",
    "yes",
    " x ",
    "1,5",
]
CELLS += ["9007199254740993", "inf", "-0", "+4"]


@given(st.lists(st.sampled_from(CELLS) | st.text("01.,-_eaN ", max_size=4), min_size=1, max_size=6))
def test_both_readers_see_the_same_column(cells: list[str]) -> None:
    campaign, backtest = column_of(cells), from_arrays({"a": typed_cells(cells)}, "test")["a"]
    assert (backtest.kind, backtest.missing.tolist()) == (campaign.kind, campaign.missing.tolist())
    assert np.array_equal(backtest.values[~backtest.missing], campaign.values[~campaign.missing])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("more", ["", ".5"])
def test_both_readers_see_the_same_file(tmp_path: Path, separator: str, more: str) -> None:
    rows = [("garage", "size", "rent", "code"), ("NA", '"31,7"', f"1{more}", "01"), ("Carport", "40", "2", "2")]
    text = "\n".join(separator.join(row) for row in rows)
    path = tmp_path / "a.csv"
    path.write_text(text)
    campaign = read_upload(text.encode())
    backtest = from_arrays(read_csv(path, owner="test"), "test")
    assert {name: (column.kind, column.values.tolist()) for name, column in backtest.items()} == {
        name: (column.kind, column.values.tolist()) for name, column in campaign.items()
    }
    assert campaign["size"].kind == ("number" if separator != "," and not more else "text")


def _written(path: Path, garage: str, target: list[str], months: list[str]) -> Path:
    words = [garage, "Carport", "Attached"]
    lines = [f"{months[one]},{words[one % 3]},{one % 5},{target[one]}" for one in range(len(target))]
    path.write_text("\n".join(["month,garage,size,sold", *lines, ""]))
    return path


def test_a_mark_is_a_word_among_features_and_no_label(tmp_path: Path) -> None:
    target = [("yes", "no", "NA")[one % 7 % 3] for one in range(60)]
    months = [f"2026-{1 + one // 20:02d}" for one in range(60)]
    path = _written(tmp_path / "a.csv", "None", target, months)
    panel = read_table(path, period="month", target="sold", features=["garage", "size"])
    assert (panel.classes, sum(panel.sizes)) == (("no", "yes"), 60 - target.count("NA"))
    assert f"{target.count('NA')} of 60 rows left out: sold is missing." in panel.notes
    assert any("garage became 2 columns of 0 and 1" in note for note in panel.notes)
    months[3] = "NA"
    path = _written(path, "None", target, months)
    with pytest.raises(DataError, match="column 'month' must have no missing values; 1 of"):
        read_table(path, period="month", target="sold", features=["size"])


def test_words_of_a_frame_are_its_own() -> None:
    table = {"t": [1] * 6 + [2] * 6, "x": range(12), "y": ["None", "Some"] * 6}
    assert read_table(table, period="t", target="y").classes == ("None", "Some")


def test_codes_are_numbers_where_numbers_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("year,income,age,education\n1981,9000,30,08\n1981,9500,40,12\n1982,12000,50,NA\n")
    table = load_psid_extract(path)
    assert table["education"].tolist() == [8.0, 12.0]
    path.write_text("year,income,age,education\n1981,9000,30,1_0\n1982,9500,40,12\n")
    with pytest.raises(DataError, match=r"education=.* must be a column of numbers; 'education' has '1_0'"):
        load_psid_extract(path)
