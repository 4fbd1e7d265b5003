"""Where a store may only be read, whatever only looks works as ever, and whatever would write is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.loop import INIT, MONEY, Run, content, label, period, write_pool
from tests.reference.nobody import as_nobody, open_folder

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

LOOKS: tuple[tuple[str, ...], ...] = (
    ("list",),
    ("list", "--format", "json"),
    ("status",),
    ("status", "churn"),
    ("status", "churn", "--format", "json"),
    ("log", "churn", "--last", "5"),
    ("ledger", "churn"),
    ("plan", "churn", "--format", "csv"),
    ("predict", "churn", "pool.csv"),
    ("doctor",),
    ("token", "list"),
    ("ask", "churn", "--key", "W2"),
    ("ask", "churn"),
    ("tell", "churn", "done.csv", "--dry-run"),
    ("export", "churn", "new.driftpace", "--dry-run"),
    ("remove", "churn", "--dry-run"),
    ("erase", "churn", "--before", "W2", "--reason", "r", "--dry-run"),
)
WRITES: tuple[tuple[str, ...], ...] = (
    ("init", "other", *INIT[2:]),
    ("tell", "churn", "done.csv"),
    ("tell", "churn", "--close"),
    ("override", "churn", "7", "--reason", "r"),
    ("approve", "churn"),
    ("budget", "churn", "--add", "5", "--reason", "r"),
    ("amend", "churn", "--unknown-category", "plan=gold", "--reason", "r"),
    ("remove", "churn", "--yes"),
    ("archive", "churn"),
    ("erase", "churn", "--before", "W2", "--reason", "r", "--yes"),
    ("import", "old.driftpace", "--as", "copy"),
    ("token", "make", "new"),
)


@pytest.fixture
def shop(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a campaign in its second period, that others than its owner may only look at."""
    monkeypatch.delenv("DRIFTPACE_STORAGE", raising=False)
    with open_folder() as folder:
        monkeypatch.chdir(folder)
        write_pool(folder / "pool.csv")
        assert run(*INIT, *MONEY)[0] == 0
        period(run, "W1")
        run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "tasks.csv")
        label(Path("tasks.csv"), Path("done.csv"))
        assert run("export", "churn", "old.driftpace")[0] == 0
        assert (
            run("tell", "churn", "done.csv", "--dry-run")[0] == 0
        )  # so that everything is loaded that nobody may not load
        yield folder
        monkeypatch.undo()


def shut(folder: Path) -> None:
    for one in folder.iterdir():
        one.chmod(0o444)
    folder.chmod(0o555)


def everything(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir()}


def test_whatever_looks_works_as_ever(shop: Path, run: Run) -> None:
    expected = {words: run(*words) for words in LOOKS}
    assert {code for code, _, _ in expected.values()} == {0}
    shut(shop)
    before = everything(shop)
    for words, as_owner in expected.items():
        result = as_nobody(lambda words=words: run(*words))  # type: ignore[misc]
        assert result[:2] == as_owner[:2], words
        assert words[0] == "plan" or result[2] == as_owner[2], words  # a plan says how long it took
    assert everything(shop) == before


def test_whatever_is_written_elsewhere_works_too(shop: Path, run: Run) -> None:
    with open_folder() as away:
        each = {
            "churn.driftpace": ("export", "churn"),
            "churn.html": ("report", "churn", "--out"),
            "p.csv": ("predict", "churn", "pool.csv", "--out"),
        }
        for name, words in each.items():
            assert run(*words, f"first-{name}")[0] == 0
        shut(shop)
        for name, words in each.items():
            code, _, err = as_nobody(lambda words=words, name=name: run(*words, away / name))  # type: ignore[misc]
            assert code == 0, err
        assert {one.name for one in away.iterdir()} == set(each)
        assert (away / "p.csv").read_bytes() == Path("first-p.csv").read_bytes()
        assert run("import", away / "churn.driftpace", "--storage", away / "copy.db")[0] == 0


def test_whatever_writes_is_refused_and_changes_nothing(shop: Path, run: Run) -> None:
    was = content()
    shut(shop)
    before = everything(shop)
    for words in WRITES:
        code, out, err = as_nobody(lambda words=words: run(*words))  # type: ignore[misc]
        assert (code, out) == (2, ""), words
        if words[0] == "init":
            assert "Permission denied" in err  # its file is written first
        else:
            assert err == (
                f"driftpace: the store at sqlite:///{shop.resolve()}/driftpace.db is read-only; nothing was written.\n"
            ), words
    assert everything(shop) == before
    shop.chmod(0o777)
    Path("driftpace.db").chmod(0o666)
    assert content() == was
    assert run("tell", "churn", "done.csv")[0] == 0
