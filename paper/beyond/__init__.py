"""Experiment 6, beyond the paper: four studies of what it proves or proposes and does not try.

``bounded``     changes that are random and bounded: the windowed estimate, the mean, the largest (theory 3.2)
``rules``       past risk bounds updated, or not (section II-E)
``given``       constants estimated, or given (theory 2)
``overshoot``   how far the direct estimate overshoots as epsilon shrinks, and its corrected bound (theory 3.5)
"""

from paper.beyond.finding import find

__all__ = ["find"]
