"""Files in every spelling, and damaged ones: nothing is lost, nothing counts twice, and a refusal names the cell.

A campaign has received one tidy file. The next one is written in some way, or damaged. It is taken with the values that its rows
have, every row of it counted once; or refused in one sentence that names the file, the row or the column, and nothing changes.
"""

import csv
import io
import math
import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.campaign import Campaign, Receipt
from driftpace.campaign.packing import unpack_rows
from driftpace.errors import DriftpaceError
from driftpace.storage import MemoryStore
from driftpace.tables import read_columns
from tests.reference.spellings import (
    CITIES,
    COLUMNS,
    FORMATS,
    Row,
    arrow_bytes,
    excel_bytes,
    json_bytes,
    tidy_rows,
    written,
)

FIRST = 30
DEFINITIONS: dict[str, dict[str, Any]] = {
    "learned": {},
    "named": {"features": ["age", "rate", "member", "city"], "categories": {"city": list(CITIES)}},
    "dropped": {"missing": "drop"},
}


class Fresh:
    """A campaign with one tidy delivery, and what its store holds."""

    def __init__(self, shape: str, rng: random.Random) -> None:
        self.store = MemoryStore()
        values = {"name": "prices", "target": "price", "id": "id", "epsilon": 0.1, "seed": 1, **DEFINITIONS[shape]}
        self.campaign = Campaign.create(values, storage=self.store)
        self.campaign.ask()
        first = tidy_rows(rng, FIRST)
        self.campaign.tell_table({name: [row[name] for row in first] for name in COLUMNS}, final=False)
        encoding = self.campaign.encoding
        assert encoding is not None
        self.encoding = encoding
        self.before = self.content()

    def content(self) -> tuple[Any, ...]:
        """Return everything the store holds of the campaign."""
        entries = self.store.entries("prices")
        rows = self.store.rows("prices", [entry.seq for entry in entries])
        return self.store.checkpoint("prices"), entries, rows

    def tell(self, name: str, table: Any) -> Receipt | str:
        """Deliver a table; return the receipt, or the sentence that refuses it."""
        try:
            if isinstance(table, bytes):
                table = read_columns(table, name=name, as_text=self.campaign.text_columns, owner=name)
            receipt = self.campaign.tell_table(table, source=name, final=False)
        except DriftpaceError as error:
            sentence = str(error)
            assert self.content() == self.before
            assert sentence.endswith((".", "?"))
            assert "\n" not in sentence
            assert "Traceback" not in sentence
            return sentence
        return receipt

    def rows(self) -> dict[str, tuple[list[float], float]]:
        """Return the features and target of the rows of the last delivery by id."""
        last = self.campaign.log(kinds=("delivered",))[-1].seq
        packed = unpack_rows(self.store.rows("prices", [last])[last])
        assert packed.ids is not None
        return {
            row_id: (x, float(y))
            for row_id, x, y in zip(packed.ids, packed.event.X.tolist(), packed.event.y, strict=True)
        }

    def expected(self, row: Row) -> tuple[list[float], float]:
        """Return a row as the encoding says it should be, worked out by hand."""
        values: list[float] = []
        for name in self.encoding.names:
            source, _, level = name.partition("=")
            fill = next(getattr(column, "fill", 0.0) for column in self.encoding.columns if column.name == source)
            value = row[source]
            if not level:
                values.append(fill if value is None else float(value))
            else:
                word = "missing" if value is None else value
                values.append(float(word == level))
        return values, row["price"]


def counted(receipt: Receipt) -> int:
    ignored = receipt.repeated + receipt.unlabelled + receipt.other_period_rows + receipt.incomplete
    return receipt.rows + ignored + sum(receipt.without.values())


@pytest.mark.parametrize("form", FORMATS)
@given(seed=st.integers(0, 2**32), shape=st.sampled_from(sorted(DEFINITIONS)), count=st.integers(1, 12))
@settings(max_examples=15, deadline=None)
def test_every_spelling_is_taken_with_the_values_of_its_rows(form: str, seed: int, shape: str, count: int) -> None:
    rng = random.Random(seed)
    fresh = Fresh(shape, rng)
    rows = tidy_rows(rng, count, first=FIRST - 2, gaps=0.2)
    receipt = fresh.tell(*written(rng, rows, form))
    assert isinstance(receipt, Receipt), receipt
    assert counted(receipt) == count
    labelled = [row for row in rows if row["price"] is not None]
    whole = [row for row in labelled if shape != "dropped" or None not in row.values()]
    assert receipt.unlabelled == count - len(labelled)
    assert receipt.incomplete == len(labelled) - len(whole)
    new = {row["id"]: row for row in whole if int(row["id"][2:]) >= FIRST}
    old = len(whole) - len(new)
    assert old - 2 <= receipt.repeated <= old
    if receipt.rows:
        taken = fresh.rows()
        assert set(new) <= set(taken)
        for row_id, row in new.items():
            assert taken[row_id] == fresh.expected(row)


