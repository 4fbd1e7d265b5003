"""A campaign goes for good when somebody says so plainly, and only that one."""

import secrets
from pathlib import Path

from tests.cli.loop import Run, content, in_store


def test_only_what_was_meant_goes(two: Path, run: Run) -> None:
    others = [one for one in content()[0] if one[0].name != "churn"]
    entries = in_store(lambda store: store.head("churn").seq)
    url = f"sqlite:///{two.resolve()}/driftpace.db"
    assert run("remove", "churn", "--yes") == (0, f"churn: removed from {url}, with {entries} log entries.\n", "")
    assert content()[0] == others
    code, out, err = run("remove", "churn", "--yes")
    assert (code, out) == (2, "")
    assert "there is no campaign 'churn'" in err


def test_its_name_is_free_again_and_its_rows_are_gone(two: Path, run: Run) -> None:
    needle = secrets.token_hex(32)  # too long to be there by chance
    assert run("approve", "churn", "--reason", needle)[0] == 0
    store = Path("driftpace.db")
    assert needle.encode() in store.read_bytes()
    run("remove", "churn", "--yes")
    assert needle.encode() not in store.read_bytes()
    Path("churn.toml").rename("again.toml")
    assert run("init", "--file", "again.toml")[0] == 0
    assert run("log", "churn")[1].count("\n") == 2
