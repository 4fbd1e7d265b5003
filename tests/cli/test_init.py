"""A campaign begins from a few words, from a table, from a file or from questions; what is refused leaves nothing behind."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from driftpace.campaign import Campaign, Definition
from driftpace.campaign.inference import find_row_id
from driftpace.errors import StorageError
from driftpace.storage import open_store
from driftpace.tables import read_columns
from tests.cli.loop import INIT, MONEY, Run


def definition(name: str, store: str = "driftpace.db") -> Definition:
    opened = open_store(store, create=False)
    try:
        return Campaign.open(name, storage=opened).definition
    finally:
        opened.close()


def test_a_few_words_and_a_table(folder: Path, run: Run) -> None:
    code, out, err = run(*INIT, *MONEY)
    assert (code, err) == (0, "")
    created = definition("churn")
    assert created.features == ("age", "visits", "plan")
    assert dict(created.categories) == {"plan": ("basic", "gold")}
    assert (created.target, created.classes, created.id, created.loss) == (
        "churned",
        ("no", "yes"),
        "customer_id",
        "logistic",
    )
    assert created.budget is not None
    assert (created.budget["total"], created.budget["horizon"], created.budget["currency"]) == ("500", 12, "EUR")
    assert out.splitlines() == [
        f"churn: created in sqlite:///{folder.resolve()}/driftpace.db.",
        "Predicts   churned (no, yes), by logistic regression",
        "Row ID     customer_id",
        "Target     churned is not a column of pool.csv; labellers will add it",
        "Features   age, visits, plan (basic, gold)",
        "File       churn.toml, the configuration file",
        "Next       driftpace ask churn",
    ]


def test_the_file_begins_the_same_campaign_elsewhere(folder: Path, run: Run) -> None:
    run(*INIT, *MONEY)
    code, out, _ = run("init", "--file", "churn.toml", "--storage", "other.db")
    assert code == 0
    assert out.startswith("churn: created in sqlite:///")
    here, there = definition("churn").to_values(), definition("churn", "other.db").to_values()
    here.pop("seed")  # a file is for many campaigns, a seed for one
    there.pop("seed", None)
    assert here == there


def test_a_season_and_a_share_for_the_audit(folder: Path, run: Run) -> None:
    code, _, err = run(*INIT, "--season", "month", "--audit", "0.1")
    assert (code, err) == (0, "")
    assert (definition("churn").season, definition("churn").audit) == (12, 0.1)


def test_the_most_rows_of_a_period(folder: Path, run: Run) -> None:
    code, _, err = run(*INIT, "--max-rows", "500")
    assert (code, err) == (0, "")
    assert definition("churn").max_rows == 500
    assert "\nmax_rows = 500\n" in Path("churn.toml").read_text()
    code, out, err = run("init", "other", *INIT[2:], "--max-rows", "0")
    assert (code, out) == (2, "")
    assert "--max-rows must be" in err


def test_columns_with_a_role_and_a_delay_are_said(folder: Path, run: Run) -> None:
    roles = ("--weight", "w", "--annotator", "who", "--groups", "person", "--id", "visit", "--delay", "2")
    code, out, err = run("init", "churn", "--target", "y", "--features", "a", "--epsilon", "0.1", *roles)
    assert (code, err) == (0, "")
    assert out.splitlines()[2:7] == [
        "Row ID     visit",
        "Groups     person",
        "Weights    w",
        "Annotators who",
        "Delay      labels may arrive up to 2 periods late; the next order does not wait for them",
    ]


def test_numbers_need_no_table(folder: Path, run: Run) -> None:
    assert run("init", "prices", "--target", "price", "--epsilon", "0.1", "--features", "size, rooms")[0] == 0
    created = definition("prices")
    assert (created.features, created.epsilon, created.loss, created.keep_rows) == (
        ("size", "rooms"),
        0.1,
        "squared",
        True,
    )


@pytest.mark.parametrize("table", [(), ("--table", "pool.csv")])
def test_a_given_row_id_is_listed_once(table: tuple[str, ...], folder: Path, run: Run) -> None:
    code, out, _ = run("init", "t", "--target", "y", "--epsilon", "0.1", "--id", "customer_id", *table)
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("Row ID")] == ["Row ID     customer_id"]


def test_what_a_table_shows(folder: Path, run: Run) -> None:
    Path("t.csv").write_text(
        "id,a,note,left,grade\n" + "".join(f"{n},{n % 7},text {n},{'yn'[n % 2]},{'abc'[n % 3]}\n" for n in range(40))
    )
    code, out, _ = run("init", "t", "--target", "left", "--epsilon", "0.1", "--table", "t.csv")
    assert code == 0
    created = definition("t")
    assert (created.id, created.classes, created.features) == ("id", ("n", "y"), ("a", "grade"))
    assert dict(created.categories) == {"grade": ("a", "b", "c")}
    assert "Left out   note: free text or ids" in out
    assert "Classes    n (negative) and y (positive) in left" in out


def test_a_template_is_written_alone(folder: Path, run: Run) -> None:
    code, out, _ = run("init", "churn", "--template")
    assert code == 0
    assert out == "churn: edit churn.toml, then run: driftpace init --file churn.toml\n"
    assert Path("churn.toml").read_text().startswith("# Configuration of a campaign.")
    assert not Path("driftpace.db").exists()
    text = Path("churn.toml").read_text().replace("# epsilon = 0.02", "epsilon = 0.02")
    Path("churn.toml").write_text(text)
    assert run("init", "--file", "churn.toml")[0] == 0


@pytest.mark.parametrize("words", [INIT, ("init", "churn", "--template"), (*INIT, *MONEY)])
def test_a_dry_run_writes_nothing(folder: Path, run: Run, words: tuple[str, ...]) -> None:
    before = sorted(os.listdir())
    code, _, err = run(*words, "--dry-run")
    assert (code, err) == (0, "Nothing was written.\n")
    assert sorted(os.listdir()) == before


def test_a_dry_run_refuses_what_would_be_refused(churn: Path, run: Run) -> None:
    Path("churn.toml").unlink()
    code, _, err = run(*INIT, "--dry-run")
    assert code == 2
    assert err.endswith("'churn' exists: choose another, or delete it with driftpace remove churn.\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "NAME must be given, such as churn, or --file; got neither."),
        (
            ("churn",),
            "--target must be given, or --template to write churn.toml and edit it, or --file; got none of them.",
        ),
        (("churn", "--target", "y"), "--epsilon, --tolerance or --metric must be given, or --template"),
        (
            ("a b", "--target", "y", "--epsilon", "1"),
            "NAME must be up to 100 letters, digits, dots, dashes and underscores",
        ),
        (("../x", "--template"), "NAME must be up to 100 letters"),
        (("churn", "--target", "y", "--epsilon", "-1"), "--epsilon must be positive and finite; got -1.0."),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--tolerance", "1"),
            "--epsilon must be given, or tolerance or metric in its place, and only one of them; got epsilon and tolerance.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--classes", "a"),
            "--classes must be two or more different texts, 100 at most together; got ['a'].",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--budget", "5"),
            "--budget and --horizon must be given together",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--budget", "x", "--horizon", "3"),
            "--budget must be an amount of money from 0 to 1e+15; got 'x'.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--table", "no.csv"),
            "--table must be a file of rows; 'no.csv' does not exist.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--table", "."),
            "--table must be a file of rows; '.' is a directory.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--table", "pool.csv", "--id", "no"),
            "--id must be a column of pool.csv; got 'no': it has customer_id, age, visits, plan.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--table", "pool.csv", "--features", "age,no"),
            "--features must be a column of pool.csv; got 'no': it has customer_id, age, visits, plan.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--table", "pool.csv", "--features", "age,visit"),
            "--features must be a column of pool.csv; got 'visit': did you mean 'visits'?",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--table", "pool.csv", "--loss", "logstic"),
            "--loss must be one of 'squared', 'huber', 'poisson', 'gamma', 'tweedie', 'quantile', 'logistic', 'hinge', 'softmax'",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--audit", "0.9"),
            "--audit must be a share of each order, above 0 and at most 0.5; got 0.9.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--season", "year"),
            "--season must be a whole number from 2 to 1000, or one of 'quarter', 'weekday', 'month', 'week'; got 'year'.",
        ),
        (("--file", "no.toml"), "--file must be a configuration file in TOML; 'no.toml' does not exist."),
        (("--file", "pool.csv"), "--file must be TOML; "),
        (("--file", "/dev/null"), "--file must be a configuration file in TOML; '/dev/null' is a device."),
        (
            ("--file", "empty.toml"),
            "name must be up to 100 letters, digits, dots, dashes and underscores, a letter or digit first; got none.",
        ),
        (("-x",), "No such option: -x."),
        (("--", "-x"), "NAME must be up to 100 letters"),
        (("churn", "--target", " ", "--epsilon", "1"), "--target must not be empty; leave it out instead."),
        (("churn", "--target", "y", "--epsilon", "1", "--id", ""), "--id must not be empty; leave it out instead."),
        (("churn", "--target", "y", "--tolerance", "nan"), "--tolerance must be positive and finite; got nan."),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--budget", "5", "--horizon", "3", "--per-sample", "-1"),
            "--per-sample must be an amount of money from 0 to 1e+15; got '-1'.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--table", "/dev/null"),
            "--table must be a file of rows; '/dev/null' is a device.",
        ),
        (
            ("churn", "--target", "y", "--epsilon", "1", "--storage", "memory://"),
            "--storage must be persistent",
        ),
        (("--file", "typo.toml"), "epsilom must be a setting of a campaign; did you mean 'epsilon'?"),
        (("churn", "--file", "typo.toml"), "NAME must not be used with --file, which holds all settings; got both."),
        (("--file", "typo.toml", "--target", "y"), "--target must not be used with --file"),
        (
            ("taken", "--target", "y", "--epsilon", "1"),
            "taken.toml must not exist yet, because it is never overwritten: delete it, or run driftpace init --file taken.toml",
        ),
        (("taken", "--template"), "taken.toml must not exist yet"),
        (("churn", "--target", "y", "--epsilon", "1", "--storage", "no/x.db"), "the store at"),
    ],
)
def test_refusals_leave_nothing_behind(folder: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    Path("typo.toml").write_text('name = "churn"\nepsilom = 1\n')
    Path("taken.toml").write_text("mine")
    Path("empty.toml").touch()
    before = sorted(os.listdir())
    code, out, err = run("init", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before
    assert Path("taken.toml").read_text() == "mine"


@pytest.mark.parametrize("storage", ["no/x.db", ".", "pool.csv", "memory://", "mysql://here"])
def test_a_dry_run_looks_at_the_place_too(folder: Path, run: Run, storage: str) -> None:
    would, does = (run(*INIT, "--storage", storage, *more) for more in (("--dry-run",), ()))
    assert would == does
    assert would[0] == 2


@pytest.mark.parametrize("storage", ["new.db", "sqlite:///new.db"])
def test_a_dry_run_takes_a_place_that_can_be_made(folder: Path, run: Run, storage: str) -> None:
    code, out, _ = run(*INIT, "--storage", storage, "--dry-run")
    assert code == 0
    assert out.startswith(f"churn: would be created in {storage}.\n")
    assert not Path("new.db").exists()
    assert run(*INIT, "--storage", storage)[0] == 0


def test_a_file_that_cannot_be_written_begins_nothing(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "churn.toml")

    with monkeypatch.context() as there:
        there.setattr(Path, "open", refuse)
        assert run(*INIT, "--storage", "other.db") == (2, "", "driftpace: Permission denied (churn.toml).\n")
    assert not Path("other.db").exists()


def test_a_store_that_cannot_be_written_leaves_no_file(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the disk is full.")

    monkeypatch.setattr("driftpace.cli.init._Creation._store", refuse)
    assert run(*INIT) == (2, "", "driftpace: the disk is full.\n")
    assert not Path("churn.toml").exists()


def test_a_file_may_come_from_a_pipe(folder: Path, run: Run) -> None:
    run(*INIT)
    reading, writing = os.pipe()
    os.write(writing, Path("churn.toml").read_bytes())
    os.close(writing)
    code, out, _ = run("init", "--file", f"/dev/fd/{reading}", "--storage", "other.db")
    os.close(reading)
    assert (code, out.startswith("churn: created in sqlite:///")) == (0, True)


def test_a_name_is_taken_once(churn: Path, run: Run) -> None:
    Path("churn.toml").unlink()
    code, _, err = run(*INIT)
    assert code == 2
    assert (
        err == f"driftpace: NAME must be unused in sqlite:///{churn.resolve()}/driftpace.db; 'churn' exists: "
        "choose another, or delete it with driftpace remove churn.\n"
    )
    assert not Path("churn.toml").exists()


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Let somebody at a terminal answer; what they were asked."""
    asked: list[str] = []
    left = list(answers)

    def answer(prompt: str = "") -> str:
        asked.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr("driftpace.cli.init._at_terminal", lambda: True)
    monkeypatch.setattr("typer._click.termui.visible_prompt_func", answer)
    return asked


