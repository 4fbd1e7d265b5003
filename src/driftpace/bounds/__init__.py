"""What K samples promise about the excess risk: bounds, and the smallest number of samples that meets a target."""

from driftpace.bounds.base import FormulaBound
from driftpace.bounds.closed_form import ClosedForm
from driftpace.bounds.noise import NoiseModel
from driftpace.bounds.protocol import Factors, Nature, RiskBound
from driftpace.bounds.search import smallest_samples

__all__ = [
    "ClosedForm",
    "Factors",
    "FormulaBound",
    "Nature",
    "NoiseModel",
    "RiskBound",
    "smallest_samples",
]
