"""What K samples promise about the excess risk: bounds, and the smallest number of samples that meets a target."""

from driftpace.bounds.base import FormulaBound
from driftpace.bounds.closed_form import ClosedForm
from driftpace.bounds.constant_step import ConstantStep
from driftpace.bounds.distance import DistanceBound
from driftpace.bounds.greedy import Greedy, GreedyClosedForm
from driftpace.bounds.noise import NoiseModel
from driftpace.bounds.protocol import Factors, Nature, RiskBound
from driftpace.bounds.recursion import LastIterate
from driftpace.bounds.search import smallest_samples

__all__ = [
    "ClosedForm",
    "ConstantStep",
    "DistanceBound",
    "Factors",
    "FormulaBound",
    "Greedy",
    "GreedyClosedForm",
    "LastIterate",
    "Nature",
    "NoiseModel",
    "RiskBound",
    "smallest_samples",
]
