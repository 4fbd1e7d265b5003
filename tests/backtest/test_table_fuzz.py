"""A table reads the same in every spelling, and a damaged one is read or refused in one sentence by backtests and checks."""

import random
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.backtest import check_table
from driftpace.backtest.table import Panel, read_table
from driftpace.errors import DriftpaceError
from tests.reference.spellings import FORMATS, Row, csv_bytes, tidy_rows, written

_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%Y%m%d", "%d %B %Y", "%b %d, %Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m", "%b %Y")


def _dated(rng: random.Random, form: str, rows: int = 60) -> list[Row]:
    """Return rows of four months; the column id holds their days, as dates where the format has them."""
    spelling = rng.choice(_DATES)
    typed = form not in ("csv", "json", "jsonl") and rng.random() < 0.5
    days = [date(2020, 1 + place * 4 // rows, 13 + place % 15) for place in range(rows)]
    tidy = tidy_rows(rng, rows)
    return [{**row, "id": day if typed else day.strftime(spelling)} for row, day in zip(tidy, days, strict=True)]


def _read(table: Any, tmp: Any, name: str) -> Panel:
    if isinstance(table, bytes):
        (tmp / name).write_bytes(table)
        table = tmp / name
    return read_table(table, period="id:month", target="price", features=["age", "rate", "member", "city"])


@pytest.mark.parametrize("form", FORMATS)
def test_every_spelling_gives_the_same_panel(form: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    @given(seed=st.integers(0, 2**32))
    @settings(max_examples=6, deadline=None)
    def check(seed: int) -> None:
        rng = random.Random(seed)
        rows = _dated(rng, form)
        panel = _read({key: [row[key] for row in rows] for key in rows[0]}, None, "")
        name, table = written(rng, rows, form)
        other = _read(table, tmp_path_factory.mktemp("rows"), name)
        assert [len(y) for y in panel.y] == [len(y) for y in other.y]
        assert sum(len(y) for y in panel.y) == sum(row["price"] is not None for row in rows)
        for mine, theirs in zip((*panel.X, *panel.y), (*other.X, *other.y), strict=True):
            assert np.array_equal(mine, theirs)

    check()


@given(
    seed=st.integers(0, 2**32),
    place=st.floats(0, 1, exclude_max=True),
    char=st.sampled_from([*',;\t|"\n\r 0-.eN_', "é", "", "NaN", "\x1b", "\0"]),
    cut=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_damaged_tables_are_checked_or_refused_in_one_sentence(seed: int, place: float, char: str, cut: bool) -> None:
    rng = random.Random(seed)
    rows = _dated(rng, "csv", 24)
    data = csv_bytes(rng, rows, list(rows[0]))
    at = int(place * len(data))
    damaged = data[:at] + char.encode() + (b"" if cut else data[at + 1 :])
    for read in (
        lambda: read_table(damaged, period="id:month", target="price"),
        lambda: check_table(damaged, period="id:month", target="price"),
        lambda: check_table(damaged),
    ):
        try:
            read()
        except DriftpaceError as error:
            sentence = str(error)
            assert sentence.endswith((".", "?")), sentence
            assert "\n" not in sentence
