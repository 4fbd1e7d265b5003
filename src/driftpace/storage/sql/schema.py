"""The tables of a SQL store and their upgrades, the same in SQLite and PostgreSQL.

Table names start with ``driftpace_``, so a database can hold other tables too. Text is compared by code point in both databases
(``COLLATE "C"``), so lists have the same order everywhere. Checkpoints have their own table so that listing campaigns does not
read them. ``batch`` marks all entries of one change, to find out after a lost connection whether the change was committed.

A new store gets the newest tables; an older one is refused until :func:`driftpace.campaign.upgrade_store` has upgraded it step
by step in one transaction. To change the tables: change them here, raise ``VERSION``, add the step from the previous version to
``UPGRADES``, and keep a store of the previous version in ``tests/storage/releases``.
"""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    inspect,
    select,
    text,
    update,
)

from driftpace.errors import StorageError
from driftpace.storage.base import Entry
from driftpace.storage.chain import chain

VERSION = 2
"""The version of these tables."""

APPLICATION_ID = 0x64726674
"""The application id in the header of a SQLite store ("drft")."""

METADATA = MetaData()

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
_WHOLE = BigInteger().with_variant(Integer(), "sqlite")

META = Table(
    "driftpace_meta",
    METADATA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)

CAMPAIGNS = Table(
    "driftpace_campaigns",
    METADATA,
    Column("id", _WHOLE, primary_key=True, autoincrement=True),
    Column("name", _TEXT, nullable=False, unique=True),
    Column("lowered", _TEXT, nullable=False),
    Column("seq", _WHOLE, nullable=False),
    Column("created_at", _TEXT, nullable=False),
    Column("updated_at", _TEXT, nullable=False),
    Column("summary", _TEXT, nullable=False),
)

