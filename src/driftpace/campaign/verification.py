"""Verify a campaign: its hash chain, the rows and the state that the log names, and every number that can be recomputed."""

import json
from collections.abc import Mapping, Sequence

from driftpace.campaign.handle import CampaignHandle, unknown_campaign
from driftpace.campaign.kept_states import RowsOf, dropped_rows, erased_rows_of
from driftpace.campaign.packing import erased_in, hash_of, salted, unpack_ids, unpack_rows
from driftpace.campaign.reader import CampaignReader
from driftpace.campaign.recomputation import LogMismatch, named, recompute
from driftpace.campaign.records import CheckVerdict, Verification
from driftpace.campaign.state import CampaignState, checkpoint_hash, from_checkpoint
from driftpace.campaign.status import summary
from driftpace.campaign.undo import stored_rows
from driftpace.errors import StateFileError
from driftpace.storage.base import Entry, Store
from driftpace.storage.chain import first_break

ROWS_KINDS = ("delivered", "selected")
"""Kinds of entries with rows or ids."""
_STATE_KINDS = ("erased", "learned", "retrained", "upgraded")
"""Entries beside which a state, a model or components are stored."""


def verify_campaign(name: str, store: Store) -> Verification:
    """Verify a campaign, and name the first log entry that does not fit.

    The hash chain must be whole, stored rows and the saved state must have the hashes that the log names, and every order, fit,
    certificate and decision must be the one that a replay of the log leads to: bit for bit, or up to rounding where another
    machine or library wrote it.

    Parameters
    ----------
    name : str
        The campaign.
    store : Store
        Its store.

    Returns
    -------
    Verification
    """
    campaign = CampaignReader.open(name, storage=store)
    log = campaign.log()
    try:
        check_log(store, name, log)
        saved = _saved(store, name)
        rows_of = stored_rows(store, name)
        _check_rows(log, rows_of, saved)
        _check_no_other_rows(store, name, log)
        _check_summary(store, name)
        return recompute(log, rows_of, saved)
    except LogMismatch as mismatch:
        return Verification(verdict=CheckVerdict.FAIL, sentence=f"{mismatch}", entry=mismatch.entry)


def check_log(store: Store, name: str, log: Sequence[Entry]) -> None:
    """Raise LogMismatch unless the hash chain is whole, and the saved state and the head are those of its last entry."""
    _check_chain(log)
    checkpoint, head = store.checkpoint(name), store.head(name)
    if checkpoint is None or checkpoint[0] != len(log):
        at = checkpoint and checkpoint[0]
        raise LogMismatch(f"The log has {len(log):,} entries, but the saved state is of entry {at}.")
    digest = log[-1].body.get("state_hash")
    if not any("state_hash" in entry.body for entry in log):
        raise LogMismatch("The log was written by an earlier version; run driftpace upgrade.")
    if digest is None:
        raise LogMismatch(f"The log ends in the middle of a change: entries after {named(log[-1])} were removed.")
    if checkpoint_hash(checkpoint[1]) != digest:
        raise LogMismatch(f"The saved state is not the one that {named(log[-1])} led to: its hash does not fit.")
    if head is None or (head.seq, head.created_at, head.updated_at) != (len(log), log[0].at, log[-1].at):
        raise LogMismatch("The number of entries or the times beside the log differ from those of the log.")
    created_as = log[0].body.get("definition", {}).get("name", name)
    if created_as != name:
        raise LogMismatch(f"The campaign was created as {created_as!r} and renamed in the store.")


def _saved(store: Store, name: str) -> CampaignState:
    """Return the saved state."""
    record = store.checkpoint(name)
    if record is None:
        raise unknown_campaign(name, store)
    return from_checkpoint(*record)


def _check_chain(log: Sequence[Entry]) -> None:
    if [entry.seq for entry in log] != list(range(1, len(log) + 1)):
        missing = next(place for place, entry in enumerate(log, start=1) if entry.seq != place)
        raise LogMismatch(f"The log has a gap: entry {missing} is missing.", missing)
    broken = first_break(log)
    if broken is not None:
        raise LogMismatch(
            f"The hash chain breaks at {named(broken)}: it was changed since it was written, or one before it was removed.",
            broken,
        )


