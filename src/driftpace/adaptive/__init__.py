"""The adaptive method: follow every plausible drift at once, and ask for rows until the remaining risk meets the target."""

from driftpace.adaptive.annotators import label_sums, leverages, summarise_labels
from driftpace.adaptive.audit import AuditState, ErrorRecord, audit_of, audit_rows, fresh_rows
from driftpace.adaptive.bank import first_bank, step_costs
from driftpace.adaptive.certificate import certificate
from driftpace.adaptive.checks import Supply, checks, counted, in_words, measured_risk, status
from driftpace.adaptive.choice import CHOICES, draw_by_rate, draw_stratified, importance
from driftpace.adaptive.delay import MOST_DELAY, RowsInUse, delay_price
from driftpace.adaptive.growth import with_outputs
from driftpace.adaptive.held_out import LEAST as LEAST_HELD_OUT
from driftpace.adaptive.held_out import MOST_SHARE, RowCounts, check_audit, count_rows, held_out_rows
from driftpace.adaptive.left_out import left_out_scores
from driftpace.adaptive.metric_target import (
    MetricLook,
    MetricMemory,
    MetricTarget,
    affordable,
    allowed_error,
    close_metric,
    metric_check,
    metric_report,
    metric_target,
)
from driftpace.adaptive.outlook import PredictedBound, outlook_from_here, outlook_of
from driftpace.adaptive.period_audit import Decision, audit_period
from driftpace.adaptive.rows import DesignRows, effective_rows, number_groups
from driftpace.adaptive.sample_size import (
    RowsNeeded,
    aim_of,
    is_enough,
    next_batch,
    risk_after,
    risk_in_use,
    rows_missing,
)
from driftpace.adaptive.season import MOST_SEASON, SEASONS, season_length
from driftpace.adaptive.start import residual_scale, robust_start, tuned_start, with_scale
from driftpace.adaptive.state import (
    FIRST_EXPANDED,
    FIRST_ROWS,
    PILOT,
    AdaptiveConfig,
    AdaptiveState,
    PeriodJudgement,
    advance,
    centered_at,
    drift,
    early,
    first_state,
    judge,
    with_closed_order,
)

__all__ = [
    "CHOICES",
    "FIRST_EXPANDED",
    "FIRST_ROWS",
    "LEAST_HELD_OUT",
    "MOST_DELAY",
    "MOST_SEASON",
    "MOST_SHARE",
    "PILOT",
    "SEASONS",
    "AdaptiveConfig",
    "AdaptiveState",
    "AuditState",
    "Decision",
    "DesignRows",
    "ErrorRecord",
    "MetricLook",
    "MetricMemory",
    "MetricTarget",
    "PeriodJudgement",
    "PredictedBound",
    "RowCounts",
    "RowsInUse",
    "RowsNeeded",
    "Supply",
    "advance",
    "affordable",
    "aim_of",
    "allowed_error",
    "audit_of",
    "audit_period",
    "audit_rows",
    "centered_at",
    "certificate",
    "check_audit",
    "checks",
    "close_metric",
    "count_rows",
    "counted",
    "delay_price",
    "draw_by_rate",
    "draw_stratified",
    "drift",
    "early",
    "effective_rows",
    "first_bank",
    "first_state",
    "fresh_rows",
    "held_out_rows",
    "importance",
    "in_words",
    "is_enough",
    "judge",
    "label_sums",
    "left_out_scores",
    "leverages",
    "measured_risk",
    "metric_check",
    "metric_report",
    "metric_target",
    "next_batch",
    "number_groups",
    "outlook_from_here",
    "outlook_of",
    "residual_scale",
    "risk_after",
    "risk_in_use",
    "robust_start",
    "rows_missing",
    "season_length",
    "status",
    "step_costs",
    "summarise_labels",
    "tuned_start",
    "with_closed_order",
    "with_outputs",
    "with_scale",
]
