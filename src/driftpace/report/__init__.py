"""Self-contained HTML reports of backtests, campaigns, comparisons and plans; their figures need ``driftpace[report]``."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from driftpace.lazy import lazy
from driftpace.storage.atomic_file import write_text

if TYPE_CHECKING:
    from driftpace.report.backtest import backtest_report
    from driftpace.report.campaign import campaign_report
    from driftpace.report.compare import compare_report
    from driftpace.report.plan import PlanPage, plan_report

__all__ = ["PlanPage", "backtest_report", "campaign_report", "compare_report", "plan_report", "write_page"]

if not TYPE_CHECKING:  # type checkers use the imports above and reject other names
    __getattr__ = lazy(
        __name__,
        {
            "PlanPage": "plan",
            "backtest_report": "backtest",
            "campaign_report": "campaign",
            "compare_report": "compare",
            "plan_report": "plan",
        },
    )


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
    write_text(target, page, owner="write_page")
    return target
