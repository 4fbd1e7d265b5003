"""Routes of the dashboard: the list, the check of a table, one campaign, what-if, downloads and static files.

Pages write through the REST API.
"""

from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from driftpace.campaign import FleetCampaign
from driftpace.campaign.ledger import Ledger
from driftpace.service.dashboard.campaign_list import NEEDS, CampaignList, load_list
from driftpace.service.dashboard.campaign_page import ledger_text, load_page, tally
from driftpace.service.dashboard.fleet_page import FILTERS, SORTS, SegmentQuery, load_fleet_page, load_segment_page
from driftpace.service.dashboard.what_if import defaults, evaluate, fields
from driftpace.service.state import caller_of, campaigns_of, service_of
from driftpace.service.templating import assets, cache_control, plural, render

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""Content security policy of pages: everything from this service, nothing inline."""
PAGE_HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}

router = APIRouter(include_in_schema=False)
static_router = APIRouter(include_in_schema=False)

Text = Annotated[str, Query(max_length=200)]
Number = Annotated[str, Query(max_length=60)]


@router.get("/")
async def campaigns(
    request: Request, search: Text = "", show: Text = "", page: Number = "1", after: Text = ""
) -> Response:
    """Return the list of campaigns, most urgent first."""
    service = service_of(request)
    show = show if show in NEEDS else ""

    def read() -> str:
        content = load_list(campaigns_of(request), search=search.strip(), show=show, page=_integer(page), after=after)

        def address(**changes: Any) -> str:
            query = {"search": content.search, "show": content.show, **changes}
            return f"/?{urlencode({name: value for name, value in query.items() if value})}"

        return render(
            "list.html",
            request,
            page=content,
            needs=NEEDS,
            summary=_list_summary(content),
            address=address,
            page_address=lambda number: address(page=number),
        )

    return HTMLResponse(await service.pages.run(read), headers=PAGE_HEADERS)


@router.get("/check")
async def check(request: Request) -> Response:
    """Return the page that checks a table; its script sends the file to the REST API."""
    return HTMLResponse(render("check.html", request), headers=PAGE_HEADERS)


@router.get("/campaigns/{name}")
async def campaign(  # noqa: PLR0913  the parameters of the request
    request: Request,
    name: str,
    log: Number = "1",
    periods: Number = "1",
    epsilon: Number | None = None,
    budget: Number | None = None,
    fixed: Number | None = None,
    per_sample: Number | None = None,
    horizon: Number | None = None,
    sort: Number = "",
    order: Number = "",
    show: Number = "",
    search: Text = "",
    page: Number = "1",
) -> Response:
    """Return the page of one campaign; with what-if values, with the plan for them. That of a fleet sorts and filters segments."""
    changes = _given(epsilon=epsilon, budget=budget, fixed=fixed, per_sample=per_sample, horizon=horizon)
    service = service_of(request)
    if await service.reads.run(service.is_fleet, name):
        query = SegmentQuery.of(sort=sort, order=order, show=show, search=search, page=_integer(page))
        return await _fleet(request, name, query)

    def read() -> str:
        campaign = service.campaigns.get(name)
        history = service.histories.get(name)
        content = load_page(campaign, history, log_page=_integer(log), history_page=_integer(periods))
        initial, max_horizon = defaults(campaign), service.limits.horizon
        pages = {"log": content.log.page, "periods": content.history.page}

        def address(**page: int) -> str:
            return f"?{urlencode(changes | {part: number for part, number in (pages | page).items() if number > 1})}"

        return render(
            "campaign.html",
            request,
            view=content,
            tally=tally(content.assumptions),
            may=_never if content.status.archived else caller_of(request).may,
            fields=fields(content.definition, max_horizon=max_horizon),
            initial=initial,
            given=initial | changes,
            outcome=evaluate(campaign, initial | changes, max_horizon=max_horizon) if changes else None,
            log_address=lambda number: f"{address(log=number)}#log",
            history_address=lambda number: f"{address(periods=number)}#figures",
        )

    text = await (service.plans if changes else service.pages).run(read)
    return HTMLResponse(text, headers=PAGE_HEADERS)


@router.get("/campaigns/{name}/segments/{segment:path}")
async def segment_page(request: Request, name: str, segment: str) -> Response:
    """Return the page of one segment of a fleet."""

    def read(fleet: FleetCampaign) -> str:
        return render("segment.html", request, view=load_segment_page(fleet, segment))

    return HTMLResponse(await service_of(request).render_fleet(name, read), headers=PAGE_HEADERS)


async def _fleet(request: Request, name: str, query: SegmentQuery) -> Response:
    """Return the page of a fleet."""

    def read(fleet: FleetCampaign) -> str:
        view = load_fleet_page(fleet, query)
        return render(
            "fleet.html",
            request,
            view=view,
            filters=FILTERS,
            sorts=SORTS,
            page_address=lambda number: view.query.address(page=number if number > 1 else ""),
        )

    return HTMLResponse(await service_of(request).render_fleet(name, read), headers=PAGE_HEADERS)


@router.get("/campaigns/{name}/what-if")
async def what_if(
    request: Request,
    name: str,
    epsilon: Number = "",
    budget: Number = "",
    fixed: Number = "",
    per_sample: Number = "",
    horizon: Number = "",
) -> Response:
    """Return the plan for other values, as a fragment of the page."""
    given = _given(epsilon=epsilon, budget=budget, fixed=fixed, per_sample=per_sample, horizon=horizon)
    service = service_of(request)

    def read() -> str:
        outcome = evaluate(service.campaigns.get(name), given, max_horizon=service.limits.horizon)
        return render("outcome.html", request, outcome=outcome)

    return HTMLResponse(await service.plans.run(read), headers=PAGE_HEADERS)


@router.get("/campaigns/{name}/ledger.csv")
async def ledger_as_csv(request: Request, name: str) -> Response:
    """Return the ledger as CSV."""
    return await _download(request, name, "csv", lambda ledger: ledger.to_csv())


@router.get("/campaigns/{name}/ledger.json")
async def ledger_as_json(request: Request, name: str) -> Response:
    """Return the ledger as JSON."""
    return await _download(request, name, "json", ledger_text)


@static_router.get("/static/{digest}/{name}")
async def static(digest: str, name: str) -> Response:
    """Return a static file; an outdated address gives the current file, uncached."""
    asset = assets().get(name)
    if asset is None:
        return Response("no such file.\n", status_code=404, media_type="text/plain")
    headers = {"Cache-Control": cache_control(digest), "X-Content-Type-Options": "nosniff", "Content-Type": asset.kind}
    return Response(asset.data, headers=headers)


async def _download(request: Request, name: str, kind: str, write: Callable[[Ledger], str]) -> Response:
    service = service_of(request)
    text = await service.pages.run(lambda: write(service.histories.get(name).ledger))
    types = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
    headers = {"Content-Disposition": f'attachment; filename="{name}-ledger.{kind}"', "Content-Type": types[kind]}
    return Response(text.encode(), headers={**headers, "Cache-Control": "no-store"})


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _integer(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _never(scope: str) -> bool:  # noqa: ARG001
    """Return False: an archived campaign is not changed."""
    return False


def _list_summary(page: CampaignList) -> str:
    if page.total == 0:
        return "This store has no campaigns."
    urgent = sum(page.needs.get(name, 0) for name in ("look", "money", "labels", "close", "ask"))
    total = plural(page.listed if page.ranked else page.total, "campaign")
    if not page.ranked:
        return f"{total}, by name."
    if page.search or page.show:
        return f"{plural(page.matches, 'campaign')} of {page.total:,}."
    return f"{total}; {urgent:,} need{'s' if urgent == 1 else ''} action."
