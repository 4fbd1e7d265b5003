"""Many repetitions of the paper's first experiment at once, compiled, with the same bits for any number of threads."""

from paper.montecarlo.study import Courses, RegressionStudy

__all__ = ["Courses", "RegressionStudy"]
