"""Whether a fleet campaign is the one that its log leads to."""

from collections import deque
from dataclasses import dataclass

from driftpace.campaign.fleet.campaign import FleetCampaign
from driftpace.campaign.fleet.state import CHUNK, FleetCampaignState, pack_segments
from driftpace.campaign.state import arrays_agree
from driftpace.fleet.saving import FleetState


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
    if [entry.seq for entry in whole] != list(range(1, len(whole) + 1)):
        return Comparison(entries=len(whole), problem="The log has a gap.")
    checkpoint = store.checkpoint(name)
    if checkpoint is None or checkpoint[0] != len(whole):
        at = checkpoint and checkpoint[0]
        problem = f"The log has {len(whole):,} entries, but the saved state is of entry {at}."
        return Comparison(entries=len(whole), problem=problem)
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
