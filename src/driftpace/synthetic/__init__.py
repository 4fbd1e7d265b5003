"""Synthetic data with known truth: draw rows, evaluate the exact risk of any model, and measure the drift of the minimiser."""

from driftpace.synthetic import library
from driftpace.synthetic.classes import TwoClasses
from driftpace.synthetic.drifting import DriftingClasses, DriftingRegression, RotatingFeatures
from driftpace.synthetic.multiclass import MulticlassPeriod, ShapedMulticlass
from driftpace.synthetic.paths import Shape
from driftpace.synthetic.protocol import DriftingPopulation, DriftMixin, SyntheticPopulation
from driftpace.synthetic.regression import BoundedRegression, GaussianRegression
from driftpace.synthetic.shaped_classes import ShapedClasses
from driftpace.synthetic.shaped_counts import AmountKind, ShapedCounts
from driftpace.synthetic.shaped_regression import NoiseKind, ShapedRegression

__all__ = [
    "AmountKind",
    "BoundedRegression",
    "DriftMixin",
    "DriftingClasses",
    "DriftingPopulation",
    "DriftingRegression",
    "GaussianRegression",
    "MulticlassPeriod",
    "NoiseKind",
    "RotatingFeatures",
    "Shape",
    "ShapedClasses",
    "ShapedCounts",
    "ShapedMulticlass",
    "ShapedRegression",
    "SyntheticPopulation",
    "TwoClasses",
    "library",
]
