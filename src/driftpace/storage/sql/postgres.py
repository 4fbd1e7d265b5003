"""Campaigns in a PostgreSQL database, for several machines."""

from typing import Any

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from driftpace.errors import MissingExtraError, ParameterError, StorageError, StorageNotFoundError
from driftpace.storage.sql.connections import KEPT, Connections, uses_short_timeout
from driftpace.storage.sql.failures import sentence
from driftpace.storage.sql.schema import bring_up, refuse_newer, refuse_older, refuse_too_old, version_of

ANSWERING = 120.0
"""Seconds that one statement may take beyond waiting for locks."""

HURRIED = "2"
"""Connection timeout in seconds for interactive calls; the smallest that the driver supports."""

_LOCK = 0x64726674_70616365  # "drftpace": the advisory lock held while tables are created or upgraded

_LINE = {
    "application_name": "driftpace",
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Connection options, unless the address overrides them."""

_SETTINGS = """
SELECT set_config('lock_timeout', %s, false),
       set_config('statement_timeout', %s, false),
       set_config('idle_in_transaction_session_timeout', %s, false),
       set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false),
       set_config('jit', 'off', false)
"""
"""Session settings: bounded waits, durable commits, and no JIT compilation of short statements."""


def open_postgres(address: str, *, create: bool, wait: float, older: bool = False) -> Connections:
    """Open the store in a database, and create its tables; those of an older version are refused unless ``older``."""
    where = _parsed(address)
    url = redacted_url(where)
    connections = _connections(where, url, wait)

    def looked(connection: Connection, _: bool) -> int | None:
        encoding = connection.scalar(text("SHOW server_encoding"))
        if encoding != "UTF8":
            raise StorageError(
                f"the database of the store{{where}} must have the encoding UTF8; it has {encoding}.", store=url
            )
        return version_of(connection)

    def made(connection: Connection, _: bool) -> None:
        exclude_upgrades(connection)
        bring_up(connection, url)

    try:
        version = connections.write(looked, patience=0.0)
        if version is None and not create:
            raise StorageNotFoundError("there is no store{where}; `driftpace init` creates one.", store=url)
        if version is None:
            connections.write(made)
        else:
            refuse_newer(version, url)
            refuse_too_old(version, url)
            if not older:
                refuse_older(version, url)
    except StorageError:
        connections.close()
        raise
    return connections


def exclude_upgrades(connection: Connection) -> None:
    """Wait until nobody else creates or upgrades tables, and exclude others until the end of the transaction."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})


def redacted_url(where: URL) -> str:
    """Return an address without password and options; a socket is part of the address."""
    sockets = {key: value for key, value in where.query.items() if key in {"host", "port"}}
    plain = URL.create("postgresql", where.username, None, where.host, where.port, where.database, sockets)
    return plain.render_as_string()


def _parsed(address: str) -> URL:
    scheme, _, rest = address.partition("://")
    if scheme not in {"postgres", "postgresql", "postgresql+psycopg"}:
        raise ParameterError(
            f"must name PostgreSQL as postgresql://...; got {scheme}://...",
            owner="open_store",
            name="storage",
        )
    try:
        where = make_url(f"postgresql+psycopg://{rest}")
    except (ArgumentError, ValueError):
        raise _unreadable() from None
    if "@" in (where.host or ""):  # part of a password, which no message must show
        raise ParameterError(
            "must write an @ in the password as %40; got two @.",
            owner="open_store",
            name="storage",
        )
    if not where.database:
        raise ParameterError(
            "must name a database: postgresql://user@host/database.",
            owner="open_store",
            name="storage",
        )
    return where.set(query={**_LINE, **where.query})


def _unreadable() -> ParameterError:
    return ParameterError(
        "must be an address like postgresql://user:password@host:5432/database; got one that cannot be parsed.",
        owner="open_store",
        name="storage",
    )


def _connections(where: URL, url: str, wait: float) -> Connections:
    try:
        engine = create_engine(
            where,
            pool_recycle=1800,
            pool_size=KEPT,
            max_overflow=4,
            pool_timeout=wait,
            hide_parameters=True,
        )
    except ImportError as error:
        raise MissingExtraError(
            'open_store(storage="postgresql://...") needs psycopg: pip install "driftpace[postgres]".'
        ) from error
    except SQLAlchemyError as error:
        raise sentence(error, url) from error

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                _SETTINGS, [f"{round(1000 * seconds)}" for seconds in (wait, wait + ANSWERING, wait + ANSWERING)]
            )
        connection.commit()

    @event.listens_for(engine, "do_connect")
    def begin(_: Any, __: Any, ___: Any, named: dict[str, Any]) -> None:
        if uses_short_timeout():
            named["connect_timeout"] = HURRIED

    reader = engine.execution_options(isolation_level="AUTOCOMMIT")
    return Connections(engine, reader, url, fetch=_fetch, wait=wait, in_turn=False)


def _fetch(connection: Any, text: str, parameters: Any) -> list[Any]:
    connection.autocommit = True  # one round trip instead of three: no BEGIN and COMMIT
    try:
        return connection.execute(text, parameters).fetchall()  # type: ignore[no-any-return]
    finally:
        if not connection.closed:
            connection.autocommit = False
