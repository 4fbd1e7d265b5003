"""A backtest as one HTML file that somebody who did not run it can read."""

from driftpace.backtest.report.page import write_report

__all__ = ["write_report"]
