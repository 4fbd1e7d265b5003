import subprocess
import sys
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from driftpace.errors import MissingExtraError, ParameterError, StorageError
from driftpace.storage import MemoryStore, SqlStore, open_store, registry
from tests.reference.changes import change


def test_memory_is_new_each_time() -> None:
    first, second = open_store("memory://"), open_store("memory://")
    assert isinstance(first, MemoryStore)
    first.create("churn", change())
    assert second.count() == 0


def test_a_store_is_returned_as_it_is() -> None:
    store = MemoryStore()
    assert open_store(store) is store


@pytest.mark.parametrize("spelled", ["path", "text", "url", "relative", "relative url", "home"])
def test_a_file_in_any_spelling(tmp_path: Path, spelled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "labels 100%#?.db" if spelled in {"path", "text"} else tmp_path / "labels 100%#.db"
    name = path.name
    spellings: dict[str, str | PathLike[str]] = {"path": path, "text": str(path), "relative": name, "home": f"~/{name}"}
    spellings |= {"url": f"sqlite:///{path}", "relative url": f"sqlite:///{name}"}
    store = open_store(spellings[spelled])
    monkeypatch.chdir("/")
    store.create("churn", change())
    assert isinstance(store, SqlStore)
    assert (store.url, repr(store)) == (f"sqlite:///{path}", f"<SqlStore sqlite:///{path}>")
    store.close()
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///a.db?mode=ro",
        "redis://host",
        "a\0b",
        7,
        None,
        b"a.db",
    ],
)
def test_anything_else_is_a_sentence(bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"^open_store\(storage=\.\.\.\) must be .*\.$"):
        open_store(bad)


def test_an_address_with_a_password_is_not_repeated() -> None:
    with pytest.raises(ParameterError) as caught:
        open_store("redis://ada:secret@host")
    assert "secret" not in str(caught.value)


def test_a_store_is_not_made_where_it_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no store at .*labels\.db; `driftpace init` creates one\."):
        open_store(tmp_path / "labels.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_and_a_missing_folder_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"must be a file; it is a folder\."):
        open_store(tmp_path)
    with pytest.raises(StorageError, match=r"cannot be created: the folder .*nowhere does not exist\."):
        open_store(tmp_path / "nowhere" / "labels.db")
    with pytest.raises(StorageError, match=r"cannot be opened: .*\."):
        open_store(tmp_path / ("x" * 300))


@pytest.mark.parametrize("wait", [0, -1, float("nan"), float("inf")])
def test_waiting_is_a_positive_time(tmp_path: Path, wait: float) -> None:
    with pytest.raises(ParameterError, match=r"open_store\(wait=\.\.\.\) must be positive"):
        open_store(tmp_path / "labels.db", wait=wait)


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'pip install "driftpace\[store\]"'):
        open_store(tmp_path / "labels.db")


def test_the_databases_packages_are_loaded_when_needed() -> None:
    script = "import sys, driftpace.storage; print({'sqlalchemy', 'psycopg', 'sqlite3'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
