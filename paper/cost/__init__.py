"""Experiment 2, the cost approach (section V-A of the paper): the same money spent in different ways.

Twenty-five periods of a regression whose best coefficients move by 1 each, 5 for an order and 1 for a row, and money for
about half of what the rule without a budget would spend. Compared are the plan that spends it best (section IV-A), made again
in every period with the drift as it is estimated by then; all up front; an even share every five periods; and the rule that
has no budget.

>>> from paper.cost.study import Job, follow
>>> course = follow(Job(method="up front", run=0))
>>> int(course.samples[0]), course.spent, bool(course.risks[-1] > 10 * course.risks[0])
(245, 250, True)
"""

from paper.cost.finding import find

__all__ = ["find"]
