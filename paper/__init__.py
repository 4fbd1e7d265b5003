"""The paper's section V, figure by figure, beside what driftpace does by default; ``driftpace reproduce`` on the command line."""

from paper.asked import Asked
from paper.catalogue import NAMES, experiment
from paper.drawing import from_json, to_json, write_findings
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
from paper.reproduce import reproduce

__all__ = [
    "NAMES",
    "Asked",
    "Claim",
    "Comparison",
    "Figure",
    "Finding",
    "Measured",
    "OpenConstant",
    "Sensitivity",
    "Series",
    "experiment",
    "from_json",
    "reproduce",
    "to_json",
    "write_findings",
]
