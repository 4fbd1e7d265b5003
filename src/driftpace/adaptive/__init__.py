"""The practical rule: every plausible drift followed at once, rows asked for until the risk that is left meets the target."""

from driftpace.adaptive.certifying import certificate
from driftpace.adaptive.checks import Supply, checks, counted, status
from driftpace.adaptive.needing import Need, need, next_batch
from driftpace.adaptive.outlook import Foreseen, outlook_from_here, outlook_of
from driftpace.adaptive.pacer import (
    FIRST_ROWS,
    PILOT,
    Judgement,
    Pace,
    Pacing,
    closed,
    drift,
    first_pace,
    judge,
    seen_from,
)
from driftpace.adaptive.rows import Rows
from driftpace.adaptive.sizing import variances_after

__all__ = [
    "FIRST_ROWS",
    "PILOT",
    "Foreseen",
    "Judgement",
    "Need",
    "Pace",
    "Pacing",
    "Rows",
    "Supply",
    "certificate",
    "checks",
    "closed",
    "counted",
    "drift",
    "first_pace",
    "judge",
    "need",
    "next_batch",
    "outlook_from_here",
    "outlook_of",
    "seen_from",
    "status",
    "variances_after",
]
