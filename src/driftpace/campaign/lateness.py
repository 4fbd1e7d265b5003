"""How late labels arrive, learned from the log, what that costs in labels, and whether one class arrives later than another."""

import math
from collections import Counter
from collections.abc import Mapping

from driftpace.adaptive import MOST_DELAY
from driftpace.campaign.late import outstanding_rows
from driftpace.campaign.records import Lateness
from driftpace.campaign.replay import LogInForce
from driftpace.campaign.state import CampaignState
from driftpace.campaign.transitions import unpack_rows
from driftpace.storage.base import Store
from driftpace.tracker.late import find_delay_price

RECENT = 20
"""Periods from which the lateness is learned."""
LEVEL = 3.29
"""Standard errors at which two shares differ: by chance once in a thousand comparisons."""
LEAST = 5
"""Rows of either class, in time and late, below which shares are not compared."""


def lateness_of(store: Store, state: CampaignState) -> Lateness | None:
    """Return how late labels arrived in the last periods; None where nothing was late or may be, and nothing is outstanding."""
    name, current, delay = state.definition.name, state.state.period, state.definition.delay
    log = store.entries(name, limit=state.seq, kinds=("selected", "delivered", "forgotten", "undone"))
    force = LogInForce.of(log)
    recent = range(max(1, current - RECENT), current)
    counted = {seq for period in recent for seq in force.deliveries.get(period, ())}
    deliveries = [entry for entry in log if entry.seq in counted]
    outstanding = {
        period: rows for period, rows in outstanding_rows(store, state).items() if period >= current - RECENT
    }
    arrived: Counter[int] = Counter()
    for entry in deliveries:
        arrived[int(entry.body.get("late") or 0)] += entry.body["rows"]
    if delay is None and not outstanding and not any(arrived[late] for late in arrived if late):
        return None
    waited = arrived + Counter({current - period: rows for period, rows in outstanding.items()})
    median = _median(waited)
    total = sum(arrived.values())
    return Lateness(
        shares={late: rows / total for late, rows in sorted(arrived.items())} if total else {},
        median=median,
        outstanding=outstanding,
        price=find_delay_price(state.method, state.state, median) if 0 < median <= MOST_DELAY else None,
        delay=delay,
        delay_price=None if delay is None else find_delay_price(state.method, state.state, delay),
        overdue=0 if delay is None else sum(rows for period, rows in outstanding.items() if current - period > delay),
        classes=_late_classes(store, state, {entry.seq: bool(entry.body.get("late")) for entry in deliveries}),
    )


def _median(counts: "Counter[int]") -> int:
    half, seen = (sum(counts.values()) + 1) // 2, 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= half:
            return value
    return 0


def _late_classes(store: Store, state: CampaignState, late: Mapping[int, bool]) -> tuple[float, float] | None:
    """Return the shares of the second class in time and late, where they differ by more than chance."""
    if state.definition.classes is None or len(set(late.values())) < 2:
        return None
    counts = {False: [0, 0], True: [0, 0]}
    for seq, data in store.rows(state.definition.name, list(late)).items():
        y = unpack_rows(data).event.y
        positive = int((y > 0.0).sum())
        counts[late[seq]][0] += positive
        counts[late[seq]][1] += len(y) - positive
    if min(*counts[False], *counts[True]) < LEAST:
        return None
    (a, b), (c, d) = counts[False], counts[True]
    early, after, pooled = a / (a + b), c / (c + d), (a + c) / (a + b + c + d)
    error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / (a + b) + 1.0 / (c + d)))
    return (early, after) if abs(early - after) > LEVEL * error else None
