"""The status of a fleet campaign, and the summary that lists of campaigns show."""

from typing import Any

from driftpace.campaign.fleet.records import FleetStatus
from driftpace.campaign.fleet.state import FleetCampaignState
from driftpace.campaign.records import Stage
from driftpace.campaign.status import ARCHIVED
from driftpace.campaign.text import period_name
from driftpace.formatting import plural


def stage(state: FleetCampaignState) -> Stage:
    """Return the stage of the campaign."""
    order = state.order
    if order is None:
        return Stage.ASK
    return Stage.LABELS if order.missing else Stage.CLOSE


def todo(state: FleetCampaignState) -> str:
    """Return the next step as a sentence."""
    if state.archived:
        return ARCHIVED
    order = state.order
    if order is None:
        return f"Ask how many rows of each segment period {state.fleet.period} needs."
    which = period_name(order.period, order.key)
    if not len(state.table):
        return f"Deliver rows of the first segments for {which}."
    if order.missing:
        more = "more " if order.received else ""
        waiting = plural(len(state.table.missing), "segment")
        return f"Label {order.missing:,} {more}row{'s' if order.missing != 1 else ''} of {waiting} for {which}."
    if order.received:
        return f"All rows of {which} are labelled: close it."
    return f"No rows to label in {which}: close it at its end."


def target(state: FleetCampaignState) -> str:
    """Return the target of each segment as a phrase."""
    method = state.fleet.method
    phrase = "" if method.epsilon is None else f"excess loss at most {method.epsilon:.3g}"
    if method.tolerance is not None:
        phrase = f"loss within {100.0 * method.tolerance:.3g} % of the best"
    if method.metric is not None:
        phrase = method.metric.goal
    how = "on average" if method.confidence is None else f"with probability {method.confidence:.3g}"
    return f"{phrase}, {how}, in each segment"


def status(state: FleetCampaignState, *, updated_at: str) -> FleetStatus:
    """Return the current status."""
    return FleetStatus(
        name=state.definition.name,
        period=state.fleet.period,
        stage=stage(state),
        todo=todo(state),
        target=target(state),
        order=state.order,
        last=state.last,
        segments=state.table,
        rows=state.rows,
        entries=state.seq,
        created_at=state.created_at,
        updated_at=updated_at,
        archived=state.archived,
    )


def summary(state: FleetCampaignState) -> dict[str, Any]:
    """Return the plain values that a list of campaigns shows; ``segments`` marks a fleet, and counts its segments by kind."""
    order, totals, last = state.order, state.table.totals(), state.last
    met = None
    if last is not None:
        met = {
            "promised": last.not_met == 0,
            "outcome": f"{last.not_met:,} of {plural(last.segments, 'segment')} not met",
        }
    return {
        "period": state.fleet.period,
        "key": None if order is None else order.key,
        "stage": stage(state).value,
        "todo": todo(state),
        "target": target(state),
        "missing": 0 if order is None else order.missing,
        "received": 0 if order is None else order.received,
        "rows": state.rows,
        "failed": totals.failed > 0,
        "exhausted": False,
        "last": met,
        "cost": None,
        **dict.fromkeys(("spent", "committed", "money_left")),
        "delay": None,
        "description": state.definition.description,
        "segments": totals.to_values(),
        **({"archived": True} if state.archived else {}),
    }
