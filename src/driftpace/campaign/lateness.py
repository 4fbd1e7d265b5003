"""How late labels arrive, learned from the log, what that costs in labels, and whether one class arrives later than another."""

import math
from collections import Counter
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np

from driftpace.adaptive import MOST_DELAY
from driftpace.campaign.late import entries_from, outstanding_rows
from driftpace.campaign.packing import unpack_rows
from driftpace.campaign.records import Lateness
from driftpace.campaign.replay import LogInForce
from driftpace.campaign.state import CampaignState
from driftpace.storage.base import Store
from driftpace.tracker.late import find_delay_price
from driftpace.typing import FloatArray

RECENT = 20
"""Periods from which the lateness is learned."""
CHANCE = 0.001
"""How often shares are said to differ by chance."""
LEVEL = 3.29
"""Standard errors at which two shares differ: by chance once in a thousand comparisons."""
LEAST = 5
"""Rows of either class, in time and late, below which shares are not compared."""


def lateness_of(store: Store, state: CampaignState) -> Lateness | None:
    """Return how late labels arrived in the last periods; None where nothing was late or may be, and nothing is outstanding."""
    current, delay = state.state.period, state.definition.delay
    recent = range(max(1, current - RECENT), current)
    log = entries_from(store, state, recent.start, ("selected", "delivered", "forgotten", "undone"))
    force = LogInForce.of(log)
    counted = {seq for period in recent for seq in force.deliveries.get(period, ())}
    deliveries = [entry for entry in log if entry.seq in counted]
    outstanding = outstanding_rows(store, state, first=recent.start)
    arrived: Counter[int] = Counter()
    for entry in deliveries:
        arrived[int(entry.body.get("late") or 0)] += entry.body["rows"]
    if delay is None and not outstanding and not any(arrived[late] for late in arrived if late):
        return None
    waited = arrived + Counter({current - period: rows for period, rows in outstanding.items()})
    median = _median(waited)
    total = sum(arrived.values())
    classes, late_class = _late_classes(store, state, {entry.seq: bool(entry.body.get("late")) for entry in deliveries})
    return Lateness(
        shares={late: rows / total for late, rows in sorted(arrived.items())} if total else {},
        median=median,
        outstanding=outstanding,
        price=find_delay_price(state.method, state.state, median) if 0 < median <= MOST_DELAY else None,
        delay=delay,
        delay_price=None if delay is None else find_delay_price(state.method, state.state, delay),
        overdue=0 if delay is None else sum(rows for period, rows in outstanding.items() if current - period > delay),
        classes=classes,
        late_class=late_class,
    )


def _median(counts: "Counter[int]") -> int:
    half, seen = (sum(counts.values()) + 1) // 2, 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= half:
            return value
    return 0


def _late_classes(
    store: Store, state: CampaignState, late: Mapping[int, bool]
) -> tuple[tuple[float, float] | None, str]:
    """Return the shares of a class in time and late, where they differ by more than chance, and its name among several.

    Of several classes, each is compared with the others, and the clearest difference is returned; the level is that of all
    comparisons together.
    """
    names = state.definition.classes
    if names is None or len(set(late.values())) < 2:
        return None, ""
    several = len(names) > 2
    labels: dict[bool, list[FloatArray]] = {False: [], True: []}
    for seq, data in store.rows(state.definition.name, list(late)).items():
        labels[late[seq]].append(unpack_rows(data).event.y)
    in_time, after = (np.concatenate([np.empty(0), *labels[way]]) for way in (False, True))
    best, found = LEVEL if not several else NormalDist().inv_cdf(1.0 - CHANCE / (2.0 * len(names))), None
    late_class = ""
    for code in range(len(names)) if several else (1,):
        early, later = (y == code if several else y > 0.0 for y in (in_time, after))
        if min(early.sum(), (~early).sum(), later.sum(), (~later).sum()) < LEAST:
            continue
        pooled = float(np.concatenate([early, later]).mean())
        error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / early.size + 1.0 / later.size))
        if abs(float(early.mean()) - float(later.mean())) > best * error:
            best = abs(float(early.mean()) - float(later.mean())) / error
            found, late_class = (float(early.mean()), float(later.mean())), names[code] if several else ""
    return found, late_class
