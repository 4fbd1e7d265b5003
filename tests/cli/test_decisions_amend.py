"""What words count as that a campaign does not list, at the command line."""

import json
from pathlib import Path

from tests.cli.loop import Run, content, label, period


def _with_another_plan(source: Path, done: Path, *, rows: int) -> None:
    """Let the first rows of a file have a plan that is new."""
    head, *lines = source.read_text().splitlines()
    place = head.split(",").index("plan")
    cells = [line.split(",") for line in lines]
    for line in cells[:rows]:
        line[place] = "platinum"
    done.write_text("\n".join([head, *(",".join(line) for line in cells), ""]))


def test_an_unseen_category_counts_as_the_one_it_is_mapped_to(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1", "--select", "pool.csv", "--out", "tasks.csv")
    label(Path("tasks.csv"), Path("labelled.csv"))
    _with_another_plan(Path("labelled.csv"), Path("done.csv"), rows=2)
    before = content()
    words = ("amend", "churn", "--unknown-category", "plan=gold", "--reason", "plans come and go", "--who", "anna")
    assert run(*words, "--dry-run")[1:] == (
        "churn: from now on unlisted values of plan count as gold.\nNext       Label 12 rows for period 1 (W1).\n",
        "Nothing was written.\n",
    )
    assert content() == before
    code, out, err = run(*words)
    assert (code, out.splitlines()[0], err) == (0, "churn: from now on unlisted values of plan count as gold.", "")
    amended = content()
    code, out, err = run(*words)
    assert (code, err) == (0, "Nothing was written.\n")
    assert out.startswith("churn: already set: unlisted values of plan count as gold.\n")
    assert content() == amended
    code, out, _ = run("tell", "churn", "done.csv")
    assert code == 0
    assert out.splitlines()[1] == "Unlisted   2 rows with an unlisted plan (platinum) count as gold"
    log = run("log", "churn")[1]
    assert "From period 1, unlisted categories of “plan” count as “gold”: “plans come and go”" in log
    assert "from “done.csv”; 2 rows with an unlisted category of “plan”, counted as “gold”" in log


def test_predictions_say_so_too_beside_the_rows(churn: Path, run: Run) -> None:
    period(run, "W1")
    _with_another_plan(Path("pool.csv"), Path("new.csv"), rows=3)
    assert "3 rows with an unlisted plan (platinum) count as" in run("predict", "churn", "new.csv")[2]
    run("amend", "churn", "--unknown-category", "plan=basic", "--reason", "r")
    code, out, err = run("predict", "churn", "new.csv")
    notice = "3 rows with an unlisted plan (platinum) count as basic"
    assert (code, len(out.splitlines()), err) == (0, 601, f"Unlisted: {notice}\n")
    code, out, err = run("predict", "churn", "new.csv", "--out", "p.csv", "--format", "json")
    assert (code, json.loads(out)["rows"], err) == (0, 600, f"Unlisted: {notice}\n")
    assert "platinum" in Path("p.csv").read_text()


def test_a_machine_gets_the_status(churn: Path, run: Run) -> None:
    code, out, err = run("amend", "churn", "--unknown-category", "plan=basic", "--reason", "r", "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(run("status", "churn", "--format", "json")[1])


def test_refusals_change_nothing(churn: Path, run: Run) -> None:
    before = content()
    for words, sentence in (
        (
            ("--unknown-category", "plan", "--reason", "r"),
            "--unknown-category must be COLUMN=CATEGORY, such as city=Milan; got 'plan'.",
        ),
        (
            ("--unknown-category", "plan=tin", "--reason", "r"),
            "--unknown-category must be one of ['basic', 'gold'] for 'plan'; got 'tin'.",
        ),
        (
            ("--unknown-category", "plam=gold", "--reason", "r"),
            "--unknown-category must be columns in categories; got 'plam': did you mean",
        ),
        (
            ("--unknown-category", "plan=gold", "--unknown-category", "plan=basic", "--reason", "r"),
            "--unknown-category must give one category for each column",
        ),
        (
            ("--unknown-category", "plan=gold", "--reason", " "),
            "--reason must give a reason for the log; got an empty text.",
        ),
        (("--reason", "r"), "--unknown-category"),
        (("--unknown-category", "plan=gold"), "--reason"),
    ):
        code, out, err = run("amend", "churn", *words)
        assert (code, out, sentence in err) == (2, "", True), err
    assert content() == before


def test_the_file_that_init_writes_offers_it(churn: Path) -> None:
    assert '\n# unknown_categories = { plan = "basic" }\n' in Path("churn.toml").read_text()
