"""What is written to files and databases, and read back exactly."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.storage.codec import NotEncodableError, decode, encode
    from driftpace.storage.memory import MemoryStore
    from driftpace.storage.opening import open_store
    from driftpace.storage.sql import SqlStore
    from driftpace.storage.statefile import read_state, write_state
    from driftpace.storage.store import Change, Entry, Head, Store, Token

__all__ = [
    "Change",
    "Entry",
    "Head",
    "MemoryStore",
    "NotEncodableError",
    "SqlStore",
    "Store",
    "Token",
    "decode",
    "encode",
    "open_store",
    "read_state",
    "write_state",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and is to refuse any other
    __getattr__ = lazy(
        __name__,
        {
            "Change": "store",
            "Entry": "store",
            "Head": "store",
            "MemoryStore": "memory",
            "NotEncodableError": "codec",
            "SqlStore": "sql",
            "Store": "store",
            "Token": "store",
            "decode": "codec",
            "open_store": "opening",
            "read_state": "statefile",
            "encode": "codec",
            "write_state": "statefile",
        },
    )
