"""The adaptive method: follow every plausible drift at once, and ask for rows until the remaining risk meets the target."""

from driftpace.adaptive.certificate import certificate
from driftpace.adaptive.checks import Supply, checks, counted, status
from driftpace.adaptive.outlook import PredictedBound, outlook_from_here, outlook_of
from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.sample_size import RowsNeeded, next_batch, rows_missing
from driftpace.adaptive.sizing import variances_after
from driftpace.adaptive.state import (
    FIRST_ROWS,
    PILOT,
    AdaptiveConfig,
    AdaptiveState,
    PeriodJudgement,
    advance,
    centered_at,
    drift,
    first_state,
    judge,
)

__all__ = [
    "FIRST_ROWS",
    "PILOT",
    "AdaptiveConfig",
    "AdaptiveState",
    "DesignRows",
    "PeriodJudgement",
    "PredictedBound",
    "RowsNeeded",
    "Supply",
    "advance",
    "centered_at",
    "certificate",
    "checks",
    "counted",
    "drift",
    "first_state",
    "judge",
    "next_batch",
    "outlook_from_here",
    "outlook_of",
    "rows_missing",
    "status",
    "variances_after",
]
