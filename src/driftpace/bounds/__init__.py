"""Bounds on the excess risk after K samples, and the smallest sample size that meets a target."""

from driftpace.bounds.anchored import Anchored, AnchoredFixedDesign, AnchoredTuned
from driftpace.bounds.averaged_squares import AveragedSquares, BachMoulines, TailAverage
from driftpace.bounds.base import Factors, FormulaBound, Nature, RiskBound, smallest_samples
from driftpace.bounds.certificate import average_certificate
from driftpace.bounds.closed_form import ClosedForm, ConstantStep, DistanceBound
from driftpace.bounds.exact_average import ExactAverage
from driftpace.bounds.gaussian import GaussianLeastSquares
from driftpace.bounds.greedy import Greedy, GreedyClosedForm
from driftpace.bounds.least_bound import LeastBound
from driftpace.bounds.minimiser import AnchoredMinimiser, Minimiser, OrdinaryLeastSquares
from driftpace.bounds.multipass import FullPasses, PenalisedMinimiser, StableMinimiser
from driftpace.bounds.noise import NoiseModel, SecondMoment
from driftpace.bounds.recursion import LastIterate
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
    "LeastBound",
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
