"""How an answer is made: in the thread that computed it, as JSON without anything that is no number."""

import json
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.responses import Response

from driftpace.service.bodies import NAME_PATTERN

CampaignName = Annotated[str, Path(pattern=NAME_PATTERN, max_length=100, description="The name of the campaign.")]
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]


def as_json(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return an answer."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode(), status_code=status, media_type="application/json", headers=headers)
