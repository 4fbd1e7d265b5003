"""Experiment 3, synthetic classification (section V-B of the paper): labels as the drift asks for them, or all at once.

Two Gaussian classes opposite each other on the unit circle rotate by pi/25 per period. A method tracks them for 25 periods; the
up-front model gets as many rows in period 1 and keeps its model.

>>> from paper.classification.study import Run, follow
>>> from paper.classification.study import Setting
>>> course = follow(Run(setting=Setting(epsilon=0.1), seed=0, number=0))
>>> bool(course.loss[-1] < 0.2), bool(course.front_loss[-1] > 1.5), bool(course.front_auc[-1] < 0.05)
(True, True, True)
"""

from paper.classification.finding import find

__all__ = ["find"]
