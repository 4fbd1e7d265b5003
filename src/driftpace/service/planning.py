"""Plans within the limits of the service: nobody makes it look further ahead than that."""

from dataclasses import replace
from typing import Any

from driftpace.campaign import Campaign
from driftpace.errors import ParameterError
from driftpace.records import Plan


def plan_within(campaign: Campaign, longest: int, **wanted: Any) -> Plan:
    """Return a plan of at most ``longest`` periods; money without a horizon is planned for as long as it lasts, up to that."""
    horizon, budget = wanted.get("horizon"), wanted.get("budget")
    if horizon is not None and horizon > longest:
        raise ParameterError(f"must be at most {longest} periods here; got {horizon}.", owner="plan", name="horizon")
    if horizon is None and budget is not None:
        far = campaign.plan(**{**wanted, "horizon": longest, "gap": "largest"})
        if far.holds:
            return replace(far, reason=f"the budget holds the target for {longest} periods and more")
    if horizon is None and budget is None:
        own, period = campaign.definition.budget, campaign.status().period
        if own is not None and int(own["horizon"]) - period + 1 > longest:
            raise ParameterError(
                f"must be given, and at most {longest} periods here; got none.",
                owner="plan",
                name="horizon",
            )
    return campaign.plan(**wanted)