_ODD = (
    *(
        "",
        " ",
        "NA",
        "NULL",
        "nan",
        "-",
        "?",
        "n.a.",
        "#DIV/0!",
        "inf",
        "-inf",
        "1e400",
        "9" * 320,
        "0x1f",
        "1_000",
        "1,5",
    ),
    *(
        "1.234,5",
        "24 kg",
        "$5",
        "5%",
        "Yes",
        "TRUE",
        "2020-01-01",
        "01/02/2020",
        "Jan 2010",
        "½",
        "−3",
        "٣",
        "'7",
        "1.2.3",
    ),
    *(
        "=1+1",
        "Ünïcode 漢字",
        "\u200b",
        "\x1b[31m",
        "a\nb",
        'say "no"',
        "x" * 500,
        "007",
        "1e5",
        "+4",
        "4.",
        "<b>",
        "Infinity",
    ),
)


def number_of(text: str) -> float | None:
    """Return the finite number that a cell is, and None where it is none; digits of other scripts are no numbers."""
    if not text.strip().isascii():
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from(sorted(DEFINITIONS)),
    form=st.sampled_from(["csv", "jsonl", "xlsx", "parquet"]),
    name=st.sampled_from(COLUMNS),
    text=st.sampled_from(_ODD) | st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6),
)
@settings(max_examples=150, deadline=None)
def test_one_odd_cell_is_understood_or_refused_by_its_row_and_column(
    seed: int, shape: str, form: str, name: str, text: str
) -> None:
    rng = random.Random(seed)
    fresh = Fresh(shape, rng)
    rows = [{**row, "price": row["price"] or 1.5} for row in tidy_rows(rng, 24, first=FIRST, gaps=0.0)]
    at = rng.randrange(len(rows))
    table = [{key: value if key == "city" else str(value) for key, value in row.items()} for row in rows]
    table[at][name] = text
    receipt = fresh.tell(*_as_file(rng, table, form))
    if isinstance(receipt, str):
        assert f"{name!r}" in receipt or "price" in receipt or form == "xlsx"
        assert re.search(rf"\brows? (\d+ and )?{at + 1}\b", receipt) or f"column {name!r}" in receipt or form == "xlsx"
        return
    assert counted(receipt) == len(rows)
    taken = fresh.rows()
    for place, row in enumerate(rows):
        if place != at:
            assert taken[row["id"]] == fresh.expected(row)
    if at_id := (name == "id"):
        assert len(taken) == receipt.rows
        assert receipt.without == ({} if text.strip() else {"id": 1}) or form == "xlsx"
    elif name == "price" and number_of(text) is None:
        assert receipt.unlabelled == 1
    elif name == "price":
        assert taken[rows[at]["id"]][1] == number_of(text)
    elif name == "city":
        assert receipt.unknown_categories or receipt.filled or receipt.incomplete or text.strip() in CITIES
    elif (number := number_of(text)) is not None and (name != "member" or number in (0, 1)):
        assert taken[rows[at]["id"]] == fresh.expected({**rows[at], name: number})
    elif rows[at]["id"] in taken:
        flag = name == "member" and text.strip().lower() in ("true", "false")
        assert sum(item.cells for item in receipt.filled) == (0 if flag else 1)
    else:
        assert receipt.incomplete == 1
    assert at_id or receipt.rows + receipt.unlabelled + receipt.incomplete == len(rows)


def _as_file(rng: random.Random, table: list[dict[str, str]], form: str) -> tuple[str, Any]:
    if form == "csv":
        sink = io.StringIO(newline="")
        writer = csv.DictWriter(sink, COLUMNS)
        writer.writeheader()
        writer.writerows(table)
        return "rows.csv", sink.getvalue().encode()
    if form == "jsonl":
        return "rows.jsonl", json_bytes(rng, table, "jsonl")
    if form == "xlsx":
        printable = [[_no_controls(row[name]) for name in COLUMNS] for row in table]
        return "rows.xlsx", excel_bytes([COLUMNS, *printable])
    import pyarrow as pa

    return arrow_bytes(pa.table({name: [row[name] for row in table] for name in COLUMNS}), form)


def _no_controls(text: str) -> str:
    """Return what a workbook can hold: no control characters, and no formulas."""
    return "".join(char for char in text if char.isprintable()).removeprefix("=")


