"""A campaign goes to a file and comes back the same; a file that was changed does not; and a campaign goes for good."""

import os
from pathlib import Path

import pytest

from driftpace.campaign import Campaign
from driftpace.storage import open_store
from tests.cli.loop import Run, content, period


def test_there_and_back(churn: Path, run: Run) -> None:
    period(run, "W1")
    code, out, err = run("export", "churn", "churn.driftpace")
    assert (code, err) == (0, "")
    assert out.startswith("churn: exported to churn.driftpace, with ")
    code, out, err = run("import", "churn.driftpace", "--as", "copy", "--storage", "other.db")
    assert (code, err) == (0, "")
    assert out == f"copy: imported into sqlite:///{churn.resolve()}/other.db. Ask how many rows period 2 needs.\n"
    here, there = open_store("driftpace.db"), open_store("other.db")
    orders = [Campaign.open(name, storage=store).ask() for name, store in (("churn", here), ("copy", there))]
    here.close()
    there.close()
    assert orders[0].request == orders[1].request
    assert run("doctor", "--storage", "other.db")[0] == 0


def test_dry_runs(churn: Path, run: Run) -> None:
    before = sorted(os.listdir())
    assert run("export", "churn", "a.driftpace", "--dry-run")[2] == "Nothing was written.\n"
    assert sorted(os.listdir()) == before
    run("export", "churn", "a.driftpace")
    state = content()
    code, out, err = run("import", "a.driftpace", "--as", "copy", "--dry-run")
    assert (code, err) == (0, "Nothing was written.\n")
    assert out.startswith("copy: would be imported into ")
    assert run("remove", "churn", "--dry-run")[2] == "Nothing was written.\n"
    assert content() == state


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("export", "churn", "pool.csv"), "FILE must be a new file; 'pool.csv' exists."),
        (("export", "churn", "no/x"), "FILE must be in an existing directory; got 'no/x'."),
        (("export", "churn", "-"), "FILE must be a named file, because stdout carries the answer; got '-'."),
        (("import", "/dev/null"), "FILE must be a file that driftpace export wrote; '/dev/null' is a device."),
        (("import", "a.driftpace", "--dry-run"), "--as must not be taken; a campaign named 'churn' exists."),
        (("import", "a.driftpace", "--as", "b", "--storage", "no/x.db", "--dry-run"), "the store at "),
        (("export", "chrun", "x"), "there is no campaign 'chrun'"),
        (("import", "none"), "FILE must be a file that driftpace export wrote; 'none' does not exist."),
        (("import", "."), "FILE must be a file that driftpace export wrote; '.' is a directory."),
        (("import", "pool.csv"), "'pool.csv' is truncated, or not an exported campaign"),
        (("import", "a.driftpace"), "--as must not be taken; a campaign named 'churn' exists."),
        (("import", "a.driftpace", "--as", "a b"), "--as must be up to 100 letters"),
        (("import", "half.driftpace", "--as", "b"), "'half.driftpace' is truncated"),
        (
            ("remove", "churn"),
            "--yes must be given to remove 'churn' with 1 log entry permanently (driftpace export keeps a copy).",
        ),
        (("remove", "chrun", "--yes"), "there is no campaign 'chrun'"),
    ],
)
def test_refusals(churn: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    run("export", "churn", "a.driftpace")
    whole = Path("a.driftpace").read_bytes()
    Path("half.driftpace").write_bytes(whole[: len(whole) // 2])
    before = content()
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert err.count("\n") == 1
    assert content() == before


def test_removed_for_good(churn: Path, run: Run) -> None:
    code, out, _ = run("remove", "churn", "--yes")
    assert code == 0
    assert out.startswith("churn: removed from sqlite:///")
    assert run("list")[1] == "No campaigns yet: create one with driftpace init NAME.\n"
