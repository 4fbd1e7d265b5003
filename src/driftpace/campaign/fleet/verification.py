"""Whether a fleet campaign is the one that its log leads to."""

import zlib
from collections import deque
from dataclasses import dataclass

from driftpace.campaign.fleet.campaign import FleetCampaign
from driftpace.campaign.fleet.state import CHUNK, FleetCampaignState, pack_segments
from driftpace.campaign.recomputation import LogMismatch
from driftpace.campaign.state import arrays_agree
from driftpace.campaign.verification import check_log
from driftpace.fleet.saving import FleetState
from driftpace.storage.inflate import content_hash


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What a comparison with the log has found; ``problem`` is a sentence, None where there is none."""

    entries: int
    segments: int = 0
    recomputed: bool = True
    exact: bool = True
    problem: str | None = None


def compare_with_log(campaign: FleetCampaign) -> Comparison:
    """Compute a campaign again from its log, and compare every segment with the saved one."""
    store, name = campaign.store, campaign.name
    whole = store.entries(name)
    try:
        check_log(store, name, whole)
        for entry in whole:
            data = store.rows(name, [entry.seq]).get(entry.seq) if "rows_hash" in entry.body else None
            if data is not None and content_hash(data) != entry.body["rows_hash"]:
                raise LogMismatch(
                    f"The rows of entry {entry.seq} ({entry.kind}) were changed: their hash does not fit."
                )
    except (LogMismatch, zlib.error) as mismatch:
        return Comparison(entries=len(whole), problem=f"{mismatch}")
    digests = {entry.seq: entry.body.get("sha256") for entry in whole if entry.kind == "saved"}
    saved = campaign.fleet().snapshot()
    damaged = _damaged(campaign, digests)
    if damaged is not None:
        return Comparison(entries=len(whole), problem=damaged)
    delivered = [entry.seq for entry in whole if entry.kind == "delivered"]
    if len(store.rows(name, delivered)) < len(delivered):
        if campaign.definition.keep_rows:
            return Comparison(entries=len(whole), problem="Rows that should be stored are missing.")
        return Comparison(entries=len(whole), recomputed=False)
    ((_, made),) = deque(campaign.replay(), maxlen=1)
    exact = _digests(made.fleet) == _digests(saved)
    agree = exact or _agree(made, saved)
    differs = None if agree else "The saved state differs from the one recomputed from the log."
    if made.definition != campaign.definition:
        differs = "The saved definition differs from the one of the log."
    if (made.fleet.budget, made.fleet.spent) != (saved.budget, saved.spent):
        differs = f"The money spent, {saved.spent}, differs from the {made.fleet.spent} recomputed from the log."
    return Comparison(entries=len(whole), segments=len(saved.segments), exact=exact, problem=differs)


def _damaged(campaign: FleetCampaign, digests: dict[int, str | None]) -> str | None:
    """Return which saved segments are not those that the log names by their hash."""
    stored = campaign.stored_segments()
    for place, ref in enumerate(stored.refs):
        names = stored.names[place * CHUNK : (place + 1) * CHUNK]
        if pack_segments({name: stored[name] for name in names})[1] != digests.get(ref):
            return f"The segments of entry {ref} are damaged; restore a backup of the store."
    return None


def _digests(fleet: FleetState) -> list[str]:
    names = tuple(fleet.segments)
    return [
        pack_segments({name: fleet.segments[name] for name in names[at : at + CHUNK]})[1]
        for at in range(0, len(names), CHUNK)
    ]


def _agree(made: FleetCampaignState, saved: FleetState) -> bool:
    """Return whether the models agree up to rounding."""
    if tuple(made.fleet.segments) != tuple(saved.segments):
        return False
    pairs = [(one.state.coef, saved.segments[name].state.coef) for name, one in made.fleet.segments.items()]
    return all(arrays_agree(() if one is None else one, () if other is None else other) for one, other in pairs)
