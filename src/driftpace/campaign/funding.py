"""More money for a campaign: another budget from the open period on, with what was spent still spent."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

from driftpace.campaign.definition import Definition
from driftpace.campaign.folded import Folded
from driftpace.errors import ParameterError, ProtocolError
from driftpace.tracker.branches import BranchedState
from driftpace.tracker.branching import chosen
from driftpace.tracker.parts import check_method
from driftpace.tracker.state import Settings, State

_OWNER = "Campaign.add_money"
_LONGEST = 30
_PRICES = ("fixed", "per_sample", "tiers", "minimum", "currency")


def values_with(folded: Folded, money: object, periods: int, prices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the budget of the definition with ``money`` more for ``periods`` more, at other prices where any are given.

    A campaign that had no budget has one for as many periods as are given, from the open one on.
    """
    unknown = next((name for name in prices if name not in _PRICES), None)
    if unknown is not None:
        raise ParameterError(f"must be one of {', '.join(_PRICES)}.", owner=_OWNER, name=unknown)
    before = folded.definition.budget
    if before is None and chosen(folded.settings, folded.state)[0].budget is not None:
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


def budgeted(folded: Folded, values: Mapping[str, Any]) -> Folded:
    """Give the campaign another budget; the order of an open period is to be made anew."""
    definition = Definition.of({**folded.definition.to_values(), "budget": dict(values)})
    budget = definition.make_budget()
    settings = folded.settings
    if isinstance(settings, Settings):
        settings = replace(settings, budget=budget)
        check_method(_OWNER, settings)
    else:
        settings = replace(settings, settings=tuple(replace(one, budget=budget) for one in settings.settings))
        for one in settings.settings:
            check_method(_OWNER, one)
    return replace(folded, definition=definition, settings=settings, state=_unordered(folded.state))


def _unordered(state: State | BranchedState) -> State | BranchedState:
    if isinstance(state, State):
        return replace(state, order=None)
    return replace(state, states=tuple(replace(one, order=None) for one in state.states))


def _decimal(value: object) -> Decimal:
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or abs(found.adjusted()) > _LONGEST:
        raise ParameterError(f"must be an amount of money; got {value!r:.80}.", owner=_OWNER, name="money")
    return found
