"""Opening a store by where it is."""

import os
from importlib.util import find_spec
from pathlib import Path

from driftpace.errors import MissingExtraError, ParameterError
from driftpace.storage.memory import MemoryStore
from driftpace.storage.store import Store
from driftpace.validation import positive

_ALLOWED = "a path, sqlite:///path, postgresql://user@host/database or memory://"


def open_store(storage: str | os.PathLike[str] | Store, *, create: bool = True, wait: float = 60.0) -> Store:
    """Return the store at a place: a path of a SQLite file, a PostgreSQL database, or memory for as long as the process runs.

    A store that is not there is made, unless ``create`` is False. One of an older driftpace is brought up to date; one of a newer
    is refused and not touched, and so is a file that is something else. ``wait`` is how many seconds to wait while others write,
    before giving up. A store that is passed in is returned as it is.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/labels.db")
    ...     found = store.count()
    ...     store.close()
    >>> found
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
    scheme, mark, rest = place.partition("://")
    if not mark:
        return _sqlite(Path(place).expanduser(), create=create, wait=wait)
    if scheme == "memory":
        return MemoryStore()
    if scheme == "sqlite":
        if not rest.startswith("/") or rest in {"/", "/:memory:"} or "?" in rest:
            raise ParameterError(
                f"must be sqlite:///path, without options; got {place!r}.",
                owner="open_store",
                name="storage",
            )
        return _sqlite(Path(rest[1:]).expanduser(), create=create, wait=wait)
    if scheme in {"postgres", "postgresql", "postgresql+psycopg"}:
        return _postgres(place, create=create, wait=wait)
    raise ParameterError(
        f"must be {_ALLOWED}; got an address that begins with {scheme!a}.",
        owner="open_store",
        name="storage",
    )


def _sqlite(path: Path, *, create: bool, wait: float) -> Store:
    _require_sqlalchemy()
    from driftpace.storage.sql.sqlite import open_sqlite
    from driftpace.storage.sql.store import SqlStore

    return SqlStore(open_sqlite(path, create=create, wait=wait))


def _postgres(address: str, *, create: bool, wait: float) -> Store:
    _require_sqlalchemy()
    from driftpace.storage.sql.postgres import open_postgres
    from driftpace.storage.sql.store import SqlStore

    return SqlStore(open_postgres(address, create=create, wait=wait))


def _require_sqlalchemy() -> None:
    if find_spec("sqlalchemy") is None:
        raise MissingExtraError('open_store needs SQLAlchemy: pip install "driftpace[store]".')
