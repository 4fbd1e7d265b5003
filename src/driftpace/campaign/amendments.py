"""Change a running campaign: add money to its budget, and map unknown categories."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from driftpace.campaign.definition import check_unknown_categories
from driftpace.campaign.handle import Draft
from driftpace.campaign.orders import ask_again
from driftpace.campaign.state import CampaignState
from driftpace.campaign.transitions import amended, budgeted
from driftpace.errors import ParameterError, ProtocolError

_OWNER = "Campaign.add_money"
_AMEND = "Campaign.amend"
_LONGEST = 30
_PRICES = ("fixed", "per_sample", "tiers", "minimum", "currency")


def values_with(folded: CampaignState, money: object, periods: int, prices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the budget of the definition with ``money`` more for ``periods`` more, at other prices where any are given.

    A campaign that had no budget has one for as many periods as are given, from the open one on.
    """
    unknown = next((name for name in prices if name not in _PRICES), None)
    if unknown is not None:
        raise ParameterError(f"must be one of {', '.join(_PRICES)}.", owner=_OWNER, name=unknown)
    before = folded.definition.budget
    if before is None and folded.method.budget is not None:
        raise ProtocolError(
            "add_money() came for a campaign of a tracker that has a budget of its own; Tracker.load(path, budget=...) tops it up."
        )
    if before is None:
        if periods < 1:
            raise ParameterError(
                f"must be 1 at least where there was no budget; got {periods}.",
                owner=_OWNER,
                name="periods",
            )
        before = {"total": 0, "horizon": folded.state.period - 1}
    given = {name: one for name, one in prices.items() if one is not None}
    over = {"tiers": "per_sample", "per_sample": "tiers"}  # each stands in the place of the other
    kept = {name: one for name, one in before.items() if over.get(name) not in given}
    values = {**kept, **given}
    values["total"] = format(_decimal(before["total"]) + _decimal(money), "f")
    values["horizon"] = int(before["horizon"]) + periods
    return values


def _decimal(value: object) -> Decimal:
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or abs(found.adjusted()) > _LONGEST:
        raise ParameterError(f"must be an amount of money; got {value!r:.80}.", owner=_OWNER, name="money")
    return found


def fund(
    folded: CampaignState,
    draft: Draft,
    money: object,
    *,
    periods: int,
    prices: Mapping[str, Any],
    reason: str,
    who: str,
) -> CampaignState:
    """Give the campaign another budget, and make the order of an open period anew."""
    values = values_with(folded, money, periods, prices)
    order = folded.state.order
    body = {"period": folded.state.period, "budget": values, "money": str(money), "periods": periods}
    draft.add("budgeted", {**body, "reason": reason, "who": who})
    folded = budgeted(folded, values)
    if folded.opened is None:
        return folded
    return ask_again(folded, draft, who=who, pool=None if order is None else order.pool)


def amend(folded: CampaignState, draft: Draft, unknown_categories: object, *, reason: str, who: str) -> CampaignState:
    """Amend the campaign; where all of it holds already, nothing is written."""
    given = check_unknown_categories(_AMEND, unknown_categories, folded.definition.categories)
    if not given:
        raise ParameterError("must name one column at least; got none.", owner=_AMEND, name="unknown_categories")
    after = amended(folded, given)
    if after.definition == folded.definition:
        return folded
    draft.add("amended", {"period": folded.state.period, "unknown_categories": given, "reason": reason, "who": who})
    return after
