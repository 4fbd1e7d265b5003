"""What is written to files and databases, and read back exactly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftpace.storage.memory import MemoryStore
from driftpace.storage.opening import open_store
from driftpace.storage.plain import NotPlainError, from_plain, to_plain
from driftpace.storage.statefile import read_state, write_state
from driftpace.storage.store import Change, Entry, Head, Store, Token

if TYPE_CHECKING:
    from driftpace.storage.sql import SqlStore

__all__ = [
    "Change",
    "Entry",
    "Head",
    "MemoryStore",
    "NotPlainError",
    "SqlStore",
    "Store",
    "Token",
    "from_plain",
    "open_store",
    "read_state",
    "to_plain",
    "write_state",
]

if not TYPE_CHECKING:  # the database's packages are loaded when they are needed

    def __getattr__(name: str) -> Any:
        """Load the durable store when it is first asked for."""
        if name != "SqlStore":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module("driftpace.storage.sql").SqlStore
