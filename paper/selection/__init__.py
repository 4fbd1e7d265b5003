"""Experiment 5: the penalty chosen in every period, among two and among ten (paper section IV-B)."""

from paper.selection.finding import find

__all__ = ["find"]
