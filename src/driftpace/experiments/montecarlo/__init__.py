"""Many repetitions of the paper's first experiment at once, compiled, with the same bits for any number of threads."""

from driftpace.experiments.montecarlo.courses import Courses
from driftpace.experiments.montecarlo.study import RegressionStudy

__all__ = ["Courses", "RegressionStudy"]
