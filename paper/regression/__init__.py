"""Synthetic regression (section V-A of the paper): the drift estimate, the sample sizes, the excess risk."""

from paper.regression.finding import find

__all__ = ["find"]
