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


def values_with(state: CampaignState, money: object, periods: int, prices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the budget with ``money`` and ``periods`` added, at new prices if any are given.

    A campaign without a budget gets one for that many periods, the open one included.
    """
    unknown = next((name for name in prices if name not in _PRICES), None)
    if unknown is not None:
        raise ParameterError(f"must be one of {', '.join(_PRICES)}.", owner=_OWNER, name=unknown)
    before = state.definition.budget
    if before is None and state.method.budget is not None:
        raise ProtocolError(
            "add_money() cannot change the budget of an adopted tracker; use Tracker.load(path, budget=...) instead."
        )
    if before is None:
        if periods < 1:
            raise ParameterError(
                f"must be at least 1 for a campaign without a budget; got {periods}.",
                owner=_OWNER,
                name="periods",
            )
        before = {"total": 0, "horizon": state.state.period - 1}
    given = {name: one for name, one in prices.items() if one is not None}
    over = {"tiers": "per_sample", "per_sample": "tiers"}  # each replaces the other
    kept = {name: one for name, one in before.items() if over.get(name) not in given}
    values = {**kept, **given}
    total = _decimal(before["total"]) + _decimal(money)
    if total < 0:
        raise ParameterError(
            f"must not take away more than the total budget, {before['total']}; got {money}.",
            owner=_OWNER,
            name="money",
        )
    values["total"] = format(total, "f")
    values["horizon"] = int(before["horizon"]) + periods
    return values


def _decimal(value: object) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or abs(amount.adjusted()) > _LONGEST:
        raise ParameterError(f"must be an amount of money; got {value!r:.80}.", owner=_OWNER, name="money")
    return amount


def fund(
    state: CampaignState,
    draft: Draft,
    money: object,
    *,
    periods: int,
    prices: Mapping[str, Any],
    reason: str,
    who: str,
) -> CampaignState:
    """Change the budget, and compute the order of an open period again."""
    values = values_with(state, money, periods, prices)
    order = state.state.order
    body = {"period": state.state.period, "budget": values, "money": str(money), "periods": periods}
    draft.add("budgeted", {**body, "reason": reason, "who": who})
    state = budgeted(state, values)
    if state.opened is None:
        return state
    return ask_again(state, draft, who=who, pool=None if order is None else order.pool)


def amend(state: CampaignState, draft: Draft, unknown_categories: object, *, reason: str, who: str) -> CampaignState:
    """Map unknown categories; nothing is written if the mapping is already in effect."""
    given = check_unknown_categories(_AMEND, unknown_categories, state.definition.categories)
    if not given:
        raise ParameterError("must name at least one column; got none.", owner=_AMEND, name="unknown_categories")
    after = amended(state, given)
    if after.definition == state.definition:
        return state
    draft.add("amended", {"period": state.state.period, "unknown_categories": given, "reason": reason, "who": who})
    return after
