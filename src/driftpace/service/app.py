"""The application: routes, the layers around them, and one shape for what goes wrong."""

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response

from driftpace.errors import DriftpaceError, StorageError
from driftpace.service.access import Access
from driftpace.service.bodiless import Bodiless
from driftpace.service.early import Early
from driftpace.service.failures import Refused, of_driftpace, of_http, retry_after
from driftpace.service.guard import Guard
from driftpace.service.limits import Limits
from driftpace.service.parts import Service
from driftpace.service.receiving import Receiving
from driftpace.service.refusing import refusal
from driftpace.service.requestlog import RequestLog
from driftpace.service.routes import amend, budget, campaigns, deliveries, health, hooks, orders, plans, session
from driftpace.service.validation import of_validation
from driftpace.storage.base import Store

_PAGES = "driftpace.service.dashboard.routes"


def create_app(
    store: Store, *, access: Access | None = None, limits: Limits | None = None, dashboard: bool = True
) -> FastAPI:
    """Return the service over an opened store, as an ASGI application.

    ``access`` says where it listens, and so who needs a token; by default it is for the machine it runs on. The store stays the
    caller's: closing it is up to them.

    >>> from driftpace.storage import MemoryStore
    >>> app = create_app(MemoryStore(), dashboard=False)
    >>> sorted(app.openapi()["paths"])[:2]
    ['/api/campaigns', '/api/campaigns/{name}']
    """
    access = Access() if access is None else access
    service = Service.of(store, access, Limits() if limits is None else limits)
    app = FastAPI(
        title="driftpace",
        summary="How many fresh labels to buy each period so that a model of a drifting world keeps its accuracy.",
        version=version("driftpace"),
        docs_url=None,  # it would load scripts from afar
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
        middleware=[
            Middleware(Early),
            Middleware(RequestLog, metrics=service.metrics),
            Middleware(Guard, service=service),
            Middleware(Receiving, limits=service.limits),
            Middleware(Bodiless),
        ],
    )
    app.state.service = service
    if dashboard:
        _add_pages(app)
    for part in (campaigns, amend, orders, budget, deliveries, plans, hooks, health, session):
        app.include_router(part.router)
    _add_failures(app, service)
    _describe(app)
    return app


def _add_pages(app: FastAPI) -> None:
    if find_spec(_PAGES) is None:
        return
    module = import_module(_PAGES)
    if hasattr(module, "pages"):
        module.pages(app)
    else:
        app.include_router(module.router)


def _add_failures(app: FastAPI, service: Service) -> None:
    async def of_own(request: Request, error: Exception) -> Response:
        assert isinstance(error, DriftpaceError)
        if isinstance(error, StorageError):
            service.metrics.store_errors.inc()
        status, code, sentence = of_driftpace(error, store_url=service.store.url)
        return refusal(request.scope, status, code, sentence, retry_after(status))

    async def of_framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if isinstance(error, Refused):
            return refusal(request.scope, error.status_code, error.code, str(error.detail), error.headers)
        code, sentence = of_http(error.status_code, error.detail)
        return refusal(request.scope, error.status_code, code, sentence, error.headers)

    async def of_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return refusal(request.scope, *of_validation(error.errors()))

    app.add_exception_handler(DriftpaceError, of_own)
    app.add_exception_handler(HTTPException, of_framework)
    app.add_exception_handler(RequestValidationError, of_request)


def _describe(app: FastAPI) -> None:
    """Let the description say how a token is shown, and that 422 has the shape of every refusal."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            described = made()
            parts = described.setdefault("components", {})
            parts["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer", "description": "What `driftpace token make` printed."},
                "hook": {"type": "apiKey", "in": "header", "name": "X-Driftpace-Secret", "description": "The same."},
            }
            for name in ("HTTPValidationError", "ValidationError"):
                parts.get("schemas", {}).pop(name, None)
            for path, methods in described["paths"].items():
                for method in methods.values():
                    if path not in ("/healthz", "/readyz"):
                        method["security"] = [{"hook": []}] if "/hooks/" in path else [{"token": []}, {}]
            app.openapi_schema = described
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
