"""The status of a fleet campaign, and the summary that lists of campaigns show."""

from typing import Any

from driftpace.campaign.fleet.records import FleetStatus
from driftpace.campaign.fleet.state import FleetCampaignState
from driftpace.campaign.records import EXHAUSTED, Stage
from driftpace.campaign.status import ARCHIVED
from driftpace.campaign.text import period_name
from driftpace.formatting import plural
from driftpace.records import Money


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
    if order.code == EXHAUSTED:
        return f"The budget pays for no more rows in {which}: close it, or add money."
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
    own = len(state.definition.epsilons)
    exceptions = f", {plural(own, 'segment')} with {'a target' if own == 1 else 'targets'} of {'its' if own == 1 else 'their'} own"
    return f"{phrase}, {how}, in each segment{exceptions if own else ''}"


def money(state: FleetCampaignState) -> dict[str, Money | None]:
    """Return the money fields of :class:`FleetStatus`; None without a budget."""
    budget, opened = state.fleet.budget, state.opened
    if budget is None:
        return dict.fromkeys(("spent", "committed", "money_left"))
    spent = Money(state.fleet.spent, budget.currency)
    left = budget.money - spent if opened is None or opened.money_left is None else opened.money_left
    return {"spent": spent, "committed": budget.money - spent - left, "money_left": left}


def status(state: FleetCampaignState, *, updated_at: str) -> FleetStatus:
    """Return the current status."""
    return FleetStatus(
        name=state.definition.name,
        period=state.fleet.period,
        stage=stage(state),
        todo=todo(state),
        target=target(state),
        borrow=state.fleet.borrowing.parts,
        order=state.order,
        last=state.last,
        segments=state.table,
        rows=state.rows,
        **money(state),
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
        "exhausted": order is not None and order.code == EXHAUSTED,
        "last": met,
        "cost": None if order is None or order.cost is None else str(order.cost),
        **{name: None if amount is None else str(amount) for name, amount in money(state).items()},
        "delay": None,
        "description": state.definition.description,
        "segments": totals.to_values(),
        **({"archived": True} if state.archived else {}),
    }
