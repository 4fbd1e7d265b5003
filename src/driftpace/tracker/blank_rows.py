"""First rows that show nothing: counts that are all zero, or a single class.

No model of them is better than all others, so nothing is fitted and nothing promised until a row shows the other side.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftpace.losses import LogLinkLoss, PoissonLoss, SoftmaxLoss, classifies
from driftpace.records import Outcome
from driftpace.tracker.state import PeriodOrder, RowBatch

MOST_BLANK = 1_000
"""Rows after which a period requests no more of those that show nothing."""


def nothing_shown(loss: Any, batches: Sequence[RowBatch], *, classes: bool) -> str | None:
    """Return what the rows of a first period do not show, in words; None where they show something, or there are none.

    With ``classes`` rows of a single class show nothing either.
    """
    rows = sum(len(batch.y) for batch in batches)
    if not rows:
        return None
    if isinstance(loss, LogLinkLoss):
        if any(batch.y.any() for batch in batches):
            return None
        return (
            f"no {'count' if isinstance(loss, PoissonLoss) else 'amount'} above zero has been seen yet in {_rows(rows)}"
        )
    if classes and (isinstance(loss, SoftmaxLoss) or classifies(loss)):
        first = next(batch.y[0] for batch in batches if len(batch.y))
        if all(bool(np.all(batch.y == first)) for batch in batches):
            return f"only one class has been seen yet in {_rows(rows)}"
    return None


def blank_order(
    blank: str, *, gathered: int, limit: int, beyond: Outcome, pool: int | None, epsilon: float | None, batch: int
) -> PeriodOrder:
    """Return the order after rows that show nothing: as many again, up to :data:`MOST_BLANK` in all."""
    most = max(min(limit, MOST_BLANK), gathered)
    total = min(2 * gathered, most)
    more = total - gathered
    if more:
        then = f"{more} more {'row' if more == 1 else 'rows'} may show one"
    elif gathered >= limit:
        then = f"this period can have {limit} in all"
    else:
        then = "no more are requested in this period"
    return PeriodOrder(
        total=total,
        theory=total,
        pool=pool,
        risk=math.inf,
        interval=(total, most),
        outcome=Outcome.PILOT if more else beyond if gathered >= limit else Outcome.SHORT,
        reason=f"{blank}: {then}",
        epsilon=math.nan if epsilon is None else epsilon,
        after=gathered,
        batch=batch,
        decided=gathered,
        more=True,
    )


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"
