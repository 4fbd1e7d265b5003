"""Synthetic worlds that know the truth: they draw rows, and say the exact risk of any model."""

from driftpace.worlds.bounded import BoundedRegression
from driftpace.worlds.classes import TwoClasses
from driftpace.worlds.drifting import DriftingClasses, DriftingRegression
from driftpace.worlds.paths import Shape
from driftpace.worlds.protocol import World
from driftpace.worlds.regression import GaussianRegression
from driftpace.worlds.shaped_classes import ShapedClasses
from driftpace.worlds.shaped_regression import NoiseKind, ShapedRegression

__all__ = [
    "BoundedRegression",
    "DriftingClasses",
    "DriftingRegression",
    "GaussianRegression",
    "NoiseKind",
    "Shape",
    "ShapedClasses",
    "ShapedRegression",
    "TwoClasses",
    "World",
]
