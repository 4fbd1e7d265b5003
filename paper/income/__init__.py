"""The paper's income panel: how many people would have had to be asked each year (section V-C; theory 6.3)."""

from paper.income.finding import find

__all__ = ["find"]
