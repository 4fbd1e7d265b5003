"""What was done is said in words or as one JSON object, and a dry run says in both that nothing was written."""

import json

import pytest

from driftpace.cli.shared.answering import print_done
from driftpace.cli.shared.options import Form


@pytest.mark.parametrize("dry_run", [True, False])
def test_in_words(capsys: pytest.CaptureFixture[str], dry_run: bool) -> None:
    print_done(
        Form.TABLE,
        "churn: begun.",
        {"name": "churn"},
        lines=[("Now", "ask")],
        notes=[("Rows", "are told apart by id")],
        dry_run=dry_run,
    )
    printed = capsys.readouterr()
    assert printed.out == "churn: begun.\nRows       are told apart by id\nNow        ask\n"
    assert printed.err == ("Nothing was written.\n" if dry_run else "")


@pytest.mark.parametrize("dry_run", [True, False])
def test_for_machines(capsys: pytest.CaptureFixture[str], dry_run: bool) -> None:
    print_done(
        Form.JSON,
        "churn: begun.",
        {"name": "churn"},
        lines=[("Now", "ask")],
        notes=[("Rows", "are told apart by id")],
        dry_run=dry_run,
    )
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"name": "churn", "dry_run": dry_run}
    assert printed.err == "Rows are told apart by id\n" + ("Nothing was written.\n" if dry_run else "")