CHECKPOINTS = Table(
    "driftpace_checkpoints",
    METADATA,
    Column("campaign_id", ForeignKey(CAMPAIGNS.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("seq", _WHOLE, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

ENTRIES = Table(
    "driftpace_entries",
    METADATA,
    Column("campaign_id", ForeignKey(CAMPAIGNS.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    Column("kind", _TEXT, nullable=False),
    Column("key", _TEXT),
    Column("at", _TEXT, nullable=False),
    Column("batch", _TEXT, nullable=False),
    Column("body", _TEXT, nullable=False),
    Column("hash", _TEXT, nullable=False),
)
Index("driftpace_entries_by_key", ENTRIES.c.campaign_id, ENTRIES.c.kind, ENTRIES.c.key, ENTRIES.c.seq)
Index("driftpace_entries_by_kind", ENTRIES.c.campaign_id, ENTRIES.c.kind, ENTRIES.c.seq)

ROWS = Table(
    "driftpace_rows",
    METADATA,
    Column("campaign_id", _WHOLE, primary_key=True, autoincrement=False),
    Column("seq", _WHOLE, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
    ForeignKeyConstraint(["campaign_id", "seq"], [ENTRIES.c.campaign_id, ENTRIES.c.seq], ondelete="CASCADE"),
)

REFUSALS = Table(
    "driftpace_refusals",
    METADATA,
    Column("id", _WHOLE, primary_key=True, autoincrement=True),
    Column("campaign_id", ForeignKey(CAMPAIGNS.c.id, ondelete="CASCADE"), nullable=False, index=True),
    Column("at", _TEXT, nullable=False),
    Column("who", _TEXT, nullable=False),
    Column("source", _TEXT, nullable=False),
    Column("sentence", _TEXT, nullable=False),
)

TICKETS = Table(
    "driftpace_tickets",
    METADATA,
    Column("id", _WHOLE, primary_key=True, autoincrement=True),
    Column("campaign_id", ForeignKey(CAMPAIGNS.c.id, ondelete="CASCADE"), nullable=False, index=True),
    Column("expires", Double, nullable=False),
)

TOKENS = Table(
    "driftpace_tokens",
    METADATA,
    Column("name", _TEXT, primary_key=True),
    Column("digest", _TEXT, nullable=False),
    Column("scopes", _TEXT, nullable=False),
    Column("created_at", _TEXT, nullable=False),
    Column("expires_at", _TEXT),
)

VALUES = Table(
    "driftpace_values",
    METADATA,
    Column("kind", _TEXT, primary_key=True),
    Column("key", _TEXT, primary_key=True),
    Column("version", _WHOLE, nullable=False),
    Column("body", _TEXT, nullable=False),
)


Upgrade = Callable[[Connection], None]


def _add_chain(connection: Connection) -> None:
    """Version 1 had no hash chain, no tickets and no values."""
    entries = ENTRIES.name
    connection.execute(text(f"ALTER TABLE {entries} ADD COLUMN hash TEXT NOT NULL DEFAULT ''"))
    TICKETS.create(connection)
    VALUES.create(connection)
    for campaign in connection.scalars(select(CAMPAIGNS.c.id)).all():
        log = connection.execute(
            select(*(ENTRIES.c[name] for name in ("seq", "kind", "key", "at", "body")))
            .where(ENTRIES.c.campaign_id == campaign)
            .order_by(ENTRIES.c.seq)
        ).all()
        read = [Entry(seq=seq, kind=kind, key=key, at=at, body=json.loads(body)) for seq, kind, key, at, body in log]
        links = [
            {"campaign": campaign, "of": entry.seq, "link": link} for entry, link in zip(read, chain(read), strict=True)
        ]
        if links:
            place = (ENTRIES.c.campaign_id == bindparam("campaign"), ENTRIES.c.seq == bindparam("of"))
            connection.execute(update(ENTRIES).where(*place).values(hash=bindparam("link")), links)


UPGRADES: Mapping[int, Upgrade] = MappingProxyType({1: _add_chain})
"""The upgrade from each older version to the next."""


def version_of(connection: Connection) -> int | None:
    """Return the version of the tables in a database; None if there are none."""
    if not inspect(connection).has_table(META.name):
        return None
    return connection.scalar(select(META.c.version))


def bring_up(connection: Connection, url: str, *, upgrade: bool = False) -> None:
    """Create the tables, or upgrade them if that is allowed, in a transaction that excludes concurrent upgrades."""
    version = version_of(connection)
    if version is None:
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(META.insert().values(id=1, version=VERSION))
        return
    refuse_newer(version, url)
    refuse_too_old(version, url)
    if not upgrade:
        refuse_older(version, url)
    for old in range(version, VERSION):
        UPGRADES[old](connection)
    if version < VERSION:
        connection.execute(update(META).values(version=VERSION))


def missing_parts(connection: Connection) -> list[str]:
    """Return the tables, columns and indexes that a database lacks."""
    inspector = inspect(connection)
    missing = []
    for table in METADATA.sorted_tables:
        if not inspector.has_table(table.name):
            missing.append(f"table {table.name}")
            continue
        columns = {column["name"] for column in inspector.get_columns(table.name)}
        missing += [f"column {name} in {table.name}" for name in table.columns.keys() if name not in columns]  # noqa: SIM118
        indexes = {index["name"] for index in inspector.get_indexes(table.name)}
        missing += [f"index {index.name}" for index in table.indexes if index.name not in indexes]
    return missing


def refuse_too_old(version: int, url: str) -> None:
    """Raise StorageError for tables that cannot be upgraded."""
    if any(old not in UPGRADES for old in range(version, VERSION)):
        raise StorageError(
            f"the store{{where}} has version {version} of its tables, which this driftpace cannot upgrade to {VERSION}.",
            store=url,
        )


def refuse_older(version: int, url: str) -> None:
    """Raise StorageError for tables of an older driftpace."""
    if version < VERSION:
        raise StorageError(
            f"the store{{where}} has version {version} of its tables and this driftpace uses version {VERSION}; "
            "driftpace upgrade migrates it, with a backup first.",
            store=url,
        )


def refuse_newer(version: int, url: str) -> None:
    """Raise StorageError for tables of a newer driftpace."""
    if version > VERSION:
        raise StorageError(
            f"the store{{where}} has version {version} of its tables and this driftpace reads versions up to {VERSION}; "
            "upgrade driftpace.",
            store=url,
        )
