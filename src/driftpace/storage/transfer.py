"""Copy the tables of a PostgreSQL store to a SQLite file and back, and upgrade the tables of an older version."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, create_engine, insert, inspect, select, text

from driftpace.errors import ParameterError, StorageError
from driftpace.storage.registry import is_postgres, sqlite_path
from driftpace.storage.sql.connections import Connections
from driftpace.storage.sql.postgres import exclude_upgrades, open_postgres
from driftpace.storage.sql.schema import (
    APPLICATION_ID,
    CAMPAIGNS,
    METADATA,
    REFUSALS,
    TICKETS,
    TOKENS,
    VERSION,
    bring_up,
    version_of,
)
from driftpace.storage.sql.sqlite import open_sqlite

CHUNK = 200
"""Rows that are copied at once."""

_NUMBERED = (CAMPAIGNS, REFUSALS, TICKETS)
"""Tables whose numbers the database gives."""


def open_any_version(storage: str, *, wait: float) -> Connections:
    """Open a store of this version or an older one."""
    if is_postgres(storage):
        return open_postgres(storage, create=False, wait=wait, older=True)
    return open_sqlite(sqlite_path(storage), create=False, wait=wait, older=True)


def version_at(storage: str, *, wait: float) -> int:
    """Return the version of the tables of a store."""
    connections = open_any_version(storage, wait=wait)
    try:
        return connections.read(version_of) or 0
    finally:
        connections.close()


def upgrade_tables(storage: str, *, wait: float) -> None:
    """Upgrade the tables of a store in one transaction."""
    connections = open_any_version(storage, wait=wait)

    def work(connection: Connection, _: bool) -> None:
        if connection.dialect.name == "postgresql":
            exclude_upgrades(connection)
        bring_up(connection, connections.url, upgrade=True)

    try:
        connections.write(work)
    finally:
        connections.close()


def copy_out(address: str, place: Path, *, wait: float) -> None:
    """Copy a PostgreSQL store, as of one moment, to an empty SQLite file."""
    source = open_any_version(address, wait=wait)
    engine = create_engine(f"sqlite:///{place}")
    try:
        with source.snapshot() as reading, engine.begin() as writing:
            there = _columns(reading)
            _make_tables(writing, there)
            _copy(reading, writing, there)
        with engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.commit()
    finally:
        engine.dispose()
        source.close()


def copy_in(path: Path, address: str, *, wait: float) -> None:
    """Copy a SQLite store into a PostgreSQL database without campaigns, in one transaction."""
    engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.connect() as reading:
            version = version_of(reading)
            if version != VERSION:
                raise StorageError(
                    f"the backup{{where}} has version {version} of its tables; driftpace upgrade migrates it first.",
                    store=str(path),
                )
            target = open_postgres(address, create=True, wait=wait)
            try:
                target.write(lambda writing, _: _fill(reading, writing))
            finally:
                target.close()
    finally:
        engine.dispose()


def _fill(reading: Connection, writing: Connection) -> None:
    exclude_upgrades(writing)
    if any(writing.execute(select(table).limit(1)).first() is not None for table in (CAMPAIGNS, TOKENS)):
        raise ParameterError(
            "must be a place without a store; the database has campaigns or tokens.", owner="restore", name="storage"
        )
    _copy(reading, writing, {name: there for name, there in _columns(reading).items() if name != "driftpace_meta"})
    for table in _NUMBERED:
        last = f"(SELECT coalesce(max(id), 0) + 1 FROM {table.name})"
        writing.execute(text(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {last}, false)"))


def _columns(connection: Connection) -> dict[str, list[str]]:
    """Return the columns of each table that a store of any version has."""
    inspector = inspect(connection)
    return {
        table.name: [column["name"] for column in inspector.get_columns(table.name) if column["name"] in table.columns]
        for table in METADATA.sorted_tables
        if inspector.has_table(table.name)
    }


def _make_tables(connection: Connection, there: Mapping[str, list[str]]) -> None:
    """Create those tables with those columns."""
    for table in METADATA.sorted_tables:
        if table.name in there:
            table.create(connection)
            for column in table.columns:
                if column.name not in there[table.name]:
                    connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN {column.name}"))


def _copy(reading: Connection, writing: Connection, there: Mapping[str, list[str]]) -> None:
    for table in METADATA.sorted_tables:
        if table.name in there and table is not TICKETS:
            _copy_table(reading, writing, table, there[table.name])


def _copy_table(reading: Connection, writing: Connection, table: Table, names: list[str]) -> None:
    asked = select(*(table.columns[name] for name in names))
    found: Any = reading.execution_options(yield_per=CHUNK).execute(asked)
    for part in found.mappings().partitions():
        writing.execute(insert(table), [dict(row) for row in part])
