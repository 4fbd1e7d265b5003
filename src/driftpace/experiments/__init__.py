"""The paper's section V, figure by figure, beside what driftpace does by default; ``driftpace reproduce`` on the command line."""

from driftpace.experiments.asked import Asked
from driftpace.experiments.catalogue import NAMES, experiment
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
]
