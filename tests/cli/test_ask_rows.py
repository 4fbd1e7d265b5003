"""The rows to label are drawn from the pool once, remembered, written where they can be filled in, and never drawn twice."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.storage import open_store
from tests.cli.loop import INIT, Run, content, label, write_pool

SELECT = ("ask", "churn", "--key", "W1", "--select", "pool.csv", "--out")


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def drawn() -> tuple[str, ...]:
    store = open_store("driftpace.db", create=False)
    try:
        return Campaign.open("churn", storage=store).drawn()
    finally:
        store.close()


def test_rows_are_drawn_from_the_pool_and_written_to_be_filled_in(churn: Path, run: Run) -> None:
    code, out, _ = run(*SELECT, "tasks.csv")
    assert code == 0
    rows = rows_of("tasks.csv")
    pool = {row["customer_id"]: row for row in rows_of("pool.csv")}
    assert [row["customer_id"] for row in rows] == list(drawn())
    assert all(row == {**pool[row["customer_id"]], "churned": ""} for row in rows)
    assert len({row["customer_id"] for row in rows}) == len(rows) == 12
    assert f"Rows       {len(rows)} of the 600 rows, at random;" in out
    assert "Written    tasks.csv, 12 rows; fill in the column 'churned'" in out


def test_a_column_for_the_annotator_is_there_to_be_filled_in(churn: Path, run: Run) -> None:
    given = tuple("twice" if word == "churn" else word for word in INIT)
    assert run(*given, "--annotator", "labelled_by")[0] == 0
    code, out, _ = run("ask", "twice", "--key", "W1", "--select", "pool.csv", "--out", "tasks.csv")
    assert code == 0
    assert "fill in the columns 'churned' and 'labelled_by'" in out
    label(Path("tasks.csv"), Path("tasks.csv"))
    assert run("tell", "twice", "tasks.csv")[0] == 0


def test_the_same_question_draws_nothing_and_touches_nothing(churn: Path, run: Run) -> None:
    run(*SELECT, "tasks.csv")
    label(Path("tasks.csv"), Path("tasks.csv"))  # somebody has begun to fill it in
    filled, before = Path("tasks.csv").read_bytes(), content()
    code, out, _ = run(*SELECT, "tasks.csv")
    assert code == 0
    assert "12 missing rows were drawn before; tasks.csv is unchanged" in out
    assert (Path("tasks.csv").read_bytes(), content()) == (filled, before)


def test_a_file_that_is_gone_is_written_again(churn: Path, run: Run) -> None:
    run(*SELECT, "tasks.csv")
    first, before = Path("tasks.csv").read_bytes(), content()
    Path("tasks.csv").unlink()
    code, out, _ = run(*SELECT, "tasks.csv")
    assert (code, Path("tasks.csv").read_bytes(), content()) == (0, first, before)
    assert "the 12 rows drawn before and not labelled yet, written again" in out


def test_more_are_drawn_when_more_are_asked_for_and_never_the_same(churn: Path, run: Run) -> None:
    run(*SELECT, "first.csv")
    label(Path("first.csv"), Path("done.csv"))
    assert run("tell", "churn", "done.csv", "--part")[0] == 0
    order = json.loads(run("ask", "churn", "--format", "json")[1])
    assert order["missing"] > 0
    code, out, err = run(*SELECT, "first.csv")
    assert (code, out) == (2, "")
    assert f"--out must be a new file for the {order['missing']} rows to draw in addition to 12 drawn before" in err
    run(*SELECT, "second.csv")
    one, two = ({row["customer_id"] for row in rows_of(name)} for name in ("first.csv", "second.csv"))
    assert len(two) == order["missing"]
    assert not one & two


def test_others_are_drawn_for_rows_that_will_not_come(churn: Path, run: Run) -> None:
    run(*SELECT, "first.csv")
    label(Path("first.csv"), Path("done.csv"), only=9)
    run("tell", "churn", "done.csv", "--part")
    run("override", "churn", "12", "--reason", "three customers are gone")
    assert "were drawn before" in run(*SELECT, "first.csv")[1]
    assert run(*SELECT, "second.csv", "--instead")[0] in (0, 30)
    one, two = ({row["customer_id"] for row in rows_of(name)} for name in ("first.csv", "second.csv"))
    assert len(two) == 3
    assert not one & two


def test_strata_give_their_share(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1")
    run("override", "churn", "100", "--reason", "to count")
    assert run(*SELECT, "tasks.csv", "--stratify", "plan")[0] == 0
    pool = [row["plan"] for row in rows_of("pool.csv")]
    share = 100 * pool.count("gold") / len(pool)
    assert abs([row["plan"] for row in rows_of("tasks.csv")].count("gold") - share) < 1


def test_another_seed_draws_other_rows_and_the_same_seed_the_same(folder: Path, run: Run) -> None:
    files = []
    for place, seed in enumerate(("1", "1", "2")):
        store = ("--storage", f"{place}.db")
        assert run(*INIT[:-1], seed, *store)[0] == 0
        Path("churn.toml").unlink()
        run(*SELECT, f"{place}.csv", *store)
        files.append(Path(f"{place}.csv").read_bytes())
    assert files[0] == files[1] != files[2]


def test_without_an_id_rows_get_one(folder: Path, run: Run) -> None:
    run("init", "churn", "--target", "churned", "--classes", "no,yes", "--features", "age,visits", "--tolerance", "0.1")
    assert run(*SELECT, "tasks.csv")[0] == 0
    assert [row["driftpace_id"] for row in rows_of("tasks.csv")] == list(drawn())
    before = Path("tasks.csv").read_bytes()
    Path("tasks.csv").unlink()
    assert run(*SELECT, "tasks.csv")[0] == 0
    assert Path("tasks.csv").read_bytes() == before


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "tsv"])
def test_other_kinds_of_file_are_told_back(churn: Path, run: Run, ending: str) -> None:
    assert run(*SELECT, f"tasks.{ending}")[0] == 0
    code, out, err = run("tell", "churn", f"tasks.{ending}", "--format", "json")
    assert (code, err) == (0, "")
    receipt = json.loads(out)
    assert (receipt["rows"], receipt["unlabelled"]) == (0, 12)


def test_a_pool_that_is_too_small_gives_all_it_has(folder: Path, run: Run) -> None:
    write_pool(Path("pool.csv"), rows=5)
    assert run(*INIT)[0] == 0
    _, out, _ = run(*SELECT, "tasks.csv")
    assert "All 5 rows of the pool, in random order: 12 were asked and there are no more." in out
    assert len(rows_of("tasks.csv")) == 5
    code, _, err = run(*SELECT, "more.csv")
    assert code == 2
    assert "--select must have rows that were not drawn before; pool.csv has none left." in err
    assert not Path("more.csv").exists()


def test_a_dry_run_draws_and_writes_nothing(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1")
    before = content()
    code, out, err = run(*SELECT, "tasks.csv", "--dry-run")
    assert (code, err) == (0, "Nothing was written.\n")
    assert "12 of the 600 rows" in out
    assert content() == before
    assert not Path("tasks.csv").exists()


def test_a_dry_run_of_the_next_period_draws_from_the_whole_pool(churn: Path, run: Run) -> None:
    run(*SELECT, "tasks.csv")
    run("override", "churn", "0", "--reason", "a holiday")
    run("ask", "churn", "--key", "W1")
    _, wanted, _ = run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--dry-run")
    _, done, _ = run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "next.csv")
    assert "of the 600 rows" in wanted
    waiting = [
        line for line in done.splitlines() if line.startswith(("Waiting ", "Delay "))
    ]  # of W1, which is closed now
    assert wanted.splitlines() == [line for line in done.splitlines()[:-1] if line not in waiting]
    assert [line.split()[0] for line in waiting] == ["Delay", "Waiting"]


def test_json_stays_alone_on_stdout(churn: Path, run: Run) -> None:
    _, out, err = run(*SELECT, "tasks.csv", "--format", "json")
    assert json.loads(out)["missing"] == 12
    assert "12 of the 600 rows" in err


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--out", "tasks.csv"), "--out must be used with --select, the file to draw rows from; got none."),
        (("--stratify", "plan"), "--stratify must be used with --select"),
        (("--project", "3"), "--project must be used with --select"),
        (("--as", "label-studio"), "--as must be used with --select"),
        (("--select", "pool.csv"), "--select must be used with --out, the file for the drawn rows; got none."),
        (("--select", "gone.csv", "--out", "t.csv"), "--select must be a file of rows; 'gone.csv' does not exist."),
        (("--select", ".", "--out", "t.csv"), "--select must be a file of rows; '.' is a directory."),
        (
            ("--select", "pool.csv", "--out", "t.xlsx"),
            "--out must end in .csv, .tsv, .jsonl, .ndjson or .parquet; got 't.xlsx'.",
        ),
        (
            ("--select", "pool.csv", "--out", "t.json"),
            "--out must not end in .json unless --as label-studio is given; got 't.json'.",
        ),
        (
            ("--select", "pool.csv", "--out", "t.csv", "--as", "label-studio"),
            "--out must end in .json for Label Studio tasks",
        ),
        (("--select", "pool.csv", "--out", "no/t.csv"), "--out must be in an existing directory; got 'no/t.csv'."),
        (
            ("--select", "pool.csv", "--out", "pool.csv"),
            "--out must be another file than --select; got 'pool.csv' twice.",
        ),
        (("--select", "pool.csv", "--out", "t.csv", "--stratify", "city"), "--stratify must be a column of the pool"),
        (("--select", "bad.csv", "--out", "t.csv"), "--select: bad.csv must be text in UTF-8"),
        (
            ("--select", "twice.csv", "--out", "t.csv"),
            "--select: every row must have its own id in 'customer_id'; '7' is there twice.",
        ),
        (("--select", "lacks.csv", "--out", "t.csv"), "--select: the table must have the column 'visits'; it has"),
        (
            ("--select", "none.csv", "--out", "t.csv"),
            "--select must have valid rows; none.csv has none: 1 with an infinite visits, 1 with an infinite age.",
        ),
        (
            ("--select", "pool.csv", "--label-studio", "http://127.0.0.1:1"),
            "--label-studio and --project must be given together",
        ),
    ],
)
def test_refusals(churn: Path, run: Run, more: tuple[str, ...], sentence: str) -> None:
    Path("bad.csv").write_bytes(b"customer_id,age\n1,\xff\xfe\xfa\n")
    Path("lacks.csv").write_text("customer_id,age,plan\n7,1,gold\n")
    Path("none.csv").write_text("customer_id,age,visits,plan\n7,1,inf,gold\n8,inf,2,gold\n")
    Path("twice.csv").write_text("customer_id,age,visits,plan\n7,1,2,gold\n7,1,2,gold\n")
    before = content()
    code, out, err = run("ask", "churn", "--key", "W1", *more)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert err.count("\n") == 1
    assert content() == before
    assert not Path("t.csv").exists()


def test_two_who_draw_at_the_same_moment_get_the_same_rows(
    churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Campaign._record_draw
    rivals = ["first.csv"]

    def overtaken(self: Campaign, *args: Any, **more: Any) -> None:
        if rivals:
            assert run(*SELECT, rivals.pop())[0] == 0
        recorded(self, *args, **more)

    monkeypatch.setattr(Campaign, "_record_draw", overtaken)
    code, out, _ = run(*SELECT, "second.csv")
    assert code == 0
    assert "the 12 rows drawn before and not labelled yet, written again" in out
    assert rows_of("first.csv") == rows_of("second.csv")
    assert len(drawn()) == 12


def test_what_is_still_missing_is_written_again_and_nothing_else(churn: Path, run: Run) -> None:
    run(*SELECT, "tasks.csv")
    label(Path("tasks.csv"), Path("some.csv"), only=8)
    run("tell", "churn", "some.csv")
    first = [row["customer_id"] for row in rows_of("tasks.csv")]
    run("override", "churn", "12", "--reason", "no more this week")
    code, out, _ = run(*SELECT, "rest.csv")
    assert code == 0
    assert "the 4 rows drawn before and not labelled yet, written again" in out
    assert [row["customer_id"] for row in rows_of("rest.csv")] == first[8:]
    run("override", "churn", "20", "--reason", "the team is back")
    run(*SELECT, "more.csv")
    assert len(rows_of("more.csv")) == 8, "four of the twelve that are missing are out already"
    assert "written again" in run(*SELECT, "again.csv")[1]
    assert {row["customer_id"] for row in rows_of("again.csv")} == {
        *first[8:],
        *(row["customer_id"] for row in rows_of("more.csv")),
    }


def test_rows_that_nobody_drew_do_not_make_the_next_draw_larger_each_time(churn: Path, run: Run) -> None:
    run(*SELECT, "tasks.csv")
    own = {row["customer_id"] for row in rows_of("tasks.csv")}
    others = [row for row in rows_of("pool.csv") if row["customer_id"] not in own][:5]
    with Path("foreign.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*others[0], "churned"])
        writer.writeheader()
        writer.writerows({**row, "churned": "no"} for row in others)
    run("tell", "churn", "foreign.csv", "--part", "--accept-others")
    label(Path("tasks.csv"), Path("done.csv"))
    run("tell", "churn", "done.csv", "--part")
    run("override", "churn", "30", "--reason", "a fair")
    run(*SELECT, "next.csv")
    assert len(rows_of("next.csv")) == 13
    before = drawn()
    for name in ("second.csv", "third.csv"):
        run(*SELECT, name)
        assert rows_of(name) == rows_of("next.csv")
    assert drawn() == before


def test_a_file_that_only_grows_brings_the_new_rows_alone(churn: Path, run: Run) -> None:
    run(*SELECT, "one.csv")
    label(Path("one.csv"), Path("all.csv"))
    run("tell", "churn", "all.csv", "--close")
    write_pool(Path("pool.csv"), rows=900)
    run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "two.csv")
    fresh = label(Path("two.csv"), Path("done.csv"))
    again = {row["customer_id"] for row in rows_of("one.csv")} & {row["customer_id"] for row in rows_of("two.csv")}
    rows = [*rows_of("all.csv"), *(row for row in rows_of("done.csv") if row["customer_id"] not in again)]
    with Path("all.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    receipt = json.loads(run("tell", "churn", "all.csv", "--part", "--format", "json")[1])
    assert (receipt["rows"], receipt["repeated"]) == (fresh, 12 - len(again))
    answer = json.loads(run("tell", "churn", "all.csv", "--part", "--format", "json")[1])
    assert answer["duplicate"] is not None


def test_rows_that_could_not_be_told_are_not_drawn_and_counted(churn: Path, run: Run) -> None:
    lines = ["customer_id,age,visits,plan"]
    lines += [f"{n},{'inf' if n < 5 else 40 + n},{n % 3},{'purple' if n in (4, 5) else 'gold'}" for n in range(20)]
    Path("pool.csv").write_text("\n".join(lines))
    code, out, _ = run(*SELECT, "tasks.csv")
    assert code == 0
    assert "Rows       12 of the 15 rows, at random;" in out
    assert "Skipped    5 of the 20 rows in the pool cannot be drawn: 5 with an infinite age" in out
    assert {int(row["customer_id"]) for row in rows_of("tasks.csv")} <= set(range(5, 20))
    label(Path("tasks.csv"), Path("done.csv"))
    assert json.loads(run("tell", "churn", "done.csv", "--part", "--format", "json")[1])["rows"] == 12


def test_labels_that_the_pool_has_already_are_left_out_and_counted(churn: Path, run: Run) -> None:
    lines = ["customer_id,age,visits,plan,churned"]
    lines += [f"{n},{40 + n},{n % 3},gold,{('no', 'yes', '', 'NA')[n % 4]}" for n in range(12)]
    Path("pool.csv").write_text("\n".join(lines))
    code, out, _ = run(*SELECT, "tasks.csv")
    assert code == 0
    assert "Warning    6 of these rows have a label in pool.csv, which is not copied: it may be outdated;" in out
    assert [row["churned"] for row in rows_of("tasks.csv")] == [""] * 12


def test_rows_that_do_not_look_like_their_pool_are_said_to_and_can_be_balanced(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1")
    run("override", "churn", "200", "--reason", "a fair")
    run(*SELECT, "tasks.csv")
    label(Path("tasks.csv"), Path("done.csv"))
    rows = rows_of("done.csv")
    with Path("young.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row for place, row in enumerate(rows) if int(row["age"]) < 50 or place % 4 == 0)
    code, out, _ = run("tell", "churn", "young.csv", "--part", "--dry-run")
    assert code == 0
    assert "do not look like the pool they were drawn from (age: the pool's median is 49, the rows' " in out
    assert "; --balance weights rows that were not labelled at random" in out
    code, out, _ = run("tell", "churn", "young.csv", "--close", "--balance")
    assert code == 0
    assert "Balanced   the rows of the period count for " in out
    _, out, _ = run("ledger", "churn")
    assert "unlike pool" in out
    code, _, error = run("tell", "churn", "young.csv", "--balance", "--again")
    assert code == 2
    assert error
