"""The wide method: thousands of columns, embeddings and sparse text, followed in bands of principal components."""

from driftpace.wide.evidence import audit_wide, unlike_first_rows, wide_certificate, wide_checks, wide_status
from driftpace.wide.growth import with_classes
from driftpace.wide.rows import WideRows
from driftpace.wide.sizing import (
    WideRowsNeeded,
    next_wide_batch,
    pilot_rows,
    risk_of,
    risk_with,
    wide_rows_missing,
)
from driftpace.wide.spectrum import Spectrum, spectrum_of
from driftpace.wide.state import (
    WideJudgement,
    WideState,
    advance_wide,
    aim_of,
    drift_of,
    early_wide,
    first_wide_state,
    judge_wide,
)

__all__ = [
    "Spectrum",
    "WideJudgement",
    "WideRows",
    "WideRowsNeeded",
    "WideState",
    "advance_wide",
    "aim_of",
    "audit_wide",
    "drift_of",
    "early_wide",
    "first_wide_state",
    "judge_wide",
    "next_wide_batch",
    "pilot_rows",
    "risk_of",
    "risk_with",
    "spectrum_of",
    "unlike_first_rows",
    "wide_certificate",
    "wide_checks",
    "wide_rows_missing",
    "wide_status",
    "with_classes",
]