def test_questions_at_a_terminal(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, "churn", "pool.csv", "churned", "no,yes", "5%")
    code, out, err = run("init")
    assert (code, err) == (0, "")
    created = definition("churn")
    assert (created.tolerance, created.classes, created.features) == (0.05, ("no", "yes"), ("age", "visits", "plan"))
    assert "Columns: customer_id, age, visits, plan." in out
    assert len(asked) == 5


def test_questions_without_a_table(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "", "price", "", "size,rooms", "0.1")
    assert run("init", "prices")[0] == 0
    created = definition("prices")
    assert (created.epsilon, created.features, created.loss) == (0.1, ("size", "rooms"), "squared")


def test_only_what_is_missing_is_asked(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, "0.1")
    assert run("init", "prices", "--target", "price", "--features", "size", "--classes", "low,high")[0] == 0
    assert len(asked) == 1


def test_an_answer_that_is_none(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "much")
    code, _, err = run("init", "prices", "--target", "price", "--features", "size", "--classes", "low,high")
    assert (code, err) == (
        2,
        "driftpace: the target must be a percentage such as 5% or a number such as 0.02; got 'much'.\n",
    )


def test_going_away_in_the_middle_writes_nothing(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "churn")
    before = sorted(os.listdir())
    code, _, err = run("init")
    assert code == 130
    assert err.endswith("driftpace: interrupted.\n")
    assert sorted(os.listdir()) == before


