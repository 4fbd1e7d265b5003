"""The paper's income panel: how many interviews would have been enough each year (section V-C; theory 6.3)."""

from paper.income.finding import find

__all__ = ["find"]
