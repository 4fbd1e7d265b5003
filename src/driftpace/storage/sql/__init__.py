"""Campaigns in a SQLite file or a PostgreSQL database, with the same tables."""

from driftpace.storage.sql.store import SqlStore

__all__ = ["SqlStore"]
