"""Hooks: what a labelling tool sends by itself, when somebody has labelled a row.

The secret in ``X-Driftpace-Secret`` is a token with the scope ``hook``, which is good for nothing else; the door has looked at it.
"""

import hashlib
import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from driftpace.campaign import Campaign, Receipt
from driftpace.labelling.webhook import SECRET_HEADER, parse_webhook
from driftpace.service.answers import HookAnswer
from driftpace.service.delivered import words_of
from driftpace.service.failures import declared
from driftpace.service.parts import service_of, who
from driftpace.service.routes.answering import CampaignName, as_json
from driftpace.tables.label_studio import ROW_FOR, ROW_ID
from driftpace.tables.limits import TableLimits
from driftpace.tables.read import read_columns

router = APIRouter(prefix="/api/hooks", tags=["hooks"])

_PAYLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "object", "required": ["action"], "properties": {"action": {"type": "string"}}}
            }
        },
    }
}


@router.post(
    "/label-studio/{name}",
    response_model=HookAnswer,
    responses=declared(400, 404, 408, 409, 413, 422),
    openapi_extra=_PAYLOAD,
)
async def label_studio(request: Request, name: CampaignName) -> Response:
    """Take what Label Studio sends when a row was labelled; a row that is sent again is not counted again."""
    service, by = service_of(request), who(request)
    body = await request.body()

    def run() -> tuple[Response, Receipt | None]:
        campaign = service.handles.campaign(name)
        known = "x" * 16  # who it is from was settled at the door
        call = parse_webhook(body, {SECRET_HEADER: known}, known, target=campaign.definition.target)
        drawn = set(campaign.drawn())
        rows = [row for row in call.rows if not drawn or row[ROW_ID] in drawn]  # others were for another period
        receipt = _tell(campaign, call.project, rows, service.limits.tables, by) if rows else None
        order = None if receipt is None else receipt.order
        counted = 0 if receipt is None else receipt.rows
        said = {
            "action": call.action,
            "rows": counted,
            "missing": None if order is None else order.missing,
            "closed": order is not None and order.closed,
        }
        return as_json(said), receipt

    answer, receipt = await service.fits.run(run)
    if receipt is not None:
        service.metrics.told(receipt)
        service.watch.changed(name)
    return answer


def _tell(campaign: Campaign, project: int | None, rows: list[dict[str, Any]], limits: TableLimits, by: str) -> Receipt:
    definition = campaign.definition
    data = json.dumps(rows).encode()
    as_text = words_of(definition)
    columns = read_columns(data, kind="json", limits=limits, owner="hooks", as_text=as_text, target=definition.target)
    ids = sorted(f"{row.get(ROW_FOR)} {row[ROW_ID]}" for row in rows)
    called = hashlib.sha256(json.dumps(ids).encode()).hexdigest()
    delivery = f"label-studio:{project}:{called}"
    return campaign.tell_table(columns, delivery=delivery, source="Label Studio", who=by)
