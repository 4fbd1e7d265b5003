"""The durable store: campaigns in a SQLite file or a PostgreSQL database, the same tables in both."""

from driftpace.storage.sql.store import SqlStore

__all__ = ["SqlStore"]
