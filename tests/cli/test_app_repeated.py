"""Options that are given twice or contradict each other: one sentence, and nothing is written."""

from pathlib import Path

import pytest

from tests.cli.loop import Run

_INIT = ("init", "prices", "--table", "pool.csv", "--target", "churned", "--classes", "no,yes", "--tolerance", "0.1")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("check", "pool.csv", "--exclude", "age", "--exclude", "plan"),
            "--exclude must be given once; got it 2 times: ",
        ),
        (("check", "pool.csv", "--dayfirst", "--monthfirst"), "--dayfirst must be given once; got it 2 times."),
        (
            ("check", "pool.csv", "--target", "plan", "--exclude", "plan"),
            "--exclude must not be the target; got 'plan'.",
        ),
        ((*_INIT, "--tolerance", "0.2"), "--tolerance must be given once; got it 2 times."),
        ((*_INIT, "--id", "churned"), "--id must be a column of pool.csv; got 'churned'"),
        (
            (*_INIT, "--id", "age", "--weight", "age"),
            "--weight must be another column than the id; got 'age' for both.",
        ),
        ((*_INIT, "--weight", "plan"), "--weight must be numbers of 0 or more; row 1 of 'plan' has "),
    ],
)
def test_contradicting_options(words: tuple[str, ...], sentence: str, folder: Path, run: Run) -> None:
    status, _, said = run(*words)
    assert status == 2
    assert sentence in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["pool.csv"]


def test_flags_and_lists_may_be_repeated(folder: Path, run: Run) -> None:
    assert run(*_INIT, "--dry-run", "--dry-run")[0] == 0
    tiers = ("--per-sample", "2", "--tier", "100=1.5", "--tier", "200=1")
    assert "must be given once" not in run("plan", "--epsilon", "0.1", *tiers)[2]