def test_who_began_it_is_in_the_log(folder: Path, run: Run) -> None:
    run(*INIT, "--who", "anna")
    (entry,) = json.loads(run("log", "churn", "--format", "json")[1])
    assert (entry["kind"], entry["who"]) == ("created", "anna")


def test_numbers_that_count_the_rows_tell_them_apart_and_are_no_feature() -> None:
    rows = np.random.default_rng(0).permutation(30)
    table = {"customer": rows + 100, "age": rows * 2, "visits": rows % 7, "left": ["no", "yes"] * 15}
    columns = read_columns(table, owner="test")
    assert find_row_id(columns, target="left") == "customer"
    assert find_row_id({name: columns[name] for name in ("age", "visits", "left")}, target="left") is None
    few = read_columns({"floor": [1, 2, 3, 4]}, owner="test")
    assert find_row_id(few) is None


def tickets(place: Path, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = ["refund", "late", "broken", "thanks", "quick", "perfect", "login", "reset"]
    lines = [f"t{row},{' '.join(rng.choice(words, 4))}" for row in range(rows)]
    place.write_text("ticket,message\n" + "\n".join(lines) + "\n")


TICKETS = ("tickets", "--target", "topic", "--classes", "other,refund", "--text", "message", "--features", "message")


def test_a_pool_shows_the_components(folder: Path, run: Run) -> None:
    tickets(folder / "tickets.csv", 500, 1)
    options = (*TICKETS, "--id", "ticket", "--tolerance", "0.1", "--seed", "1", "--pool", "tickets.csv")
    assert "Pool       8 components of 500 rows have 100 % of the variance" in run("init", *options, "--dry-run")[1]
    assert not (folder / "driftpace.db").exists()
    code, out, _ = run("init", *options)
    assert (code, "components of 500 rows" in out) == (0, True)
    assert "Components learned from unlabelled rows from “tickets.csv”" in run("log", "tickets")[1]
    code, out, _ = run("ask", "tickets", "--select", "tickets.csv", "--out", "tasks.csv")
    assert "27 rows show the noise and which of 9 coordinates matter" in out
    (folder / "copy").mkdir()
    code, out, _ = run("init", "--file", "tickets.toml", "--pool", "tickets.csv", "--storage", "copy/other.db")
    assert (code, "components of 500 rows" in out) == (0, True)
    assert "identical" in run("doctor")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--pool", "none.csv"), "--pool must be a file of rows; 'none.csv' does not exist."),
        (("--pool", "pool.csv"), "--pool: the table must have the column 'message'"),
        (("--pool", "tickets.csv", "--groups", "ticket"), "--text must be left out with groups"),
        (("--pool", "tickets.csv", "--template"), "--pool must be left out with --template"),
    ],
)
def test_pools_that_show_nothing_are_refused(folder: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    tickets(folder / "tickets.csv", 50, 1)
    code, out, error = run("init", *TICKETS, "--tolerance", "0.1", *words)
    assert (code, out) == (2, "")
    assert sentence in error
    assert {place.name for place in folder.iterdir()} == {"pool.csv", "tickets.csv"}
