"""The paper's section V, figure by figure, beside what driftpace does by default; ``driftpace reproduce`` on the command line."""

from driftpace.experiments.asked import Asked
from driftpace.experiments.catalogue import NAMES, experiment
from driftpace.experiments.drawing import from_json, to_json, write_findings
from driftpace.experiments.records import (
    Claim,
    Comparison,
    Figure,
    Finding,
    Measured,
    OpenConstant,
    Sensitivity,
    Series,
)
from driftpace.experiments.reproduce import reproduce

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
