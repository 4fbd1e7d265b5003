"""Upgrade a store of an older version, with a backup first, and change a campaign over to a newer method.

The tables are upgraded in one transaction. Then every campaign gets an entry "upgraded" that notes the hashes of the rows that an
earlier version stored without them. A campaign keeps the number of the method that computed its orders: under another one it can
be read; where the newer one would have answered differently, changes are refused until the campaign has been changed over.
"""

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from driftpace.campaign.handle import CampaignHandle, archived_error, unknown_campaign, utc_now, with_state_hash
from driftpace.campaign.kept_states import pack_states
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.state import from_checkpoint, packed_checkpoint
from driftpace.campaign.status import summary
from driftpace.campaign.verification import unnoted_rows, verify_campaign
from driftpace.errors import ConflictError, StateFileError
from driftpace.storage import open_store
from driftpace.storage.atomic_file import make_private
from driftpace.storage.backup import Backup, back_up
from driftpace.storage.base import Change, Entry, Store
from driftpace.storage.codec import METHOD
from driftpace.storage.registry import is_postgres, sqlite_path

WAIT = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Upgrade:
    """What an upgrade did, or would do.

    Attributes
    ----------
    before, after : int
        The versions of the tables.
    campaigns : tuple of str
        Campaigns whose rows got hashes in the log.
    older_method : tuple of str
        Campaigns whose orders an older method computed; :func:`~driftpace.campaign.method_change.compare_methods` shows the
        difference.
    problems : mapping of str to str
        What is wrong with campaigns, by name; nothing else is.
    backup : Backup, optional
        The backup that was written first.
    """

    before: int
    after: int
    campaigns: tuple[str, ...]
    older_method: tuple[str, ...]
    problems: dict[str, str]
    backup: Backup | None = None


def upgrade_store(
    storage: str | os.PathLike[str],
    *,
    backup: str | os.PathLike[str] | None = None,
    who: str = "",
    dry_run: bool = False,
) -> Upgrade:
    """Upgrade a store to the version of this driftpace.

    Parameters
    ----------
    storage : str or path-like
        A SQLite file or the address of a PostgreSQL database.
    backup : str or path-like, optional
        Where to write the backup first; by default beside a SQLite file, and in the working directory for PostgreSQL.
    who : str
        Recorded in the logs.
    dry_run : bool, default False
        Upgrade a copy instead, check it, and throw it away.

    Returns
    -------
    Upgrade
    """
    place = os.fspath(storage)
    if dry_run:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.db"
            back_up(place, copy)
            return _upgraded(str(copy), who=who)
    before = _version(place)
    _make_private(place)
    if before == _newest():
        return _upgraded(place, who=who)
    written = back_up(place, _backup_place(place, before) if backup is None else backup)
    return replace(_upgraded(place, who=who), backup=written)


def _make_private(place: str) -> None:
    """Give the files of a SQLite store the permissions of a new one."""
    if not is_postgres(place):
        path = sqlite_path(place)
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):  # it is not there, or another user's
                make_private(f"{path}{ending}")


def _newest() -> int:
    from driftpace.storage.sql.schema import VERSION

    return VERSION


def _version(place: str) -> int:
    from driftpace.storage.transfer import version_at

    return version_at(place, wait=WAIT)


def _backup_place(place: str, version: int) -> Path:
    if is_postgres(place):
        return Path(f"driftpace-v{version}.backup")
    path = sqlite_path(place)
    return path.with_name(f"{path.name}-v{version}.backup")


def _upgraded(place: str, *, who: str) -> Upgrade:
    from driftpace.storage.transfer import upgrade_tables

    before = _version(place)
    upgrade_tables(place, wait=WAIT)
    store = open_store(place, create=False)
    try:
        names = [head.name for head in store.heads()]
        noted = tuple(name for name in names if note_rows(store, name, version=before, who=who))
        found = {name: _verdict(store, name) for name in names}
        older = tuple(name for name in names if (method_number(store, name) or METHOD) != METHOD)
    finally:
        store.close()
    return Upgrade(
        before=before,
        after=_newest(),
        campaigns=noted,
        older_method=older,
        problems={name: sentence for name, sentence in found.items() if sentence is not None},
    )


def _verdict(store: Store, name: str) -> str | None:
    """Return what is wrong with a campaign."""
    try:
        found = verify_campaign(name, store)
    except StateFileError as error:
        return str(error)
    return found.sentence if found.verdict is CheckVerdict.FAIL else None


def note_rows(store: Store, name: str, *, version: int, who: str) -> bool:
    """Note the hashes of rows that an earlier version stored without them; return whether there was something to note."""
    while True:
        log = store.entries(name)
        hashes, put = unnoted_rows(log, lambda seq: store.rows(name, [seq]).get(seq))
        if not hashes and "state_hash" in log[-1].body:
            return False
        try:
            _append(store, name, {"from": version, "to": _newest(), "rows": hashes, "who": who}, put=put)
        except ConflictError:
            continue
        return True


def method_number(store: Store, name: str) -> int | None:
    """Return the number of the method that computed the state of a campaign; None without a campaign."""
    record = store.checkpoint(name)
    return None if record is None else from_checkpoint(*record).method_number


def change_method(store: Store, name: str, *, who: str = "", dry_run: bool = False) -> int | None:
    """Let the method of this version continue a campaign; return the number of the one before, None where it is the same.

    Parameters
    ----------
    store : Store
        The store.
    name : str
        The campaign.
    who : str
        Recorded in the log.
    dry_run : bool, default False
        Write nothing.
    """
    record = store.checkpoint(name)
    if record is None:
        raise unknown_campaign(name, store)
    number = from_checkpoint(*record).method_number
    if number == METHOD:
        return None
    if from_checkpoint(*record).archived:
        raise archived_error(name)
    if not dry_run:
        _append(store, name, {"from": number, "method": METHOD, "rows": {}, "who": who}, method=METHOD)
    return number


def _append(
    store: Store, name: str, body: dict[str, Any], *, method: int | None = None, put: dict[int, bytes] | None = None
) -> None:
    """Append an entry "upgraded", which changes nothing but the number of the method; raise ConflictError if others wrote.

    A change of the method keeps the state, from which doctor computes what follows.
    """
    state = CampaignHandle(name, store).load()
    state = replace(state, seq=state.seq + 1, method_number=state.method_number if method is None else method)
    checkpoint, digest = packed_checkpoint(state)
    entry = Entry(kind="upgraded", body=body, at=utc_now())
    change = Change(
        entries=with_state_hash([entry], digest),
        checkpoint=checkpoint,
        summary=summary(state),
        rows={} if method is None else {0: pack_states(checkpoint)},
        put_rows=put or {},
    )
    store.append(name, state.seq - 1, change)