def _check_summary(store: Store, name: str) -> None:
    """Compare the summary beside the log with the saved state."""
    head = store.head(name)
    state = CampaignHandle(name, store).load(head)
    if head is None or json.loads(json.dumps(summary(state))) != dict(head.summary):
        raise LogMismatch("The summary beside the log differs from the saved state.")


def _check_rows(log: Sequence[Entry], rows_of: RowsOf, saved: CampaignState) -> None:
    """Raise LogMismatch unless stored rows have their hashes, and those that are gone were erased by the log."""
    hashes, erased, dropped = rows_hashes(log), erased_rows_of(log), dropped_rows(log)
    opened = () if saved.opened is None else saved.opened.deliveries
    for entry in log:
        if entry.kind not in ROWS_KINDS:
            continue
        data = rows_of(entry.seq)
        if data is None:
            if entry.seq in opened:
                raise LogMismatch("Rows of the open period are missing; restore a backup of the store.", entry)
            if entry.seq not in dropped and saved.definition.keep_rows:
                raise LogMismatch(f"Rows that should be stored are missing: those of {named(entry)}.", entry)
            continue
        if entry.seq in hashes and _hash_of_rows(data) != hashes[entry.seq]:
            raise LogMismatch(f"The rows of {named(entry)} were changed: their hash does not fit.", entry)
        check_erased(entry, data, erased.get(entry.seq, {}), dropped=entry.seq in dropped)
        packed = None if entry.kind == "selected" else unpack_rows(data)
        count = len(unpack_ids(data)) if packed is None else len(packed.event.y)
        if count + len(erased_in(data)) != entry.body["rows"] + entry.body.get("more_labels", 0):
            raise LogMismatch(f"{named(entry).capitalize()} has another number of rows than it says.", entry)


def _check_no_other_rows(store: Store, name: str, log: Sequence[Entry]) -> None:
    """Raise LogMismatch where rows are stored beside an entry that brought none."""
    without = [
        entry.seq for entry in log if entry.kind not in (*ROWS_KINDS, *_STATE_KINDS) and "model" not in entry.body
    ]
    seq = min(store.rows(name, without), default=None)
    if seq is not None:
        entry = log[seq - 1]
        raise LogMismatch(f"Rows are stored beside {named(entry)}, which brought none.", entry)


def check_erased(entry: Entry, data: bytes, noted: Mapping[str, str], *, dropped: bool) -> None:
    """Raise LogMismatch unless the rows that are missing in stored rows are those that the log says were erased."""
    missing = erased_in(data)
    if missing.items() - noted.items():
        raise LogMismatch(
            f"Rows of {named(entry)} are missing, and no entry of the log says that they were erased.", entry
        )
    if dropped or noted.items() - missing.items():
        raise LogMismatch(f"Rows of {named(entry)} are stored, but the log says that they were erased.", entry)


def _hash_of_rows(data: bytes) -> str | None:
    """Return the hash of stored rows; None where they cannot be read."""
    try:
        return hash_of(data)
    except StateFileError:
        return None


def rows_hashes(log: Sequence[Entry]) -> dict[int, str]:
    """Return the hash that the log has of the rows of each entry; an upgrade or an import notes those of earlier ones."""
    named = {entry.seq: entry.body["rows_hash"] for entry in log if "rows_hash" in entry.body}
    for entry in log:
        if entry.kind in ("upgraded", "imported"):
            named |= {int(seq): digest for seq, digest in entry.body.get("rows", {}).items()}
    return named


def unnoted_rows(log: Sequence[Entry], rows_of: RowsOf) -> tuple[dict[str, str], dict[int, bytes]]:
    """Return the hashes of rows that the log of an earlier version does not have, and those rows with salts."""
    known = rows_hashes(log)
    hashes: dict[str, str] = {}
    put: dict[int, bytes] = {}
    for entry in log:
        data = rows_of(entry.seq) if entry.kind in ROWS_KINDS and entry.seq not in known else None
        if data is not None:
            kept = salted(data)
            hashes[str(entry.seq)], put[entry.seq] = kept.hash, kept.data
    return hashes, put
