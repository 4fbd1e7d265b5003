"""How an answer is made: in the thread that computed it, as JSON without anything that is no number."""

import json
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.responses import Response

from driftpace.campaign import Campaign
from driftpace.campaign.summary import named
from driftpace.errors import ProtocolError
from driftpace.service.bodies import NAME_PATTERN

CampaignName = Annotated[str, Path(pattern=NAME_PATTERN, max_length=100, description="The name of the campaign.")]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]


def as_json(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode(), status_code=status, media_type="application/json", headers=headers)


def require_period(campaign: Campaign, period: int | None, verb: str) -> Campaign:
    """Return a campaign whose open period is the one that somebody looked at, or refuse: they mean another order."""
    if period is not None:
        status = campaign.status()
        if status.order is None or status.order.period != period:
            key = None if status.order is None else status.order.key
            now = f"{named(status.period, key)} is {'not asked for yet' if status.order is None else 'open'}"
            raise ProtocolError(f"{verb}() came for period {period}, which is not the open one; {now}.")
    return campaign
