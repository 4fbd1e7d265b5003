"""Where a campaign stands, in a few plain facts and one sentence: what a list shows without opening anything."""

from typing import Any

from driftpace.campaign.records import EXHAUSTED, FAILED, Stage, Status
from driftpace.campaign.state import CampaignState
from driftpace.records import Money


def stage(folded: CampaignState) -> Stage:
    """Return what the campaign waits for."""
    order = folded.order
    if order is None:
        return Stage.ASK
    return Stage.LABELS if order.missing > 0 else Stage.CLOSE


def named(period: int, key: str | None) -> str:
    """Return a period as people call it.

    >>> named(3, "2026-W46"), named(3, None)
    ('period 3 (2026-W46)', 'period 3')
    """
    return f"period {period}" if key is None else f"period {period} ({key})"


def todo(folded: CampaignState) -> str:
    """Return what to do now, as a sentence."""
    order = folded.order
    if order is None:
        return f"Ask how many rows period {folded.state.period} needs."
    which = named(order.period, order.key)
    if order.missing > 0:
        more = "more " if order.received else ""
        return f"Label {order.missing:,} {more}row{'s' if order.missing != 1 else ''} for {which}."
    if order.code == EXHAUSTED and order.received:
        return f"All rows came that the budget has for {which}: close it, add money, or override it."
    if order.code == EXHAUSTED:
        return f"The budget has nothing for the rows that {which} needs: close it without, add money, or override it."
    if order.received:
        return f"Enough rows came for {which}: close it."
    return f"Nothing to label in {which}: close it when it is over."


def target(folded: CampaignState) -> str:
    """Return what was asked for, in words."""
    method = folded.method
    said = f"at most {method.epsilon:.3g} above the best" if method.epsilon is not None else ""
    if method.tolerance is not None:
        said = f"within {100.0 * method.tolerance:.3g} % of the best loss"
    return f"{said}, on average" if method.confidence is None else f"{said}, with probability {method.confidence:.3g}"


def money(folded: CampaignState) -> dict[str, Money | None]:
    """Return the money of :class:`Status` by its names; None without a budget."""
    spending = folded.method.spending(folded.state)
    if spending is None:
        return dict.fromkeys(("spent", "committed", "money_left", "to_plan"))
    gathered = folded.state.gathered
    return {
        "spent": Money(spending.spent, spending.budget.money.currency),
        "committed": spending.budget.price(gathered),
        "money_left": spending.left_after(gathered),
        "to_plan": spending.left,
    }


def status(folded: CampaignState, *, updated_at: str) -> Status:
    """Return where the campaign stands."""
    return Status(
        name=folded.definition.name,
        period=folded.state.period,
        stage=stage(folded),
        todo=todo(folded),
        target=target(folded),
        order=folded.order,
        last=folded.last,
        rows=folded.rows,
        **money(folded),
        keep_rows=folded.definition.keep_rows,
        entries=folded.seq,
        created_at=folded.created_at,
        updated_at=updated_at,
    )


def summary(folded: CampaignState) -> dict[str, Any]:
    """Return the plain facts that a list of campaigns shows."""
    order, last = folded.order, folded.last
    return {
        "period": folded.state.period,
        "key": None if order is None else order.key,
        "stage": stage(folded).value,
        "todo": todo(folded),
        "target": target(folded),
        "missing": 0 if order is None else order.missing,
        "received": 0 if order is None else order.received,
        "rows": folded.rows,
        "failed": order is not None and order.code == FAILED,
        "exhausted": order is not None and order.code == EXHAUSTED,
        "last": None if last is None else {"promised": last.outcome.promised, "outcome": last.outcome.sentence},
        "cost": None if order is None or order.cost is None else str(order.cost),
        **{name: None if one is None else str(one) for name, one in money(folded).items() if name != "to_plan"},
        "description": folded.definition.description,
    }
