"""Verify a campaign: its hash chain, the rows and the state that the log names, and every number that can be recomputed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from driftpace.campaign.handle import CampaignHandle, unknown_campaign
from driftpace.campaign.orders import (
    asked_body,
    closed_body,
    evaluate,
    fitted_body,
    served_to_plain,
    values_with,
)
from driftpace.campaign.packing import erased_rows, hash_of, salted, unpack_ids, unpack_rows
from driftpace.campaign.reader import CampaignReader
from driftpace.campaign.records import CheckVerdict, Verification
from driftpace.campaign.replay import RowsOf, Step, steps
from driftpace.campaign.state import (
    CampaignState,
    checkpoint_hash,
    from_checkpoint,
    packed_checkpoint,
    states_agree,
    values_agree,
)
from driftpace.campaign.status import summary
from driftpace.campaign.undo import revised_body
from driftpace.errors import StateFileError
from driftpace.storage.base import Entry, Store
from driftpace.storage.chain import first_break
from driftpace.storage.codec import METHOD, encode

_ROWS = ("delivered", "selected")


class LogMismatch(Exception):
    """Something in a store does not fit; ``entry`` is the first one."""

    def __init__(self, sentence: str, entry: Entry | int | None = None) -> None:
        super().__init__(sentence)
        self.entry = entry.seq if isinstance(entry, Entry) else entry


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
        gone, erased = _check_rows(store, name, log, saved)
        _check_summary(store, name)
        if gone or erased:
            return _not_recomputed(log, saved, gone, erased)
        return _recompute(log, lambda seq: store.rows(name, [seq]).get(seq), saved)
    except LogMismatch as mismatch:
        return Verification(verdict=CheckVerdict.FAIL, sentence=f"{mismatch}", entry=mismatch.entry)


def _named(entry: Entry) -> str:
    return f"entry {entry.seq} ({entry.kind})"


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
        raise LogMismatch(f"The log ends in the middle of a change: entries after {_named(log[-1])} were removed.")
    if checkpoint_hash(checkpoint[1]) != digest:
        raise LogMismatch(f"The saved state is not the one that {_named(log[-1])} led to: its hash does not fit.")
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
            f"The hash chain breaks at {_named(broken)}: it was changed since it was written, or one before it was removed.",
            broken,
        )


def _check_summary(store: Store, name: str) -> None:
    """Compare the summary beside the log with the saved state."""
    head = store.head(name)
    state = CampaignHandle(name, store).load(head)
    if head is None or json.loads(json.dumps(summary(state))) != dict(head.summary):
        raise LogMismatch("The summary beside the log differs from the saved state.")


def _check_rows(store: Store, name: str, log: Sequence[Entry], saved: CampaignState) -> tuple[list[Entry], list[Entry]]:
    """Return the entries whose rows are gone, and those of which some were deleted; the others must have their hashes."""
    named = rows_hashes(log)
    dropped = deleted_rows(log)
    opened = () if saved.opened is None else saved.opened.deliveries
    gone, erased = [], []
    for entry in log:
        if entry.kind not in _ROWS:
            continue
        data = store.rows(name, [entry.seq]).get(entry.seq)
        if data is None:
            if entry.seq in opened:
                raise LogMismatch("Rows of the open period are missing; restore a backup of the store.", entry)
            if entry.seq not in dropped and saved.definition.keep_rows:
                raise LogMismatch(f"Rows that should be stored are missing: those of {_named(entry)}.", entry)
            gone.append(entry)
            continue
        if entry.seq in named and _hash_of_rows(data) != named[entry.seq]:
            raise LogMismatch(f"The rows of {_named(entry)} were changed: their hash does not fit.", entry)
        if erased_rows(data):
            erased.append(entry)
        count = len(unpack_ids(data)) if entry.kind == "selected" else len(unpack_rows(data).event.y)
        if count + erased_rows(data) != entry.body["rows"] + entry.body.get("more_labels", 0):
            raise LogMismatch(f"{_named(entry).capitalize()} has another number of rows than it says.", entry)
    return [entry for entry in gone if entry.kind == "delivered"], erased


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
        data = rows_of(entry.seq) if entry.kind in _ROWS and entry.seq not in known else None
        if data is not None:
            kept = salted(data)
            hashes[str(entry.seq)], put[entry.seq] = kept.hash, kept.data
    return hashes, put


def deleted_rows(log: Sequence[Entry]) -> set[int]:
    """Return the entries whose rows were deleted on purpose."""
    return {seq for entry in log if entry.kind == "erased" for seq in entry.body["dropped"]}


def _not_recomputed(
    log: Sequence[Entry], saved: CampaignState, gone: Sequence[Entry], erased: Sequence[Entry]
) -> Verification:
    first = min((*gone, *erased), key=lambda entry: entry.seq)
    if saved.definition.keep_rows:
        why = f"rows of {_named(first)} were deleted, so nothing from there on can be recomputed"
    else:
        why = "rows are not stored, so it cannot be recomputed"
    sentence = f"{len(log):,} log entries; their hash chain is whole; {why}."
    return Verification(verdict=CheckVerdict.WARN, sentence=sentence)


def _recompute(log: Sequence[Entry], rows_of: RowsOf, saved: CampaignState) -> Verification:
    """Replay the log, and compare every entry and the saved state with what it leads to."""
    changes = [entry for entry in log if entry.kind == "upgraded" and "method" in entry.body]
    changed = next((entry for entry in reversed(changes) if not entry.body.get("alike")), None)
    if changed is not None or saved.method_number != METHOD:
        until = "" if changed is None else f" up to {_named(changed)}"
        numbers = f"the numbers{until} are of another method and not recomputed"
        sentence = f"{len(log):,} log entries; their hash chain is whole; {numbers}."
        return Verification(verdict=CheckVerdict.WARN, sentence=sentence)
    rounded: Entry | None = None
    state = saved
    for step, expected in _expected(log, rows_of):
        state = step.after
        for name, value in expected.items():
            logged = step.entry.body.get(name)
            if logged == value:
                continue
            if name != "sha256" and not values_agree(logged, value):
                raise LogMismatch(
                    f"{_named(step.entry).capitalize()} differs in {name!r} from what the log leads to.", step.entry
                )
            rounded = rounded or step.entry
    content = packed_checkpoint(state)[1]
    exact = content == packed_checkpoint(saved)[1]
    if exact and rounded is not None:  # everything else is bit for bit the same, so it is no rounding
        raise LogMismatch(f"{_named(rounded).capitalize()} differs from what the log leads to.", rounded)
    if not exact and not states_agree(saved, state):
        raise LogMismatch("The saved state differs from the one recomputed from the log.")
    how = "identical" if exact else "equal up to rounding (written on another machine or with another library version)"
    return Verification(verdict=CheckVerdict.PASS, sentence=f"{len(log):,} log entries, recomputed: {how}.")


def _expected(log: Sequence[Entry], rows_of: RowsOf) -> Iterator[tuple[Step, Mapping[str, Any]]]:
    """Yield each step of a replay with the values that its entry should have."""
    closing: Step | None = None
    first: Step | None = None  # of a delivery with rows for several closed periods, which has an entry for each
    revising: Step | None = None
    for step in steps(log, rows_of):
        expected: Mapping[str, Any] = {}
        before, body = step.before, step.entry.body
        if step.revised is not None:
            late = step.entry.kind == "delivered"
            first = first if late and revising is not None and revising.entry.seq == step.entry.seq - 1 else step
            revising = step
        if before is not None:
            match step.entry.kind:
                case "asked":
                    expected = asked_body(step.after)
                case "closed":
                    closing, expected = step, closed_body(before)
                case "fitted" if closing is not None:
                    assert closing.before is not None
                    expected = fitted_body(closing.before, closing.after)
                case "certified" if closing is not None:
                    assert closing.before is not None
                    expected = {
                        "report": encode(step.after.last),
                        "served": served_to_plain(evaluate(closing.before)),
                    }
                case "approved" | "overridden" if step.after.order is not None and before.order is not None:
                    order = before.order
                    asked = order.received + order.request.samples
                    decided = step.after.order.overridden
                    risk = {} if decided is None else {"risk_bound": decided.risk_bound}
                    samples = {"samples": asked} if step.entry.kind == "approved" else {}
                    expected = {"period": order.period, "asked": asked, **samples, **risk}
                case "forgotten" if before.order is not None:
                    expected = {"period": before.order.period, "rows": before.order.received}
                case "budgeted":
                    expected = {
                        "budget": values_with(
                            before.definition.budget,
                            body["money"],
                            body["periods"],
                            body["prices"],
                            period=before.state.period,
                        )
                    }
                case "revised" if first is not None and revising is not None and revising.revised is not None:
                    assert first.before is not None
                    expected = revised_body(first.before, revising.revised)
        yield step, json.loads(json.dumps(expected))
