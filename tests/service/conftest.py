"""Fixtures of the service's tests: a store in a file, and a server over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from driftpace.storage import open_store
from driftpace.storage.base import Store
from tests.reference.serving import Serving, serving


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A fresh SQLite store."""
    made = open_store(tmp_path / "store.db")
    yield made
    made.close()


@pytest.fixture
def served(store: Store) -> Iterator[Serving]:
    """A server over it, for this machine."""
    with serving(store) as running:
        yield running
