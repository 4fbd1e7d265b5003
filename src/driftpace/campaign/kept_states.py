"""States that a log keeps beside an entry, so that what follows can be computed where what was before cannot.

An erasure keeps the state after it and its *base*: the state after the last period of which rows were erased, from which later
periods are absorbed again. A change of the method keeps the state at the change.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from driftpace.campaign import transitions
from driftpace.campaign.handle import with_packed_rows
from driftpace.campaign.packing import PackedRows, unpack_rows
from driftpace.campaign.state import CampaignState, checkpoint_hash, from_checkpoint
from driftpace.errors import StateFileError
from driftpace.storage.base import Entry, Store
from driftpace.storage.inflate import inflate

RowsOf = Callable[[int], bytes | None]
"""Returns the rows of a log entry by its number; None where they were not kept."""


def pack_states(state: bytes, base: bytes | None = None) -> bytes:
    """Return checkpoints as the rows of an entry."""
    texts = {"state": _text(state), "base": None if base is None else _text(base)}
    return zlib.compress(json.dumps(texts).encode(), 1)


def keeps_state(entry: Entry) -> bool:
    """Return whether the state after an entry is kept beside it."""
    return entry.kind == "erased" or (
        entry.kind == "upgraded" and "method" in entry.body and not entry.body.get("alike")
    )


def kept_state(entry: Entry, log: Sequence[Entry], rows_of: RowsOf) -> CampaignState | None:
    """Return the state that an entry keeps; None where it was dropped, or rows of the period then open were erased since.

    Raises
    ------
    StateFileError
        If it is not the one that the log names.
    """
    data = _checkpoint(rows_of(entry.seq), "state")
    if data is None:
        return None
    if checkpoint_hash(data) != entry.body.get("state_hash"):
        raise StateFileError(
            f"the state that entry {entry.seq} ({entry.kind}) keeps was changed: its hash does not fit."
        )
    state = _restored(entry.seq, data, log, rows_of)
    rows = _open_rows(state, rows_of)
    return None if rows is None else with_packed_rows(state, rows)


def kept_base(log: Sequence[Entry], rows_of: RowsOf) -> tuple[int, CampaignState] | None:
    """Return the last base that a log keeps and its period; None where rows of no closed period were erased."""
    entry = next((entry for entry in reversed(log) if "base_hash" in entry.body), None)
    if entry is None:
        return None
    data = _checkpoint(rows_of(entry.seq), "base")
    if data is None or checkpoint_hash(data) != entry.body["base_hash"]:
        raise StateFileError(f"the state that entry {entry.seq} ({entry.kind}) keeps is missing or was changed.")
    return int(entry.body["settled"]), _restored(entry.seq, data, log, rows_of)


def settled_in(log: Sequence[Entry]) -> int:
    """Return the last period that cannot be absorbed again because rows were erased; 0 where there is none."""
    return max((int(entry.body["settled"]) for entry in log if entry.kind == "erased"), default=0)


def settled_period(store: Store, name: str) -> int:
    """Return the same from a store."""
    return settled_in(store.latest(name, limit=1, kinds=("erased",)))


def erased_rows_of(log: Sequence[Entry]) -> dict[int, dict[str, str]]:
    """Return the hashes of erased rows by their places, by the entry that they belonged to, as the log notes them."""
    noted: dict[int, dict[str, str]] = {}
    for entry in log:
        if entry.kind == "erased":
            for seq, leaves in entry.body["erased"].items():
                noted.setdefault(int(seq), {}).update(leaves)
    return noted


def dropped_rows(log: Sequence[Entry]) -> set[int]:
    """Return the entries whose rows were erased as a whole, as the log notes them."""
    return {seq for entry in log if entry.kind == "erased" for seq in entry.body["dropped"]}


def _restored(seq: int, data: bytes, log: Sequence[Entry], rows_of: RowsOf) -> CampaignState:
    """Return a state with its base model, under the name that the campaign has now."""
    state = from_checkpoint(seq, data)
    name = log[0].body["definition"]["name"]
    state = replace(state, definition=replace(state.definition, name=name))
    return transitions.with_stored_parts(state, lambda sha256: stored_part(log, rows_of, sha256))


def stored_part(log: Sequence[Entry], rows_of: RowsOf, sha256: str) -> bytes | None:
    """Return the bytes of a model or of components by their hash; None where they are gone."""
    stored = (
        entry.seq
        for entry in log
        for name in ("model", "components")
        if entry.body.get(name, {}).get("sha256") == sha256
    )
    return next((data for seq in stored if (data := rows_of(seq)) is not None), None)


def _open_rows(state: CampaignState, rows_of: RowsOf) -> Mapping[int, PackedRows] | None:
    """Return the rows of the open period by their entry; None where some are gone."""
    rows: dict[int, PackedRows] = {}
    for seq in () if state.opened is None else state.opened.deliveries:
        data = rows_of(seq)
        packed = None if data is None else unpack_rows(data)
        if packed is None or packed.erased:
            return None
        rows[seq] = packed
    return rows


def _checkpoint(data: bytes | None, name: str) -> bytes | None:
    if data is None:
        return None
    try:
        text = json.loads(inflate(data))[name]
        return None if text is None else base64.b64decode(text, validate=True)
    except (zlib.error, ValueError, KeyError, TypeError, binascii.Error) as error:
        raise StateFileError(f"a state that the log keeps is damaged: {error}.") from None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
