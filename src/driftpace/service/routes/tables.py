"""Routes that read tables: draw rows to label from a pool, infer a definition from a table, and check one."""

import shlex
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from driftpace.backtest.check import check_table
from driftpace.backtest.check_result import TableCheck
from driftpace.backtest.check_text import check_lines
from driftpace.campaign import Campaign
from driftpace.campaign.inference import infer_settings
from driftpace.campaign.sampling import Sample
from driftpace.campaign.serialization import cell_json
from driftpace.errors import DataError, ParameterError
from driftpace.service.check_schemas import CheckResponse
from driftpace.service.errors import error_responses
from driftpace.service.reading import Arrays
from driftpace.service.request_schemas import CampaignName, ColumnName, ColumnNames, Sheet
from driftpace.service.response_schemas import PoolResponse, SampleResponse, SchemaResponse, json_response
from driftpace.service.state import caller_name, service_of
from driftpace.service.uploads import Upload, read_ahead, read_rows, read_upload, receive_upload, table_body
from driftpace.service.workers import run_cancellable
from driftpace.tables.columns import Column

router = APIRouter(prefix="/api")

_ERRORS = error_responses(400, 404, 408, 409, 413, 415, 422)


@router.post(
    "/campaigns/{name}/sample",
    tags=["deliveries"],
    response_model=SampleResponse,
    responses=_ERRORS,
    openapi_extra=table_body(required=True),
)
async def sample(
    request: Request,
    name: CampaignName,
    strata: Annotated[str | None, Query(min_length=1, max_length=200, description="Column to stratify by.")] = None,
    choose: Annotated[
        Literal["uniform", "stratified", "informative"],
        Query(description="Draw all rows alike, in proportion to their predictions, or informative ones more often."),
    ] = "uniform",
    sheet: Sheet = None,
) -> Response:
    """Draw the rows to label from a pool, and record them in the log, so that none is drawn twice in a period.

    When all rows of the order are drawn, those still without a label are returned again.
    """
    service, who = service_of(request), caller_name(request)
    upload = _require_rows(await receive_upload(request, sheet), "sample")

    ahead = await read_ahead(request, name, upload, owner="sample")

    def change(campaign: Campaign) -> Response:
        pool = read_rows(service, upload, campaign, ahead, owner="sample")
        if isinstance(pool, Arrays):
            raise DataError("must be a table with named columns; got X.", owner="sample", name="body")
        drawn = campaign.sample(pool, strata=strata, choose=choose, source=upload.source, who=who)
        return json_response(_sample_json(drawn))

    return await service.change(name, change)


@router.post(
    "/campaigns/{name}/pool",
    tags=["campaigns"],
    response_model=PoolResponse,
    responses=_ERRORS,
    openapi_extra=table_body(required=True),
)
async def fit_pool(request: Request, name: CampaignName, sheet: Sheet = None) -> Response:
    """Learn from unlabelled rows along which directions texts or many columns vary, before the first order; they are not stored."""
    service, who = service_of(request), caller_name(request)
    upload = _require_rows(await receive_upload(request, sheet), "pool")

    ahead = await read_ahead(request, name, upload, owner="pool")

    def change(campaign: Campaign) -> Response:
        pool = read_rows(service, upload, campaign, ahead, owner="pool")
        if isinstance(pool, Arrays):
            raise DataError("must be a table with named columns; got X.", owner="pool", name="body")
        found = campaign.fit_pool(pool, source=upload.source, who=who)
        return json_response({**asdict(found), "sentence": found.sentence})

    return await service.change(name, change)


@router.post(
    "/schema",
    tags=["campaigns"],
    response_model=SchemaResponse,
    responses=_ERRORS,
    openapi_extra=table_body(required=True),
)
async def schema(
    request: Request,
    target: Annotated[str, Query(min_length=1, max_length=200, description="Column to predict.")],
    sheet: Sheet = None,
) -> Response:
    """Infer the definition of a campaign from a table: row ID, classes, features and categories; nothing is changed."""
    upload = _require_rows(await receive_upload(request, sheet), "schema")
    columns = await read_upload(request, upload, owner="schema")

    def compute() -> Response:
        return json_response(_infer(columns(), upload, target))

    return await run_cancellable(request, service_of(request).plans, compute)


@router.post(
    "/check",
    tags=["campaigns"],
    response_model=CheckResponse,
    responses=_ERRORS,
    openapi_extra=table_body(required=True),
)
async def check(  # noqa: PLR0913  the parameters of the request
    request: Request,
    period: Annotated[
        str | None,
        Query(min_length=1, max_length=200, description="Column of the period, or such as date:month or :500."),
    ] = None,
    target: Annotated[ColumnName, Query(description="Column to predict.")] = None,
    features: Annotated[ColumnNames, Query(description="Columns to predict from.")] = None,
    exclude: Annotated[ColumnNames, Query(description="Columns not to predict from.")] = None,
    groups: Annotated[ColumnName, Query(description="Column with the group of a row.")] = None,
    weight: Annotated[ColumnName, Query(description="Column with what a row counts for.")] = None,
    calendar: Annotated[ColumnNames, Query(description="Features to make of dates: month, weekday, hour.")] = None,
    dayfirst: Annotated[
        Literal["true", "false"] | None, Query(description="Whether 03/04/2010 is 3 April; the other dates decide.")
    ] = None,
    sheet: Sheet = None,
) -> Response:
    """Say what driftpace would make of a table: periods, target, features, leakage, drift, labels a period; nothing is kept."""
    upload = _require_rows(await receive_upload(request, sheet), "check")
    columns = await read_upload(request, upload, owner="check")

    def compute() -> Response:
        found = check_table(
            columns(),
            period=period,
            target=target,
            features=features,
            exclude=exclude or (),
            groups=groups,
            weight=weight,
            calendar=calendar or (),
            dayfirst=None if dayfirst is None else dayfirst == "true",
        )
        return json_response(_check_json(found, upload))

    return await run_cancellable(request, service_of(request).plans, compute)


def _check_json(found: TableCheck, upload: Upload) -> dict[str, Any]:
    file = upload.name or "FILE"
    words = () if upload.sheet is None else ("--sheet", upload.sheet)
    found = replace(found, name=file, arguments=(*found.arguments, *words))
    lines = [{"label": label, "text": text} for label, text in check_lines(found, shlex.quote(file))]
    return {**found.to_values(shlex.quote(file)), "lines": lines}


def _require_rows(upload: Upload, owner: str) -> Upload:
    if not upload.data:
        raise ParameterError("must contain rows; it is empty.", owner=owner, name="body")
    return upload


def _infer(columns: dict[str, Column], upload: Upload, target: str) -> dict[str, Any]:
    values, notes = infer_settings({"target": target}, columns, source=upload.name or "the table")
    return {
        "definition": {name: value for name, value in values.items() if value is not None},
        "notes": [{"topic": note.topic, "text": note.text} for note in notes],
    }


def _sample_json(drawn: Sample) -> dict[str, Any]:
    columns = {name: [cell_json(value) for value in values] for name, values in drawn.rows().items()}
    return {
        "ids": list(drawn.ids),
        "weights": None if drawn.weights is None else drawn.weights.tolist(),
        "rows": [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)],
        "new": drawn.new,
        "eligible": drawn.eligible,
        "pool_rows": drawn.pool_rows,
        "skipped": drawn.skipped,
        "invalid": dict(drawn.invalid),
        "sentence": drawn.sentence,
    }
