"""Many repetitions of the paper's first experiment at once, compiled, with the same bits for any number of threads."""

from paper.montecarlo.courses import Courses
from paper.montecarlo.study import RegressionStudy

__all__ = ["Courses", "RegressionStudy"]
