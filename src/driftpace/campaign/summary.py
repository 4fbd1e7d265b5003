"""The status of a campaign: its stage, the next step as a sentence, and the summary for lists."""

from typing import Any

from driftpace.campaign.records import EXHAUSTED, FAILED, Stage, Status
from driftpace.campaign.state import CampaignState
from driftpace.campaign.text import period_name
from driftpace.records import Money


def stage(campaign: CampaignState) -> Stage:
    """Return the stage of the campaign."""
    order = campaign.order
    if order is None:
        return Stage.ASK
    return Stage.LABELS if order.missing > 0 else Stage.CLOSE


def todo(campaign: CampaignState) -> str:
    """Return the next step as a sentence."""
    order = campaign.order
    if order is None:
        return f"Ask how many rows period {campaign.state.period} needs."
    which = period_name(order.period, order.key)
    if order.missing > 0:
        more = "more " if order.received else ""
        return f"Label {order.missing:,} {more}row{'s' if order.missing != 1 else ''} for {which}."
    if order.code == EXHAUSTED and order.received:
        return f"All rows that the budget covers for {which} are received: close it, add money, or override the order."
    if order.code == EXHAUSTED:
        return f"The budget cannot pay for the rows that {which} needs: close it without labels, add money, or override the order."
    if order.received:
        return f"All rows of {which} are labelled: close it."
    return f"No rows to label in {which}: close it at its end."


def target(campaign: CampaignState) -> str:
    """Return the target as a phrase."""
    method = campaign.method
    phrase = f"excess loss at most {method.epsilon:.3g}" if method.epsilon is not None else ""
    if method.tolerance is not None:
        phrase = f"loss within {100.0 * method.tolerance:.3g} % of the best"
    return (
        f"{phrase}, on average" if method.confidence is None else f"{phrase}, with probability {method.confidence:.3g}"
    )


def money(campaign: CampaignState) -> dict[str, Money | None]:
    """Return the money fields of :class:`Status`; None without a budget."""
    spending = campaign.method.spending(campaign.state)
    if spending is None:
        return dict.fromkeys(("spent", "committed", "money_left", "to_plan"))
    gathered = campaign.state.gathered
    return {
        "spent": Money(spending.spent, spending.budget.money.currency),
        "committed": spending.budget.price(gathered),
        "money_left": spending.left_after(gathered),
        "to_plan": spending.left,
    }


def status(campaign: CampaignState, *, updated_at: str) -> Status:
    """Return the current status."""
    return Status(
        name=campaign.definition.name,
        period=campaign.state.period,
        stage=stage(campaign),
        todo=todo(campaign),
        target=target(campaign),
        order=campaign.order,
        last=campaign.last,
        rows=campaign.rows,
        **money(campaign),
        keep_rows=campaign.definition.keep_rows,
        entries=campaign.seq,
        created_at=campaign.created_at,
        updated_at=updated_at,
    )


def summary(campaign: CampaignState) -> dict[str, Any]:
    """Return the plain values that a list of campaigns shows."""
    order, last = campaign.order, campaign.last
    return {
        "period": campaign.state.period,
        "key": None if order is None else order.key,
        "stage": stage(campaign).value,
        "todo": todo(campaign),
        "target": target(campaign),
        "missing": 0 if order is None else order.missing,
        "received": 0 if order is None else order.received,
        "rows": campaign.rows,
        "failed": order is not None and order.code == FAILED,
        "exhausted": order is not None and order.code == EXHAUSTED,
        "last": None if last is None else {"promised": last.outcome.promised, "outcome": last.outcome.sentence},
        "cost": None if order is None or order.cost is None else str(order.cost),
        **{name: None if one is None else str(one) for name, one in money(campaign).items() if name != "to_plan"},
        "description": campaign.definition.description,
    }
