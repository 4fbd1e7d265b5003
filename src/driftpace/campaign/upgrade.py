"""Upgrade a store of an older version, with a backup first, and change a campaign over to a newer method.

The tables are upgraded in one transaction. Then every campaign gets an entry "upgraded" that notes the hashes of the rows that an
earlier version stored without them. A campaign keeps the number of the method that computed its orders: under another one it can
be read, and changes are refused until it has been changed over.
"""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from driftpace.campaign.handle import CampaignHandle, Draft, utc_now, with_state_hash
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.replay import steps
from driftpace.campaign.state import CampaignState, from_checkpoint, packed_checkpoint
from driftpace.campaign.status import summary
from driftpace.campaign.verification import unnoted_rows, verify_campaign
from driftpace.errors import ConflictError, StateFileError
from driftpace.records import StepReport
from driftpace.storage import open_store
from driftpace.storage.backup import Backup, back_up
from driftpace.storage.base import Change, Entry, Store
from driftpace.storage.codec import METHOD, decode
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
        Campaigns whose orders an older method computed; :func:`compare_methods` shows what would change.
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
    if before == _newest():
        return _upgraded(place, who=who)
    written = back_up(place, _backup_place(place, before) if backup is None else backup)
    return replace(_upgraded(place, who=who), backup=written)


def _newest() -> int:
    from driftpace.storage.sql.schema import VERSION

    return VERSION


def _version(place: str) -> int:
    from driftpace.storage.sql.transfer import version_at

    return version_at(place, wait=WAIT)


def _backup_place(place: str, version: int) -> Path:
    if is_postgres(place):
        return Path(f"driftpace-v{version}.backup")
    path = sqlite_path(place)
    return path.with_name(f"{path.name}-v{version}.backup")


def _upgraded(place: str, *, who: str) -> Upgrade:
    from driftpace.storage.sql.transfer import upgrade_tables

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
        state = CampaignHandle(name, store).load()
        body = {"from": version, "to": _newest(), "rows": hashes, "who": who}
        entry = Entry(kind="upgraded", body=body, at=utc_now())
        checkpoint, digest = packed_checkpoint(replace(state, seq=len(log) + 1))
        change = Change(
            entries=with_state_hash([entry], digest), checkpoint=checkpoint, summary=summary(state), put_rows=put
        )
        try:
            store.append(name, len(log), change)
        except ConflictError:
            continue
        return True


def method_number(store: Store, name: str) -> int | None:
    """Return the number of the method that computed the state of a campaign; None without a campaign."""
    record = store.checkpoint(name)
    return None if record is None else from_checkpoint(*record).method_number


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodChange:
    """A closed period as the log has it and as the method of this version computes it: rows ordered, expected excess loss."""

    period: int
    asked: int
    asked_now: int
    risk_bound: float
    risk_bound_now: float

    @property
    def differs(self) -> bool:
        """Whether the method of this version answers differently."""
        return self.asked != self.asked_now or not _close(self.risk_bound, self.risk_bound_now)


def _close(left: float, right: float) -> bool:
    return left == right or abs(left - right) <= 1e-6 * max(abs(left), abs(right))


def compare_methods(store: Store, name: str) -> tuple[MethodChange, ...]:
    """Replay the history of a campaign by the method of this version, and return what it would have answered.

    Parameters
    ----------
    store : Store
        The store.
    name : str
        A campaign whose rows are stored.

    Returns
    -------
    tuple of MethodChange
        One for each closed period.

    Raises
    ------
    StateFileError
        If the rows were not kept.
    """
    return tuple(_method_changes(store, name))


def _method_changes(store: Store, name: str) -> Iterator[MethodChange]:
    for step in steps(store.entries(name), lambda seq: store.rows(name, [seq]).get(seq)):
        report, now = _certified(step.entry), step.after.last
        if report is not None and now is not None:
            yield MethodChange(
                period=report.period,
                asked=report.asked,
                asked_now=now.asked,
                risk_bound=report.risk_bound,
                risk_bound_now=now.risk_bound,
            )


def _certified(entry: Entry) -> StepReport | None:
    report = decode(entry.body["report"]) if entry.kind == "certified" else None
    return report if isinstance(report, StepReport) else None


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
    handle = CampaignHandle(name, store, any_method=True)

    def decide(state: CampaignState, draft: Draft) -> tuple[CampaignState, int | None]:
        if state.method_number == METHOD:
            return state, None
        body: dict[str, Any] = {"from": state.method_number, "method": METHOD, "rows": {}, "who": who}
        draft.add("upgraded", body)
        return replace(state, method_number=METHOD), state.method_number

    return handle.change(decide, dry_run=dry_run)
