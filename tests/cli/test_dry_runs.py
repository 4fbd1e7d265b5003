"""A dry run says what would happen and changes no byte, of the store or of any other file; then the command does exactly that."""

import json
from pathlib import Path
from typing import Any

import pytest

from driftpace.cli.app import COMMANDS, load
from tests.cli.loop import INIT, Run, label, period

EACH: dict[str, list[tuple[str, ...]]] = {
    "init": [
        ("init", "new", *INIT[2:]),
        ("init", "new", "--template"),
        ("init", "--file", "churn.toml", "--storage", "n.db"),
    ],
    "ask": [
        ("ask", "churn", "--key", "W3"),
        ("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "more.csv", "--instead"),
    ],
    "tell": [("tell", "churn", "done.csv"), ("tell", "churn", "done.csv", "--part"), ("tell", "churn", "--close")],
    "budget": [("budget", "churn", "--add", "100", "--reason", "r")],
    "amend": [("amend", "churn", "--unknown-category", "plan=gold", "--reason", "r")],
    "retrain": [("retrain", "churn", "--reason", "r")],
    "report": [("report", "churn"), ("report", "churn", "--out", "old.html")],
    "predict": [
        ("predict", "churn", "pool.csv", "--out", "p.csv"),
        ("predict", "churn", "pool.csv", "--out", "old.csv", "--force"),
    ],
    "override": [("override", "churn", "3", "--reason", "r")],
    "approve": [("approve", "churn")],
    "forget": [("forget", "churn", "--reason", "r")],
    "undo": [
        ("undo", "churn", "--delivery", "some.csv", "--reason", "r"),
        ("undo", "churn", "--entry", "3", "--reason", "r"),
    ],
    "release": [("release", "churn", "--reason", "r")],
    "export": [("export", "churn", "new.driftpace")],
    "import": [("import", "old.driftpace", "--as", "copy"), ("import", "old.driftpace", "--storage", "n.db")],
    "seal": [("seal", "new.seal"), ("seal", "old.html", "--campaign", "churn")],
    "backup": [("backup", "new.backup")],
    "restore": [("restore", "old.backup", "--storage", "n.db")],
    "upgrade": [("upgrade",), ("upgrade", "--campaign", "churn")],
    "erase": [
        ("erase", "churn", "--id", "1", "--reason", "r"),
        ("erase", "churn", "--before", "W2", "--reason", "r"),
        ("erase", "churn", "--before", "W2", "--reason", "r", "--yes"),
    ],
    "archive": [("archive", "churn"), ("archive", "churn", "--undo")],
    "remove": [("remove", "churn"), ("remove", "churn", "--yes")],
    "token make": [("token", "make", "new"), ("token", "make", "new", "--storage", "n.db")],
    "token remove": [("token", "remove", "old")],
}
DOES: dict[tuple[str, ...], int] = {
    ("ask", "churn", "--key", "W3"): 2,
    ("remove", "churn"): 2,
    ("erase", "churn", "--before", "W2", "--reason", "r"): 2,
    ("erase", "churn", "--id", "1", "--reason", "r"): 0,
    ("archive", "churn", "--undo"): 0,
    ("retrain", "churn", "--reason", "r"): 2,
    ("upgrade",): 0,
    ("upgrade", "--campaign", "churn"): 0,
}
"""What writes nothing when it is meant; W2 is open and misses rows, the campaign has no model, the store is of
this version, no row has the id 1, and the campaign is not archived."""


def everything() -> dict[str, bytes]:
    """Return the bytes of all files."""
    return {str(one): one.read_bytes() for one in sorted(Path().rglob("*")) if one.is_file()}


@pytest.fixture
def busy(churn: Path, run: Run) -> Path:
    """A campaign in the middle of its second period, with something of everything."""
    period(run, "W1")
    run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "tasks.csv")
    label(Path("tasks.csv"), Path("some.csv"), only=2)
    run("tell", "churn", "some.csv", "--part")
    label(Path("tasks.csv"), Path("done.csv"))
    run("token", "make", "old")
    run("export", "churn", "old.driftpace")
    run("backup", "old.backup")
    for name in ("old.html", "old.csv"):
        Path(name).write_text("mine")
    return churn


def test_no_command_is_forgotten() -> None:
    with_dry_run = set()
    for name in COMMANDS:
        command = load(name)
        inner: dict[str, Any] = getattr(command, "commands", {})
        every = {f"{name} {one}": each for one, each in inner.items()} or {name: command}
        with_dry_run |= {one for one, each in every.items() if any("--dry-run" in param.opts for param in each.params)}
    assert with_dry_run == set(EACH)


def test_no_byte_is_changed(busy: Path, run: Run) -> None:
    before = everything()
    for words in (one for each in EACH.values() for one in each):
        code, out, err = run(*words, "--dry-run")
        assert (code in (0, 10, DOES.get(words, 0)), "Traceback" in err) == (True, False), (words, err)
        if code != 2:
            assert err.endswith("Nothing was written.\n"), words
        code, out, err = run(*words, "--dry-run", "--format", "json")
        assert code == 2 or json.loads(out), words
        assert everything() == before, words


@pytest.mark.parametrize("words", [one for each in EACH.values() for one in each], ids=" ".join)
def test_what_is_meant_is_written(busy: Path, run: Run, words: tuple[str, ...]) -> None:
    before = everything()
    code, _, err = run(*words)
    if words in DOES:
        assert (code, everything()) == (DOES[words], before)
    else:
        assert code in (0, 10), err
        assert everything() != before
