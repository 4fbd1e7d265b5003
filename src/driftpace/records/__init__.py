"""Frozen records that packages exchange: requests, reports, constants and money."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.records.annotators import AnnotatorBias, AnnotatorReport, AnnotatorSums, LabelSums
    from driftpace.records.constants import Constants, DriftEstimate, Estimate
    from driftpace.records.delay import DelayPrice
    from driftpace.records.metric import MetricReport
    from driftpace.records.money import Money
    from driftpace.records.reports import Audit, Fit, PeriodData, Selected, StepReport
    from driftpace.records.requests import Assumption, Outcome, Plan, Request, Sizing, Verdict
    from driftpace.records.retraining import Retraining

__all__ = [
    "AnnotatorBias",
    "AnnotatorReport",
    "AnnotatorSums",
    "Assumption",
    "Audit",
    "Constants",
    "DelayPrice",
    "DriftEstimate",
    "Estimate",
    "Fit",
    "LabelSums",
    "MetricReport",
    "Money",
    "Outcome",
    "PeriodData",
    "Plan",
    "Request",
    "Retraining",
    "Selected",
    "Sizing",
    "StepReport",
    "Verdict",
]

if not TYPE_CHECKING:  # a type checker knows the names above and must reject any other
    __getattr__ = lazy(
        __name__,
        {
            "AnnotatorBias": "annotators",
            "AnnotatorReport": "annotators",
            "AnnotatorSums": "annotators",
            "Assumption": "requests",
            "Audit": "reports",
            "Constants": "constants",
            "DelayPrice": "delay",
            "DriftEstimate": "constants",
            "Estimate": "constants",
            "Fit": "reports",
            "LabelSums": "annotators",
            "MetricReport": "metric",
            "Money": "money",
            "Outcome": "requests",
            "PeriodData": "reports",
            "Plan": "requests",
            "Request": "requests",
            "Retraining": "retraining",
            "Selected": "reports",
            "Sizing": "requests",
            "StepReport": "reports",
            "Verdict": "requests",
        },
    )
