"""Synthetic worlds that know the truth: they draw rows, say the exact risk of any model, and how far the best one moves."""

from driftpace.worlds import library
from driftpace.worlds.bounded import BoundedRegression
from driftpace.worlds.classes import TwoClasses
from driftpace.worlds.drifting import DriftingClasses, DriftingRegression
from driftpace.worlds.paths import Shape
from driftpace.worlds.protocol import DriftingWorld, World
from driftpace.worlds.regression import GaussianRegression
from driftpace.worlds.rotating import RotatingFeatures
from driftpace.worlds.shaped_classes import ShapedClasses
from driftpace.worlds.shaped_regression import NoiseKind, ShapedRegression

__all__ = [
    "BoundedRegression",
    "DriftingClasses",
    "DriftingRegression",
    "DriftingWorld",
    "GaussianRegression",
    "NoiseKind",
    "RotatingFeatures",
    "Shape",
    "ShapedClasses",
    "ShapedRegression",
    "TwoClasses",
    "World",
    "library",
]
