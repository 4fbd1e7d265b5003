"""Bounds on the excess risk after K samples, and the smallest sample size that meets a target."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
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

_MODULES = {
    "Anchored": "anchored",
    "AnchoredFixedDesign": "anchored",
    "AnchoredMinimiser": "minimiser",
    "AnchoredTuned": "anchored",
    "AveragedSquares": "averaged_squares",
    "BachMoulines": "averaged_squares",
    "ClosedForm": "closed_form",
    "ConstantStep": "closed_form",
    "DistanceBound": "closed_form",
    "ExactAverage": "exact_average",
    "Factors": "base",
    "FormulaBound": "base",
    "FullPasses": "multipass",
    "GaussianLeastSquares": "gaussian",
    "Greedy": "greedy",
    "GreedyClosedForm": "greedy",
    "LastIterate": "recursion",
    "LeastBound": "least_bound",
    "LogarithmicAverage": "uniform",
    "Minimiser": "minimiser",
    "Nature": "base",
    "NoiseModel": "noise",
    "OrdinaryLeastSquares": "minimiser",
    "PenalisedMinimiser": "multipass",
    "RiskBound": "base",
    "RobustAverage": "uniform",
    "SecondMoment": "noise",
    "StableMinimiser": "multipass",
    "TailAverage": "averaged_squares",
    "UniformAverage": "uniform",
    "Weighted": "weighted",
    "WeightedBounded": "weighted",
    "WeightedClosedForm": "weighted",
    "average_certificate": "certificate",
    "smallest_samples": "base",
}

if not TYPE_CHECKING:
    __getattr__ = lazy(__name__, _MODULES)
