"""Closing a period: its rows are fitted, the model is certified, and what was promised stands beside what was measured."""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from driftpace.campaign import fold
from driftpace.campaign.folded import Folded, decision_to_plain, fingerprint, request_to_plain
from driftpace.campaign.records import DECIDED, Served
from driftpace.campaign.writing import Draft
from driftpace.losses import classifies
from driftpace.records import StepReport
from driftpace.storage.codec import encode
from driftpace.tracker.branching import chosen


def close(folded: Folded, draft: Draft, *, who: str, why: str) -> tuple[Folded, StepReport]:
    """Fit the rows of the period, certify the model, and let the rows go where they are not kept."""
    opened, order = folded.opened, folded.order
    assert opened is not None
    assert order is not None
    served = served_by(folded)
    period = str(order.period)
    draft.add(
        "closed",
        {
            "period": order.period,
            "key": opened.key,
            "samples": order.samples,
            "came": order.came,
            "request": request_to_plain(opened.request),
            **{name: decision_to_plain(getattr(opened, name)) for name in DECIDED if getattr(opened, name)},
            "why": why,
            "who": who,
        },
        key=period,
    )
    began = time.perf_counter()
    after, report = fold.closed(folded)
    report = replace(report, seconds=time.perf_counter() - began)
    after = replace(after, last=report)
    coef = after.state.coef
    draft.add(
        "fitted",
        {
            "period": report.period,
            "rows": report.samples,
            "coef": [] if coef is None else coef.tolist(),
            "sha256": fingerprint(after),
        },
        key=period,
    )
    draft.add("certified", {"report": encode(report), "served": _served_to_plain(served)}, key=period)
    if not folded.definition.keep_rows:
        draft.drop((*opened.deliveries, *opened.draws))
    return after, report


def served_by(folded: Folded) -> Served | None:
    """Try the model that was in use on the rows of the period, before it learns from them; None where either is missing."""
    settings, state = chosen(folded.settings, folded.state)
    if folded.last is None or state.coef is None or not state.parts:
        return None
    X = np.concatenate([part.X for part in state.parts])
    y = np.concatenate([part.y for part in state.parts])
    loss = replace(settings.objective, l2=0.0)  # type: ignore[type-var]
    with np.errstate(all="ignore"):
        values = loss.row_values(state.coef, X, y)
        mean = float(values.mean())
        error = float(values.std(ddof=1) / math.sqrt(len(y))) if len(y) > 1 else math.inf
    if not math.isfinite(mean):
        return None
    accuracy = float((loss.predict(state.coef, X) == y).mean()) if classifies(settings.loss) else None
    return Served(rows=len(y), loss=mean, error=error, accuracy=accuracy)


def _served_to_plain(served: Served | None) -> dict[str, Any] | None:
    if served is None:
        return None
    held = {name: getattr(served, name) for name in Served.__slots__}
    return {**held, "error": encode(served.error)}
