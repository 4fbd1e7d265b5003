"""The pages: a list of campaigns, one campaign, what-if, downloads. They read; what writes is the service's own REST."""

from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from driftpace.campaign import Campaign
from driftpace.errors import DriftpaceError, StorageError, UnknownCampaignError
from driftpace.service.dashboard import whatif
from driftpace.service.dashboard.assets import assets, kept
from driftpace.service.dashboard.assumed import tally
from driftpace.service.dashboard.fields import fields
from driftpace.service.dashboard.formats import plural
from driftpace.service.dashboard.listing import SHOWN, Page, listed
from driftpace.service.dashboard.rendering import message_page, render
from driftpace.service.dashboard.single import ledger_csv, ledger_text, view
from driftpace.service.failures import of_driftpace, retry_after
from driftpace.service.parts import service_of
from driftpace.service.waiting import while_waited_for

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may do: load from here, and nothing that stands in the page itself runs."""

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Query(max_length=200)]
Number = Annotated[str, Query(max_length=60)]


@router.get("/")
async def campaigns(
    request: Request, search: Text = "", show: Text = "", page: Number = "1", after: Text = ""
) -> Response:
    """Answer with the list, what needs doing first."""
    service = service_of(request)
    show = show if show in SHOWN else ""

    def read() -> str:
        found = listed(service.store, search=search.strip(), show=show, page=_whole(page), after=after)

        def address(**changed: Any) -> str:
            kept = {"search": found.search, "show": found.show, **changed}
            return f"/?{urlencode({name: value for name, value in kept.items() if value})}"

        return render(
            "list.html",
            request,
            page=found,
            shown=SHOWN,
            said=_list_words(found),
            address=address,
            page_address=lambda number: address(page=number),
        )

    return await _page(request, read)


@router.get("/campaigns/{name}")
async def campaign(
    request: Request,
    name: str,
    log: Number = "1",
    epsilon: Number | None = None,
    budget: Number | None = None,
    fixed: Number | None = None,
    per_sample: Number | None = None,
    horizon: Number | None = None,
) -> Response:
    """Answer with one campaign; with what-if values, with the plan for them too."""
    asked = _given(epsilon=epsilon, budget=budget, fixed=fixed, per_sample=per_sample, horizon=horizon)
    service = service_of(request)

    def read() -> str:
        one = service.handles.campaign(name)
        seen, usual, longest = view(one, log_page=_whole(log)), whatif.defaults(one), service.limits.horizon
        return render(
            "campaign.html",
            request,
            view=seen,
            tally=tally(seen.assumptions),
            may_write=request.state.caller is None or request.state.caller.may_write,
            fields=fields(seen.definition, longest=longest),
            usual=usual,
            given=usual | asked,
            outcome=whatif.outcome(one, usual | asked, longest=longest) if asked else None,
            log_address=lambda number: f"?{urlencode(asked | {'log': number})}#log",
        )

    return await _page(request, read, plans=bool(asked))


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
    """Answer with the plan for other values, as the piece of the page that shows it."""
    given = _given(epsilon=epsilon, budget=budget, fixed=fixed, per_sample=per_sample, horizon=horizon)
    service = service_of(request)

    def read() -> str:
        found = whatif.outcome(service.handles.campaign(name), given, longest=service.limits.horizon)
        return render("outcome.html", request, outcome=found)

    return await _page(request, read, plans=True)


@router.get("/campaigns/{name}/ledger.csv")
async def ledger_as_csv(request: Request, name: str) -> Response:
    """Answer with the ledger for a spreadsheet."""
    return await _download(request, name, "csv", lambda one: ledger_csv(one.ledger()))


@router.get("/campaigns/{name}/ledger.json")
async def ledger_as_json(request: Request, name: str) -> Response:
    """Answer with the ledger as JSON."""
    return await _download(request, name, "json", lambda one: ledger_text(one.ledger()))


@router.get("/static/{digest}/{name}")
async def static(digest: str, name: str) -> Response:
    """Answer with a script or a style sheet; an old address gives the new file, which nobody keeps under that address."""
    found = assets().get(name)
    if found is None:
        return Response("there is no such file.\n", status_code=404, media_type="text/plain")
    headers = {"Cache-Control": kept(digest), "X-Content-Type-Options": "nosniff"}
    return Response(found.data, headers={**headers, "Content-Type": found.kind})


async def _page(request: Request, read: Callable[[], str], *, plans: bool = False) -> Response:
    service = service_of(request)
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
    try:
        text = await (while_waited_for(request, service.plans, read) if plans else service.reads.run(read))
        return HTMLResponse(text, headers=headers)
    except DriftpaceError as error:
        status, _, sentence = of_driftpace(error, store_url=service.store.url)
        title = "No such campaign" if isinstance(error, UnknownCampaignError) else "That did not work"
        if isinstance(error, StorageError):
            service.metrics.store_errors.inc()
        said = message_page(request, title=title, sentence=sentence)
        return HTMLResponse(said, status_code=status, headers=headers | retry_after(status))


async def _download(request: Request, name: str, kind: str, write: Callable[[Campaign], str]) -> Response:
    service = service_of(request)
    text = await service.reads.run(lambda: write(service.handles.campaign(name)))
    kinds = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
    headers = {"Content-Disposition": f'attachment; filename="{name}-ledger.{kind}"', "Content-Type": kinds[kind]}
    return Response(text.encode(), headers={**headers, "Cache-Control": "no-store"})


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _list_words(page: Page) -> str:
    if page.total == 0:
        return "There are none in this store."
    urgent = sum(page.needs.get(name, 0) for name in ("look", "money", "labels", "close", "ask"))
    everything = plural(page.total, "campaign")
    if not page.ranked:
        return f"{everything}, by name."
    if page.search or page.show:
        return f"{plural(page.found, 'campaign')} of {page.total:,}."
    return f"{everything}; {urgent:,} need{'s' if urgent == 1 else ''} something today."
