"""Every command that answers something answers a machine too: one JSON value on stdout, whatever notes there are beside it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import status_json
from driftpace.cli.app import COMMANDS, load
from driftpace.cli.output import Form, ListForm
from driftpace.service.auth import find_token
from driftpace.storage import open_store
from tests.cli.loop import INIT, Run, content, period

LISTS = {"list", "ledger", "log", "doctor", "token list", "predict", "plan", "backtest", "demo", "warm"}
"""What is answered in rows, and so as CSV too."""


def every_command() -> Iterator[tuple[str, Any]]:
    for name in COMMANDS:
        loaded = load(name)
        inner = getattr(loaded, "commands", None)
        yield from ((f"{name} {one}", command) for one, command in inner.items()) if inner else [(name, loaded)]


def answered(run: Run, *words: object) -> tuple[Any, str]:
    """Run a command for a machine: its answer, and the notes beside it."""
    code, out, err = run(*words, "--format", "json")
    assert code == 0, err
    assert out.endswith("\n")
    assert out.count("\n") == 1
    return json.loads(out), err


@pytest.mark.parametrize(
    ("name", "command"), list(every_command()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_every_command_has_the_option_and_one_meaning_of_it(name: str, command: Any) -> None:
    (option,) = (one for one in command.params if "--format" in one.opts)
    assert option.type_descriptor.annotation is (ListForm if name in LISTS else Form)
    assert option.help is not None
    assert option.help.startswith("Output format.")


def stands(name: str, store: str = "driftpace.db") -> dict[str, Any]:
    opened = open_store(store, create=False)
    try:
        return status_json(Campaign.open(name, storage=opened).status())
    finally:
        opened.close()


def test_beginning(folder: Path, run: Run) -> None:
    would, err = answered(run, *INIT, "--dry-run")
    notes = (
        "Predicts: churned (no, yes), by logistic regression\nRow ID: customer_id\n"
        "Target: churned is not a column of pool.csv; labellers will add it\nFeatures: age, visits, plan (basic, gold)\n"
    )
    assert err == f"{notes}Nothing was written.\n"
    assert (would["name"], would["stage"], would["storage"], would["file"]) == (
        "churn",
        "ask",
        "driftpace.db",
        "churn.toml",
    )
    assert would["dry_run"] is True
    done, err = answered(run, *INIT)
    assert err == notes
    assert done == {
        **stands("churn"),
        "definition": would["definition"],
        "storage": f"sqlite:///{folder.resolve()}/driftpace.db",
        "file": "churn.toml",
        "dry_run": False,
    }
    assert done["definition"]["classes"] == ["no", "yes"]
    again, _ = answered(run, "init", "--file", "churn.toml", "--storage", "other.db")
    assert (again["file"], again["entries"]) == ("churn.toml", 1)
    only, _ = answered(run, "init", "later", "--template")
    assert only == {"name": "later", "file": "later.toml", "dry_run": False}


def test_a_machine_is_asked_no_questions(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftpace.cli.init._at_terminal", lambda: True)
    code, out, err = run("init", "--format", "json")
    assert (code, out) == (2, "")
    assert err == "driftpace: NAME must be given, such as churn, or --file; got neither.\n"
    code, out, err = run("init", "churn", "--format", "json")
    assert (code, out) == (2, "")
    assert err.startswith("driftpace: --target must be given")


def test_carrying(churn: Path, run: Run) -> None:
    run("ask", "churn")
    would = {"name": "churn", "entries": 2, "file": "a.driftpace", "dry_run": True}
    assert answered(run, "export", "churn", "a.driftpace", "--dry-run") == (would, "Nothing was written.\n")
    assert answered(run, "export", "churn", "a.driftpace") == ({**would, "dry_run": False}, "")
    away = ("import", "a.driftpace", "--as", "copy", "--storage", "other.db")
    would, err = answered(run, *away, "--dry-run")
    assert err == "Nothing was written.\n"
    assert not Path("other.db").exists()
    assert (would["name"], would["stage"], would["dry_run"]) == ("copy", "labels", True)
    done, err = answered(run, *away)
    url = f"sqlite:///{churn.resolve()}/other.db"
    assert (done, err) == (
        {**stands("copy", "other.db"), "storage": url, "file": "a.driftpace", "dry_run": False},
        "",
    )
    assert done["order"] == would["order"]


def test_removing(churn: Path, run: Run) -> None:
    before = content()
    gone = {"name": "churn", "entries": 1, "storage": f"sqlite:///{churn.resolve()}/driftpace.db"}
    would, err = answered(run, "remove", "churn", "--dry-run")
    assert (would, err) == ({**gone, "dry_run": True}, "Nothing was written.\n")
    assert content() == before
    assert answered(run, "remove", "churn", "--yes") == ({**gone, "dry_run": False}, "")


def test_a_report(churn: Path, run: Run) -> None:
    page = {"name": "churn", "file": "churn.html"}
    assert answered(run, "report", "churn", "--dry-run") == ({**page, "dry_run": True}, "Nothing was written.\n")
    assert not Path("churn.html").exists()
    assert answered(run, "report", "churn") == ({**page, "dry_run": False}, "")


def test_tokens(churn: Path, run: Run) -> None:
    would, err = answered(run, "token", "make", "nightly", "--days", "3", "--dry-run")
    assert (would["name"], would["secret"], would["dry_run"]) == ("nightly", None, True)
    assert err == "Nothing was written.\n"
    made, err = answered(run, "token", "make", "nightly", "--days", "3")
    store = open_store("driftpace.db")
    loaded = find_token(store, made["secret"])
    store.close()
    assert loaded is not None
    (listed,), _ = answered(run, "token", "list")
    assert made == {**listed, "secret": made["secret"], "dry_run": False}
    assert made["secret"] not in err
    assert answered(run, "token", "remove", "nightly") == ({**listed, "dry_run": False}, "")


def test_predictions_in_a_file_and_in_words(churn: Path, run: Run) -> None:
    period(run, "W1")
    answer, err = answered(run, "predict", "churn", "pool.csv", "--out", "predictions.csv")
    assert err == ""
    assert answer == {
        "name": "churn",
        "period": 1,
        "rows": 600,
        "columns": ["churned_predicted", "churned_probability"],
        "file": "predictions.csv",
        "dry_run": False,
    }
    rows, _ = answered(run, "predict", "churn", "pool.csv")
    lines = run("predict", "churn", "pool.csv", "--format", "table")[1].splitlines()
    assert lines[0].split() == list(rows[0])
    assert [line.split()[0] for line in lines[1:]] == [str(row["customer_id"]) for row in rows]
    code, out, err = run("predict", "churn", "pool.csv", "--out", "more.csv", "--format", "csv")
    assert (code, out) == (2, "")
    assert err == "driftpace: --format must be table or json with --out, which receives the rows; got csv.\n"


def test_the_doctor_in_rows(churn: Path, run: Run) -> None:
    import csv
    import io

    loaded, _ = answered(run, "doctor")
    assert list(csv.DictReader(io.StringIO(run("doctor", "--format", "csv")[1]))) == loaded