@given(
    seed=st.integers(0, 2**32),
    place=st.floats(0, 1, exclude_max=True),
    how=st.sampled_from(["delete", "insert", "replace", "cut"]),
    char=st.sampled_from([*',;\t|"\n\r 0-.eN_', "é", "\ufeff"]),
)
@settings(max_examples=200, deadline=None)
def test_one_wrong_character_changes_at_most_its_own_row(seed: int, place: float, how: str, char: str) -> None:
    rng = random.Random(seed)
    fresh = Fresh("learned", rng)
    rows = [{**row, "price": row["price"] or 1.5} for row in tidy_rows(rng, 12, first=FIRST, gaps=0.1)]
    lines = [
        ",".join(COLUMNS),
        *(",".join("" if row[name] is None else str(row[name]) for name in COLUMNS) for row in rows),
    ]
    text = "\n".join(lines) + "\n"
    at = int(place * len(text))
    rest = text[at:] if how == "insert" else "" if how == "cut" else text[at + 1 :]
    damaged = text[:at] + ("" if how in ("delete", "cut") else char) + rest
    receipt = fresh.tell("rows.csv", damaged.encode())
    if isinstance(receipt, str):
        return
    hit = text[:at].count("\n") - 1
    whole = rows if how != "cut" else rows[: max(hit + (text[at - 1] != "\n"), 0)]
    assert counted(receipt) == len(whole), receipt
    taken = fresh.rows()
    for index, row in enumerate(whole):
        if index not in (hit, hit + 1):
            assert taken[row["id"]] == fresh.expected(row)


def _bytes_of_formats() -> list[tuple[str, bytes]]:
    rng = random.Random(5)
    rows = tidy_rows(rng, 12, first=FIRST)
    return [written(rng, rows, form) for form in ("parquet", "arrow", "stream", "xlsx", "json")]


@given(seed=st.integers(0, 2**32), file=st.sampled_from(_bytes_of_formats()), share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=100, deadline=None)
def test_files_cut_short_are_refused(seed: int, file: tuple[str, bytes], share: float) -> None:
    name, data = file
    fresh = Fresh("learned", random.Random(seed))
    refused = fresh.tell(name, data[: int(share * len(data))])
    assert isinstance(refused, str)
    assert name in refused


def test_a_stream_cut_between_its_batches_is_refused() -> None:
    """Each batch is whole, so only the missing end mark says that rows are missing."""
    name, data = next(file for file in _bytes_of_formats() if file[0] == "rows.arrow" and file[1][:6] != b"ARROW1")
    ends = [at for at in range(8, len(data)) if data[at : at + 4] == b"\xff\xff\xff\xff"]
    refused = [Fresh("learned", random.Random(3)).tell(name, data[:end]) for end in ends]
    assert len(ends) >= 3
    assert all(isinstance(sentence, str) and name in sentence for sentence in refused)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["id,age,rate,member,city,price", "a,1,2,true,Oslo,3", "a,2,2,true,Oslo,4"], "rows 1 and 2 both have 'a'"),
        (["id,age,rate,member,city,price", ",1,2,true,Oslo,3"], "column 'id' must have a value in every row; row 1"),
        (["id,age,age,member,city,price", "a,1,2,true,Oslo,3"], "got 'age' twice"),
        (["id,Age,rate,member,city,price", "a,1,2,true,Oslo,3"], "must have the column 'age'; did you mean 'Age'?"),
        (["ID,AGE,RATE,MEMBER,CITY,PRICE", "a,1,2,true,Oslo,3"], "must have the column 'price'; did you mean 'PRICE'?"),
        (["id,age,rate,member,city,price", "a,1,2,true,Oslo,3,"], "must have 6 cells on every line; line 2 has 7"),
        (["", "id,age,rate,member,city,price", "", "a,1,2,true,Oslo"], "must have 6 cells on every line; line 4 has 5"),
        (
            ["id,age,rate,member,city,price", 'a,1,2,true,"Oslo,3', "b,1,2,true,Oslo,3"],
            "line 2: unexpected end of data",
        ),
        (
            [
                "id,age,rate,member,city,price",
                'a,1,2,true,"Oslo,3',
                "b,1,2,true,Oslo,3",
                'c,1,2,true,Oslo",3',
            ],
            "must have every quote closed in its own cell; the one on line 2 takes in 2 lines with 6 cells each",
        ),
        (["id,age,rate,member,city,price", "a,1,2,true,Oslo,five"], "target 'price' must be numeric"),
        (
            ["id,age,rate,member,city,price", "a,1,2,true,Oslo,3", "b,1,2,true,Oslo,inf"],
            "must be finite; row 2 has inf",
        ),
        (["id,age,rate,member,city,price", "a,1,2,true,Oslo,3", "b,24 kg,2,true,Oslo,1"], "row 2 has '24 kg'"),
        (["id,age,rate,member,city,price"], "got the names alone"),
        (["  ", ""], "got nothing"),
    ],
)
def test_refusals_name_the_cell(lines: list[str], sentence: str) -> None:
    answer = Fresh("named", random.Random(1)).tell("rows.csv", "\n".join(lines).encode())
    assert isinstance(answer, str)
    assert sentence in answer


def test_cells_of_several_lines_are_one_row() -> None:
    fresh = Fresh("named", random.Random(1))
    text = 'id,age,rate,member,city,price,note\na,1,2,true,Oslo,3,"Dear all,\nthanks, and more"\nb,1,2,true,Rome,4,\n'
    receipt = fresh.tell("rows.csv", text.encode())
    assert isinstance(receipt, Receipt)
    assert receipt.rows == 2
    assert np.array_equal(list(fresh.rows()), ["a", "b"])
