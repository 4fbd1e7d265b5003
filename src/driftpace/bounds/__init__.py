"""What K samples promise about the excess risk: bounds, and the smallest number of samples that meets a target."""

from driftpace.bounds.anchored import Anchored, AnchoredTuned
from driftpace.bounds.averaged_squares import AveragedSquares, BachMoulines, TailAverage
from driftpace.bounds.base import FormulaBound
from driftpace.bounds.certificate import average_certificate
from driftpace.bounds.closed_form import ClosedForm
from driftpace.bounds.constant_step import ConstantStep
from driftpace.bounds.distance import DistanceBound
from driftpace.bounds.erm import OrdinaryLeastSquares
from driftpace.bounds.exact_average import ExactAverage
from driftpace.bounds.fixed_design import AnchoredFixedDesign
from driftpace.bounds.gaussian import GaussianLeastSquares
from driftpace.bounds.greedy import Greedy, GreedyClosedForm
from driftpace.bounds.least import Least
from driftpace.bounds.m_estimation import AnchoredMinimiser, Minimiser
from driftpace.bounds.moments import SecondMoment
from driftpace.bounds.multipass import FullPasses, PenalisedMinimiser, StableMinimiser
from driftpace.bounds.noise import NoiseModel
from driftpace.bounds.protocol import Factors, Nature, RiskBound
from driftpace.bounds.recursion import LastIterate
from driftpace.bounds.search import smallest_samples
from driftpace.bounds.uniform import LogarithmicAverage, RobustAverage, UniformAverage
from driftpace.bounds.weighted import Weighted, WeightedBounded, WeightedClosedForm

__all__ = [
    "Anchored",
    "AnchoredFixedDesign",
    "AnchoredMinimiser",
    "AnchoredTuned",
    "AveragedSquares",
    "BachMoulines",
    "ClosedForm",
    "ConstantStep",
    "DistanceBound",
    "ExactAverage",
    "Factors",
    "FormulaBound",
    "FullPasses",
    "GaussianLeastSquares",
    "Greedy",
    "GreedyClosedForm",
    "LastIterate",
    "Least",
    "LogarithmicAverage",
    "Minimiser",
    "Nature",
    "NoiseModel",
    "OrdinaryLeastSquares",
    "PenalisedMinimiser",
    "RiskBound",
    "RobustAverage",
    "SecondMoment",
    "StableMinimiser",
    "TailAverage",
    "UniformAverage",
    "Weighted",
    "WeightedBounded",
    "WeightedClosedForm",
    "average_certificate",
    "smallest_samples",
]
