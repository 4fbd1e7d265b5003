"""A raw table, incomplete, wrong and late files and an undo, in a dozen commands and without preparation."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Campaign
from driftpace.formatting import plural
from tests.cli.loop import Run, content
from tests.reference.raw_table import as_columns, label, missing, read_rows, visits, write_rows

TABLE = visits()
OCTOBER, NOVEMBER, DECEMBER = TABLE
INIT = ("--target", "spend", "--tolerance", "0.3", "--table", "visits.csv", "--id", "customer", "--seed", "1")


@pytest.fixture
def raw(folder: Path) -> Path:
    """The working directory, with a table of all visits and a pool of each month."""
    write_rows("visits.csv", [row for rows in TABLE.values() for row in rows])
    for month, rows in TABLE.items():
        write_rows(f"{month}.csv", rows, labelled=False)
    return folder


def ask(run: Run, key: str, out: str) -> list[dict[str, str]]:
    """Ask and draw; the drawn rows, none where no more are asked for."""
    code, _, err = run("ask", "spend", "--key", key, "--select", f"{key}.csv", "--out", out)
    assert (code in (0, 10, 30), err) == (True, "")
    return read_rows(out) if Path(out).exists() else []


def tell(run: Run, file: str, rows: list[dict[str, str]], *more: str) -> dict[str, Any]:
    """Write a file and deliver it; the receipt."""
    write_rows(file, rows)
    code, out, err = run("tell", "spend", file, "--format", "json", *more)
    assert (code, err) == (0, "")
    receipt: dict[str, Any] = json.loads(out)
    return receipt


def filled(receipt: dict[str, Any]) -> dict[str, int]:
    return {item["column"]: item["cells"] for item in receipt["filled"]}


def unlisted(receipt: dict[str, Any]) -> int:
    return sum(item["rows"] for item in receipt["unknown_categories"])


def rare(rows: list[dict[str, str]]) -> int:
    """Return how many rows are of a store that the definition does not list."""
    listed = Campaign.open("spend", storage="driftpace.db").definition.categories["store"]
    return sum(row["store"] not in listed for row in rows)


def test_the_walk(raw: Path, run: Run) -> None:
    code, out, err = run("check", "visits.csv", "--target", "spend", "--period", "visited:month")
    assert code == 0
    for part in (
        "3 periods",
        "store",
        "295 rarer values are store=other",
        "customer (free text or ids; --features uses",
        "none found",
    ):
        assert part in out
    code, out, err = run("init", "spend", *INIT)
    assert (code, err) == (0, "")
    assert "Row ID     customer" in out
    assert "Left out   visited: dates" in out

    # October: an incomplete file, a file of another month, an undo
    drawn = ask(run, OCTOBER, "tasks.csv")
    first = label(drawn, TABLE, only=len(drawn) - 10)
    receipt = tell(run, "first.csv", first)
    labelled = first[:-10]
    assert (receipt["rows"], receipt["unlabelled"]) == (len(labelled), 10)
    assert filled(receipt) == missing(labelled)
    assert unlisted(receipt) == rare(labelled) > 0

    before = content()
    write_rows("november.csv", TABLE[NOVEMBER])
    code, out, err = run("tell", "spend", "november.csv")
    assert (code, out) == (2, "")
    assert "must be rows drawn for period 1 (2025-10); 900 of 900 rows were not, such as 'C010000'" in err
    write_rows("typing.csv", [{**drawn[0], "spend": "12"}, {**drawn[1], "spend": "a lot"}])
    code, out, err = run("tell", "spend", "typing.csv")
    assert (code, "target 'spend' must be numeric; row 2 has 'a lot'" in err) == (2, True)
    assert content() == before

    receipt = tell(run, "november.csv", TABLE[NOVEMBER], "--accept-others", "--part")
    assert (receipt["rows"], receipt["others"]) == (900, 900)
    code, out, err = run("undo", "spend", "--delivery", "november.csv", "--reason", "the file of November")
    assert (code, err) == (0, "")
    assert "Delivery of 900 rows for period 1 undone." in out

    files = [labelled, label(drawn, TABLE)[-10:]]
    receipt = tell(run, "all.csv", label(drawn, TABLE))
    assert (receipt["rows"], receipt["repeated"]) == (10, len(labelled))
    while receipt["report"] is None:
        drawn = ask(run, OCTOBER, f"tasks-{len(files)}.csv")
        files.append(label(drawn, TABLE))
        receipt = tell(run, f"done-{len(files)}.csv", files[-1])

    # November is closed with five rows, and the others arrive in December
    drawn = ask(run, NOVEMBER, "november-tasks.csv")
    in_time, late = label(drawn, TABLE)[:5], label(drawn, TABLE)[5:]
    assert tell(run, "in-time.csv", in_time, "--close")["rows"] == 5
    code, out, err = run("ask", "spend", "--key", DECEMBER, "--select", "2025-12.csv", "--out", "december-tasks.csv")
    assert f"{len(late)} rows drawn for closed periods are without a label" in out
    receipt = tell(run, "late.csv", late)
    assert [(part["period"], part["rows"]) for part in receipt["late"]] == [(2, len(late))]
    assert filled(receipt) == missing(late)
    assert unlisted(receipt) == rare(late) > 0

    code, out, err = run("ledger", "spend", "--format", "json")
    assert (code, [row["late"] for row in json.loads(out)]) == (0, [0, len(late)])
    messy = Campaign.open("spend", storage="driftpace.db")
    assert [row.report.samples for row in messy.ledger()] == [sum(map(len, files)), len(drawn)]
    code, out, err = run("status", "spend")
    assert (code, "So far     2 periods closed" in out) == (0, True)
    code, out, err = run("log", "spend")
    assert "undone (entry" in out
    for column, cells in missing(late).items():
        assert f"{plural(cells, 'missing cell')} of “{column}”" in out
    code, out, err = run("doctor")
    assert (code, "recomputed: identical." in out) == (0, True)
    code, out, err = run("predict", "spend", "2025-12.csv", "--out", "predicted.csv")
    assert (code, err) == (0, "")
    assert f"{missing(TABLE[DECEMBER])['age']} cells of age are missing" in out
    assert len(read_rows("predicted.csv")) == 900

    # the model is that of the tidy history: the same rows in time, without the wrong file
    tidy = Campaign.create(messy.definition, name="tidy", storage="driftpace.db")
    tidy.ask(key=OCTOBER)
    for rows in files:
        tidy.tell_table(as_columns(rows), final=False)
    tidy.tell(final=True)
    tidy.ask(key=NOVEMBER)
    for rows in (in_time, late):
        tidy.tell_table(as_columns(rows), final=False)
    tidy.tell(final=True)
    assert np.array_equal(tidy.tracker().coef, messy.tracker().coef)


def test_many_weeks_of_one_raw_file(raw: Path, run: Run) -> None:
    """One file of all weeks is the pool of each; a late file has rows of two closed weeks, and one is sent twice."""
    everything = [row for rows in TABLE.values() for row in rows]
    code, out, err = run("init", "spend", *INIT, "--period", "visited:week")
    assert (code, err) == (0, "")
    weeks = [f"2025-W{week}" for week in range(40, 46)]
    assert f"by visited:week, {len(set(map(week_of, everything)))} periods in the table" in out
    kept: dict[str, list[dict[str, str]]] = {}
    for week in weeks:
        late = week in ("2025-W42", "2025-W44")
        part = 0
        while True:
            tasks = f"{week}-{part}.csv"
            code, out, err = run("ask", "spend", "--key", week, "--select", "visits.csv", "--out", tasks)
            assert (code in (0, 10, 30), err) == (True, "")
            drawn = read_rows(tasks) if Path(tasks).exists() else []
            assert {week_of(row) for row in drawn} <= {week}
            rows = label(drawn, TABLE)
            kept[week] = kept.get(week, []) + (rows[5:] if late else [])
            receipt = tell(run, f"done-{tasks}", rows[:5] if late else rows, *(["--close"] if late else []))
            part += 1
            if receipt["report"] is not None:
                break
    late_rows = kept["2025-W42"] + kept["2025-W44"]
    assert len(late_rows) > 0
    receipt = tell(run, "late.csv", late_rows)
    counts = {entry["key"]: entry["rows"] for entry in receipt["late"]}
    assert counts == {week: len(rows) for week, rows in kept.items() if rows}
    assert tell(run, "late again.csv", late_rows)["repeated"] == len(late_rows)
    code, out, err = run("undo", "spend", "--delivery", "late.csv", "--reason", "the labels of another desk")
    assert (code, err) == (0, "")
    assert f"Delivery of {len(late_rows)} rows" in out
    assert sum(part["rows"] for part in tell(run, "late, corrected.csv", late_rows)["late"]) == len(late_rows)
    code, out, err = run("ledger", "spend", "--format", "json")
    assert [row["key"] for row in json.loads(out)] == weeks
    assert sum(row["late"] for row in json.loads(out)) == len(late_rows)
    code, out, err = run("doctor")
    assert (code, "recomputed: identical." in out) == (0, True)


def week_of(row: dict[str, str]) -> str:
    """Return the ISO week of a visit."""
    year, week, _ = datetime.strptime(row["visited"], "%d %b %Y").isocalendar()
    return f"{year}-W{week:02}"
