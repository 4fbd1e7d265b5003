"""Telling takes in labelled rows from any file once, says what is missing, and reports when the period is over."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import order_json, report_json
from driftpace.storage import open_store
from tests.cli.loop import Run, content, label
from tests.cli.test_init import definition


@pytest.fixture
def asked(churn: Path, run: Run) -> Path:
    """The folder, with rows drawn for the first period and labelled in done.csv."""
    run("ask", "churn", "--key", "W1", "--select", "pool.csv", "--out", "tasks.csv")
    label(Path("tasks.csv"), Path("done.csv"))
    return churn


def campaign_says() -> Any:
    store = open_store("driftpace.db", create=False)
    try:
        return order_json(Campaign.open("churn", storage=store).ask())
    finally:
        store.close()


def test_a_file_is_taken_in_and_what_is_missing_is_said(asked: Path, run: Run) -> None:
    code, out, err = run("tell", "churn", "done.csv")
    assert (code, err) == (0, "")
    first, now, why = out.splitlines()
    order = campaign_says()
    assert first == "churn: Added 12 rows to period 1 (W1)."
    assert now == f"Next       Label {order['missing']} more rows for period 1 (W1); 12 of {order['samples']} received."
    assert why == f"Reason     {order['reason']}"


def test_the_same_file_twice_is_noticed(asked: Path, run: Run) -> None:
    run("tell", "churn", "done.csv")
    before = content()
    Path("other-name.csv").write_bytes(Path("done.csv").read_bytes())
    for name in ("done.csv", "other-name.csv"):
        code, out, _ = run("tell", "churn", name)
        assert code == 0
        assert out.startswith(
            f"churn: {name} was already added to period 1 (W1) (log entry 4); nothing was counted twice."
        )
    assert json.loads(run("tell", "churn", "done.csv", "--format", "json")[1])["duplicate"] == 4
    assert content() == before


def test_the_same_rows_in_another_kind_of_file_are_noticed(churn: Path, run: Run) -> None:
    Path("plain.csv").write_text("age,visits,plan,churned\n30,4,gold,yes\n51,2,basic,no\n44,7,gold,no\n")
    run("init", "plain", "--target", "churned", "--classes", "no,yes", "--tolerance", "0.1", "--table", "plain.csv")
    run("ask", "plain")
    assert "Added 3 rows" in run("tell", "plain", "plain.csv")[1]
    before = content()
    Path("windows.csv").write_bytes(Path("plain.csv").read_bytes().replace(b"\n", b"\r\n"))
    pq.write_table(pyarrow.csv.read_csv("plain.csv"), "plain.parquet")
    for name in ("windows.csv", "plain.parquet"):
        assert f"{name} was already added" in run("tell", "plain", name)[1]
    assert content() == before


def test_rows_that_came_before_are_left_out_even_from_another_file(asked: Path, run: Run) -> None:
    label(Path("tasks.csv"), Path("some.csv"), only=5)
    code, out, _ = run("tell", "churn", "some.csv")
    assert code == 0
    assert out.startswith("churn: Added 5 rows to period 1 (W1); skipped 7 without a label.\n")
    code, out, _ = run("tell", "churn", "done.csv")
    assert out.startswith("churn: Added 7 rows to period 1 (W1); skipped 5 already delivered.\n")


def test_closing_reports_and_says_it_in_json_as_the_campaign_does(asked: Path, run: Run) -> None:
    run("tell", "churn", "done.csv", "--part")
    code, out, _ = run("tell", "churn", "--close", "--format", "json")
    assert code == 0
    store = open_store("driftpace.db", create=False)
    row = Campaign.open("churn", storage=store).ledger()[-1]
    store.close()
    assert json.loads(out)["report"] == report_json(row.report)
    run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "tasks2.csv")
    label(Path("tasks2.csv"), Path("done2.csv"))
    code, out, _ = run("tell", "churn", "done2.csv", "--close")
    fields = {line[:10].strip(): line[11:] for line in out.splitlines()[1:]}
    assert code == 0
    assert fields["Closed"].startswith("period 2 (W2), with ")
    assert {"Accuracy", "Certified", "Drift", "Cost"} <= fields.keys()


def test_a_period_may_be_left_open(asked: Path, run: Run) -> None:
    run("override", "churn", "12", "--reason", "enough for now")
    code, out, _ = run("tell", "churn", "done.csv", "--part", "--key", "W1")
    assert code == 0
    assert "Next       Enough rows received for period 1 (W1); nothing more to label." in out
    assert not campaign_says()["closed"]


def test_a_dry_run_takes_nothing(asked: Path, run: Run) -> None:
    before = content()
    code, out, err = run("tell", "churn", "done.csv", "--dry-run")
    assert (code, err) == (0, "Nothing was written.\n")
    assert out.startswith("churn: Added 12 rows")
    assert content() == before


def test_a_file_whose_name_is_no_text_is_told_and_logged(asked: Path, run: Run) -> None:
    odd = "gelabelt-\udcfc.csv"  # as systems of the nineties wrote an umlaut
    label(Path("tasks.csv"), Path(odd))
    code, out, err = run("tell", "churn", odd, "--who", "J\udcfcrgen")
    assert (code, err) == (0, "")
    assert "Added 12 rows" in out
    assert "from “gelabelt-?.csv”" in run("log", "churn")[1]
    Path("pool.csv").rename("pool-\udcfc.csv")
    assert run("ask", "churn", "--select", "pool-\udcfc.csv", "--out", "more.csv")[0] == 0
    assert run("export", "churn", "churn-\udcfc")[0] == 0
    assert run("import", "churn-\udcfc", "--as", "copy")[0] == 0


def test_a_file_may_count_again(asked: Path, run: Run) -> None:
    run("tell", "churn", "done.csv")
    run("forget", "churn", "--reason", "the wrong file")
    assert json.loads(run("tell", "churn", "done.csv", "--format", "json")[1])["rows"] == 12


def _written(name: str) -> bytes:
    table = pa.csv.read_csv("done.csv")
    rows = table.to_pylist()
    if name == "done.jsonl":
        return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    if name == "done.json":
        return json.dumps(rows).encode()
    if name == "export.json":
        return json.dumps(
            [
                {
                    "id": place,
                    "data": {column: value for column, value in row.items() if column != "churned"},
                    "annotations": [
                        {
                            "id": place,
                            "result": [
                                {"from_name": "churned", "type": "choices", "value": {"choices": [row["churned"]]}}
                            ],
                        }
                    ],
                }
                for place, row in enumerate(rows)
            ]
        ).encode()
    sink = io.BytesIO()
    if name == "done.parquet":
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("name", ["done.jsonl", "done.json", "done.parquet", "done.arrow", "export.json"])
def test_every_kind_of_file_gives_the_same_rows(asked: Path, run: Run, name: str) -> None:

    run("tell", "churn", "done.csv")
    wanted = campaign_says()
    run("forget", "churn", "--reason", "to tell it otherwise")
    Path(name).write_bytes(_written(name))
    code, out, err = run("tell", "churn", name)
    assert (code, err) == (0, "")
    assert out.startswith("churn: Added 12 rows")
    assert campaign_says() == wanted


def test_rows_may_come_through_a_pipe(asked: Path) -> None:
    command = [sys.executable, "-m", "driftpace", "tell", "churn", "-"]
    with Path("done.csv").open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("churn: Added 12 rows to period 1 (W1).\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("none.csv",), "FILE must be an existing file; 'none.csv' does not exist."),
        ((".",), "FILE must be an existing file; '.' is a directory."),
        (("/dev/zero",), "FILE must be an existing file; '/dev/zero' is a device."),
        ((), "FILE must be a file of labelled rows, or --close must be given; got neither."),
        (("done.csv", "--close", "--part"), "--close must not be used with --part; got both."),
        (("done.csv", "--key", "W9"), "there is no period with the key 'W9'; the open one is period 1 (W1)."),
        (
            ("done.csv", "--label-studio", "http://127.0.0.1:1", "--project", "1"),
            "FILE must not be used with --label-studio",
        ),
        (("--label-studio", "http://127.0.0.1:1"), "--label-studio and --project must be given together"),
        (("pool.csv",), "FILE: the table must have the column 'churned'; it has customer_id, age, visits, plan."),
        (("words.csv",), "FILE: target 'churned' must be 'no' or 'yes'; row 1 has 'maybe'."),
        (("old.csv",), "FILE: feature 'age' must be numeric; row 1 has 'old'."),
        (("bytes.csv",), "FILE: bytes.csv must be text in UTF-8"),
        (("empty.csv",), "FILE: empty.csv must hold at least one row; it is empty."),
        (("book.xlsx",), "FILE: book.xlsx must be a whole workbook; it cannot be read: File is not a zip file."),
        (("half.parquet",), "FILE: half.parquet must be a whole Parquet file"),
    ],
)
def test_refusals(asked: Path, run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    head = "customer_id,age,visits,plan,churned\n"
    Path("words.csv").write_text(f"{head}1,30,2,gold,maybe\n")
    Path("old.csv").write_text(f"{head}1,old,2,gold,no\n")
    Path("bytes.csv").write_bytes(head.encode() + b"1,30,2,g\xfcld,no\n")
    Path("empty.csv").write_text("")
    Path("book.xlsx").write_bytes(b"PK\x03\x04 and more")
    Path("half.parquet").write_bytes(b"PAR1 and then nothing")
    before = content()
    code, out, err = run("tell", "churn", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert err.count("\n") == 1
    assert content() == before


def test_telling_before_asking_is_refused(churn: Path, run: Run) -> None:
    Path("rows.csv").write_text("customer_id,age,visits,plan,churned\n1,30,2,gold,no\n")
    code, _, err = run("tell", "churn", "rows.csv")
    assert (code, err) == (2, "driftpace: tell needs an open period: run driftpace ask NAME first, for period 1.\n")


def test_a_period_of_one_row_is_plain_json_in_the_log(asked: Path, run: Run) -> None:
    run("tell", "churn", "done.csv", "--close")
    run("ask", "churn", "--key", "W2")
    label(Path("tasks.csv"), Path("one.csv"), only=1)
    assert run("tell", "churn", "one.csv", "--close")[0] == 0
    (last,) = json.loads(run("log", "churn", "--format", "json", "--last", "1")[1])
    assert (last["served"]["rows"], last["served"]["error"]) == (1, None)


def test_missing_cells_and_unknown_categories_are_counted(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1")
    Path("rows.csv").write_text("customer_id,age,visits,plan,churned\n1,,2,gold,no\n2,30,1,silver,yes\n3,40,1,,no\n")
    code, out, _ = run("tell", "churn", "rows.csv")
    assert code == 0
    assert out.splitlines()[1:4] == [
        "Unlisted   1 row with an unlisted plan (silver) counts as basic",
        f"Missing    1 cell of age is missing and counts as {definition('churn').fill['age']:.6g}",
        "Missing    1 cell of plan is missing and counts as basic",
    ]
