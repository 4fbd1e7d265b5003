"""Versions of the tables: a new store gets the newest at once, an old one is brought up step by step, in one transaction.

A step is a function of a connection that turns the tables of one version into those of the next. To change the tables: change
:mod:`~driftpace.storage.sql.schema`, raise its ``VERSION``, and add the step from the version before to ``UPGRADES``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlalchemy import Connection, inspect, select, update

from driftpace.errors import StorageError
from driftpace.storage.sql.schema import META, METADATA, VERSION

Upgrade = Callable[[Connection], None]

UPGRADES: Mapping[int, Upgrade] = MappingProxyType({})
"""The step that leads away from each older version."""


def version_of(connection: Connection) -> int | None:
    """Return the version of the tables in a database; None where there are none of ours."""
    if not inspect(connection).has_table(META.name):
        return None
    return connection.scalar(select(META.c.version))


def bring_up(connection: Connection, url: str) -> None:
    """Make the tables, or bring them up to the newest version; call it in a transaction that keeps others from doing so too."""
    version = version_of(connection)
    if version is None:
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(META.insert().values(id=1, version=VERSION))
        return
    refuse_newer(version, url)
    for old in range(version, VERSION):
        if old not in UPGRADES:
            raise StorageError(
                f"the store at {url} has version {version} of its tables, and this driftpace cannot bring them up to {VERSION}."
            )
        UPGRADES[old](connection)
    if version < VERSION:
        connection.execute(update(META).values(version=VERSION))


def refuse_newer(version: int, url: str) -> None:
    """Refuse tables that a later driftpace has made."""
    if version > VERSION:
        raise StorageError(
            f"the store at {url} has version {version} of its tables and this driftpace knows versions up to {VERSION}; "
            "upgrade driftpace."
        )
