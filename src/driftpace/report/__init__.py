"""Self-contained HTML reports of backtests, campaigns and plans; their figures need ``driftpace[report]``."""

from os import PathLike
from pathlib import Path

from driftpace.report.backtest import backtest_report

__all__ = ["backtest_report", "write_page"]


def write_page(page: str, path: str | PathLike[str]) -> Path:
    """Write a report to a file, making the folders on the way.

    Parameters
    ----------
    page : str
        What one of the report functions returned.
    path : str or path-like
        The file, replaced if it exists.

    Returns
    -------
    Path
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8", newline="\n")
    return target
