"""Stores of campaigns, saved states, and their exact encoding."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.storage.base import Change, Entry, Head, Refusal, Store, Token
    from driftpace.storage.codec import NotEncodableError, decode, encode
    from driftpace.storage.memory import MemoryStore
    from driftpace.storage.registry import open_store
    from driftpace.storage.sql import SqlStore
    from driftpace.storage.sqlite_reader import SqliteReader, open_reader
    from driftpace.storage.statefile import read_state, write_state

__all__ = [
    "Change",
    "Entry",
    "Head",
    "MemoryStore",
    "NotEncodableError",
    "Refusal",
    "SqlStore",
    "SqliteReader",
    "Store",
    "Token",
    "decode",
    "encode",
    "open_reader",
    "open_store",
    "read_state",
    "write_state",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and is to refuse any other
    __getattr__ = lazy(
        __name__,
        {
            "Change": "base",
            "Entry": "base",
            "Head": "base",
            "MemoryStore": "memory",
            "NotEncodableError": "codec",
            "Refusal": "base",
            "SqlStore": "sql",
            "Store": "base",
            "Token": "base",
            "decode": "codec",
            "open_store": "registry",
            "SqliteReader": "sqlite_reader",
            "open_reader": "sqlite_reader",
            "read_state": "statefile",
            "encode": "codec",
            "write_state": "statefile",
        },
    )
