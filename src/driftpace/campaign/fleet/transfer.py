"""Fleet campaigns as one file: what an export needs of the store, and what an import writes to it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from driftpace.campaign.fleet.campaign import FleetCampaign
from driftpace.campaign.fleet.draft import saved_entries
from driftpace.campaign.fleet.state import ReadRows, from_checkpoint, to_checkpoint
from driftpace.campaign.fleet.status import summary
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.campaign.handle import unknown_campaign, utc_now, with_state_hash
from driftpace.errors import StateFileError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Change, Entry, Store
from driftpace.storage.codec import METHOD
from driftpace.storage.inflate import content_hash


def current(store: Store, name: str) -> tuple[int, bytes, dict[int, bytes]]:
    """Return the checkpoint with the segments and rows that it names, which the next change may replace."""
    last = None
    while True:
        record = store.checkpoint(name)
        if record is None:
            raise unknown_campaign(name, store)
        state = from_checkpoint(*record, lambda seqs: store.rows(name, seqs))
        saved = set(saved_entries(state))
        opened = () if state.opened is None else (*state.opened.deliveries, *state.opened.draws)
        rows = store.rows(name, sorted({*saved, *opened}))
        if saved <= rows.keys() or record[0] == last:
            return *record, rows
        last = record[0]


def imported(
    entries: Sequence[Entry], rows: Mapping[int, bytes], checkpoint: bytes, *, name: str | None, who: str, source: str
) -> tuple[str, Change]:
    """Return the name of a campaign of a file, and the change that creates it; its log must lead to its checkpoint.

    Parameters
    ----------
    entries, rows, checkpoint
        The log, the rows of its entries by their place, and the state, as the file has them.
    name : str, optional
        Another name.
    who, source : str
        Recorded in the log: who imported it, and the name of the file.

    Raises
    ------
    StateFileError
        If the file was edited.
    """
    state = from_checkpoint(len(entries), checkpoint, _reader(rows))
    gone = next((seq for seq in saved_entries(state) if seq - 1 not in rows), None)
    if gone is not None:
        raise StateFileError(f"{source!r} was edited, or is damaged: the segments of entry {gone} are missing.")
    old = state.definition.name
    body = {"name": old, "source": source, "entries": len(entries), "rows": {}, "who": who}
    log = [*entries, Entry(kind="imported", body=body, at=utc_now(), seq=len(entries) + 1)]
    if name is not None and name != old:
        definition = {**entries[0].body["definition"], "name": name}
        log[0] = replace(entries[0], body={**entries[0].body, "definition": definition})
        state = replace(state, definition=replace(state.definition, name=name))
    state = replace(state, seq=len(log))
    made = to_checkpoint(state)
    change = Change(
        entries=with_state_hash(log, content_hash(made)), checkpoint=made, summary=summary(state), rows=dict(rows)
    )
    final = state.definition.name
    if entries[0].body["fleet"]["method"]["numbers"]["method"] == METHOD:  # another version computed other numbers
        store = MemoryStore()
        store.create(final, change)
        problem = compare_with_log(FleetCampaign(final, store)).problem
        if problem is not None:
            raise StateFileError(f"{source!r} was edited, or is damaged: {problem}")
    return final, change


def _reader(rows: Mapping[int, bytes]) -> ReadRows:
    return lambda seqs: {seq: rows[seq - 1] for seq in seqs if seq - 1 in rows}
