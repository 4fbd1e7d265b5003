"""``driftpace erase`` and ``archive``: what they print, what they refuse, and what lists then show."""

import csv
import json
import re
from pathlib import Path

import pytest

from tests.cli.loop import Run, label, period


@pytest.fixture
def told(churn: Path, run: Run) -> Path:
    period(run, "W1")
    period(run, "W2")
    run("ask", "churn", "--key", "W3", "--select", "pool.csv", "--out", "tasks.csv")
    label(Path("tasks.csv"), Path("done.csv"), only=3)
    run("tell", "churn", "done.csv", "--part")
    return churn


def id_in(run: Run, which: str) -> str:
    """Return the id of a row of a period."""
    from driftpace.campaign import Campaign
    from driftpace.campaign.packing import unpack_rows
    from driftpace.storage import open_store

    store = open_store("driftpace.db")
    campaign = Campaign.open("churn", storage=store)
    periods = {entry.key: entry.body["period"] for entry in campaign.log(kinds=["asked"]) if entry.key}
    entry = next(entry for entry in campaign.log(kinds=["delivered"]) if entry.body["period"] == periods[which])
    ids = unpack_rows(store.rows("churn", [entry.seq])[entry.seq]).ids
    store.close()
    assert ids is not None
    return ids[0]


def test_the_rows_of_a_person(told: Path, run: Run) -> None:
    person = id_in(run, "W1")
    code, out, err = run("erase", "churn", "--id", person, "--reason", "request")
    assert (code, out) == (2, "")
    assert err == (
        "driftpace: --yes must be given to erase permanently; it would be: Content of 1 row and 1 drawn id of period 1 erased. "
        "--dry-run shows more.\n"
    )
    words = ("erase", "churn", "--id", person, "--id", "stranger", "--reason", "request", "--who", "anna")
    code, would, err = run(*words, "--dry-run")
    assert (code, err) == (0, "Nothing was written.\n")
    code, out, err = run(*words, "--yes")
    assert (code, err) == (0, "")
    assert (
        out
        == would
        == (
            "churn: Content of 1 row and 1 drawn id of period 1 erased.\n"
            "Missing    no stored row has the id 'stranger'\n"
            "Settled    nothing up to the end of period 1 can change any more\n"
            "Elsewhere  backups, exports, files and models made before still have what they had\n"
        )
    )
    assert "Content of 1 row and 1 drawn id erased: “request”" in run("log", "churn", "--last", "1")[1]
    code, out, _ = run("doctor", "churn")
    assert code == 0
    found = re.search(r"because entry (\d+) delivered rows of which 1 were erased; the rows of period 2 lead to", out)
    assert found is not None
    assert run(*words, "--yes") == (
        0,
        f"churn: No rows were found.\nMissing    no stored row has the id {person!r}, 'stranger'\n",
        "Nothing was written.\n",
    )
    code, _, err = run("undo", "churn", "--entry", found[1], "--reason", "r")
    assert code == 2
    assert "period 1 cannot be absorbed again: rows of period 1 were erased" in err


def test_ids_of_a_file_and_json(told: Path, run: Run) -> None:
    Path("ids.txt").write_text(f"\ufeff{id_in(run, 'W1')}\n\n{id_in(run, 'W2')}\r\n", encoding="utf-8")
    code, out, _ = run("erase", "churn", "--ids", "ids.txt", "--reason", "r", "--yes", "--format", "json")
    assert code == 0
    erasure = json.loads(out)
    assert (erasure["rows"], erasure["settled"]) == (2, 2)
    assert {1, 2} <= set(erasure["periods"])  # and where they were drawn again
    assert (erasure["missing"], erasure["purged"]) == ([], True)


def test_old_periods(told: Path, run: Run) -> None:
    assert run("erase", "churn", "--older-than", "30", "--reason", "r")[1] == "churn: No rows were found.\n"
    code, out, _ = run("erase", "churn", "--before", "W2", "--reason", "kept for a period", "--yes")
    assert code == 0
    assert " of period 1 erased.\n" in out
    assert run("erase", "churn", "--before", "3", "--reason", "kept for a period", "--yes")[0] == 0
    assert run("doctor", "churn")[0] == 0
    code, _, err = run("erase", "churn", "--before", "W9", "--reason", "r", "--yes")
    assert code == 2
    assert "before must be the key of a period, or a number from 1 to 3; got 'W9'" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "one of --id or --ids, --before and --older-than must say what to erase"),
        (("--id", "1", "--before", "W2"), "one of --id or --ids, --before and --older-than must say what to erase"),
        (("--ids", "none.txt"), "--ids must be a text file with an id in each line; 'none.txt': No such file"),
        (("--ids", "empty.txt"), "--ids must be a text file with an id in each line; 'empty.txt' has none"),
        (("--ids", "bytes.txt"), "--ids must be a text file with an id in each line; 'bytes.txt': it is not UTF-8"),
    ],
)
def test_bad_words_are_refused(told: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    Path("empty.txt").write_text("\n \n")
    Path("bytes.txt").write_bytes(b"\xff\xfe\xfa")
    before = Path("driftpace.db").read_bytes()
    code, _, err = run("erase", "churn", *words, "--reason", "r", "--yes")
    assert code == 2
    assert sentence in err
    assert Path("driftpace.db").read_bytes() == before


def test_rows_of_the_open_period_are_refused(told: Path, run: Run) -> None:
    code, _, err = run("erase", "churn", "--id", id_in(run, "W3"), "--reason", "r", "--yes")
    assert code == 2
    assert "rows delivered in period 3 (W3), which is open, cannot be erased: close it first" in err


def test_archived_campaigns(told: Path, run: Run) -> None:
    label(Path("tasks.csv"), Path("all.csv"))
    code, out, err = run("archive", "churn", "--reason", "replaced", "--who", "anna")
    assert (code, out, err) == (0, "churn: archived.\nNext       Archived: it can be read, and opened again.\n", "")
    assert run("archive", "churn")[1].startswith("churn: is archived already.\n")
    assert run("list")[1] == "No campaigns yet: create one with driftpace init NAME.\n"
    assert "churn" in run("list", "--archived")[1]
    (row,) = csv.DictReader(run("list", "--archived", "--format", "csv")[1].splitlines())
    assert (row["name"], row["archived"]) == ("churn", "True")
    assert json.loads(run("list", "--format", "json")[1]) == []
    assert run("status", "churn")[0] == run("ledger", "churn")[0] == run("doctor", "churn")[0] == 0
    for words in (("tell", "churn", "all.csv"), ("ask", "churn", "--key", "W4"), ("forget", "churn", "--reason", "r")):
        code, _, err = run(*words)
        assert (code, err) == (
            2,
            "driftpace: campaign 'churn' is archived and can only be read; driftpace archive churn --undo opens it.\n",
        )
    assert run("archive", "churn", "--undo", "--dry-run")[2] == "Nothing was written.\n"
    assert run("archive", "churn", "--undo")[1].startswith("churn: opened again.\nNext       Label ")
    assert "archived" in run("log", "churn")[1]
    assert run("list", "--archived")[1] == "No campaign is archived.\n"
    assert json.loads(run("list", "--format", "json")[1])[0]["archived"] is False
