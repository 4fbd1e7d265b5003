"""Open a store by its address."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from driftpace.errors import MissingExtraError, ParameterError
from driftpace.storage.base import Store
from driftpace.storage.memory import MemoryStore
from driftpace.validation import positive

_ALLOWED = "a path, sqlite:///path, postgresql://user@host/database or memory://"


def open_store(storage: str | os.PathLike[str] | Store, *, create: bool = True, wait: float = 60.0) -> Store:
    """Open a store by its address.

    Parameters
    ----------
    storage : str, path-like or Store
        Path of a SQLite file, ``sqlite:///path``, ``postgresql://user@host/database``, or ``memory://`` for a store that lasts as
        long as the process. A store object is returned unchanged.
    create : bool, default True
        Create the store if it does not exist.
    wait : float, default 60.0
        Seconds to wait for other writers before giving up.

    Returns
    -------
    Store
        The opened store. Tables of an older driftpace are upgraded.

    Raises
    ------
    StorageError
        If the store does not exist and ``create`` is False, was written by a newer driftpace, or is another kind of file;
        it is not modified.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/labels.db")
    ...     campaigns = store.count()
    ...     store.close()
    >>> campaigns
    0
    """
    positive("open_store", wait=wait)
    if not isinstance(storage, str | os.PathLike):
        if all(hasattr(storage, name) for name in ("append", "entries", "head")):
            return storage
        raise ParameterError(f"must be {_ALLOWED}; got {type(storage).__name__}.", owner="open_store", name="storage")
    place = os.fspath(storage)
    if not isinstance(place, str) or not place or "\0" in place:
        raise ParameterError(f"must be {_ALLOWED}; got {place!r}.", owner="open_store", name="storage")
    scheme, mark, _ = place.partition("://")
    if not mark:
        return _open_sqlite_path(place, create=create, wait=wait)
    if scheme in SCHEMES:
        return SCHEMES[scheme](place, create=create, wait=wait)
    raise ParameterError(
        f"must be {_ALLOWED}; got an address that begins with {scheme!a}.",
        owner="open_store",
        name="storage",
    )


def is_postgres(storage: str | os.PathLike[str]) -> bool:
    """Return whether an address is that of a PostgreSQL database."""
    return os.fspath(storage).partition("://")[0] in {"postgres", "postgresql", "postgresql+psycopg"}


def sqlite_path(storage: str | os.PathLike[str]) -> Path:
    """Return the path of a SQLite store, or raise ParameterError for another address."""
    place = os.fspath(storage)
    scheme, mark, _ = place.partition("://")
    if not mark:
        return Path(place).expanduser()
    if scheme != "sqlite":
        raise ParameterError(
            f"must be a path, sqlite:///path or postgresql://user@host/database; got an address that begins with {scheme!a}.",
            owner="open_store",
            name="storage",
        )
    return _path_of_url(place)


class StoreOpener(Protocol):
    """Opens the store at an address; ``create`` and ``wait`` as in :func:`open_store`."""

    def __call__(self, address: str, *, create: bool, wait: float) -> Store:
        """Return the opened store."""
        ...


def _open_memory(address: str, *, create: bool, wait: float) -> Store:  # noqa: ARG001
    return MemoryStore()


def _open_sqlite_path(path: str, *, create: bool, wait: float) -> Store:
    _require_sqlalchemy()
    from driftpace.storage.sql.sqlite import open_sqlite
    from driftpace.storage.sql.store import SqlStore

    return SqlStore(open_sqlite(Path(path).expanduser(), create=create, wait=wait))


def _open_sqlite_url(address: str, *, create: bool, wait: float) -> Store:
    return _open_sqlite_path(str(_path_of_url(address)), create=create, wait=wait)


def _path_of_url(address: str) -> Path:
    path = address.partition("://")[2]
    if not path.startswith("/") or path in {"/", "/:memory:"} or "?" in path:
        raise ParameterError(
            f"must be sqlite:///path, without options; got {address!r}.",
            owner="open_store",
            name="storage",
        )
    return Path(path[1:]).expanduser()


def _open_postgres(address: str, *, create: bool, wait: float) -> Store:
    _require_sqlalchemy()
    from driftpace.storage.sql.postgres import open_postgres
    from driftpace.storage.sql.store import SqlStore

    return SqlStore(open_postgres(address, create=create, wait=wait))


def _require_sqlalchemy() -> None:
    if find_spec("sqlalchemy") is None:
        raise MissingExtraError('open_store needs SQLAlchemy: pip install "driftpace[store]".')


SCHEMES: dict[str, StoreOpener] = {
    "memory": _open_memory,
    "sqlite": _open_sqlite_url,
    "postgres": _open_postgres,
    "postgresql": _open_postgres,
    "postgresql+psycopg": _open_postgres,
}
"""What opens an address, by its URL scheme; add another kind of store here."""
