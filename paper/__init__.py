"""The experiments of the paper, figure by figure, beside the default method: ``python -m paper``."""

from paper.records import (
    Claim,
    Comparison,
    Figure,
    Finding,
    Measured,
    OpenConstant,
    Sensitivity,
    Series,
)
from paper.report import from_json, to_json, write_findings
from paper.reproduce import NAMES, experiment, reproduce
from paper.runs import RunSettings

__all__ = [
    "NAMES",
    "Claim",
    "Comparison",
    "Figure",
    "Finding",
    "Measured",
    "OpenConstant",
    "RunSettings",
    "Sensitivity",
    "Series",
    "experiment",
    "from_json",
    "reproduce",
    "to_json",
    "write_findings",
]
