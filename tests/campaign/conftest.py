"""The three stores that a campaign may be in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from driftpace.storage import MemoryStore, open_store
from driftpace.storage.base import Store


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    where = str(tmp_path / "driftpace.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    opened = open_store(where)
    yield opened
    opened.close()
