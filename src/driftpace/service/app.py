"""The ASGI application: routes, middleware and error handlers."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from driftpace import tracing
from driftpace.errors import DriftpaceError, StorageError
from driftpace.service.access import Access
from driftpace.service.authentication import AuthMiddleware
from driftpace.service.dashboard import routes as dashboard_routes
from driftpace.service.errors import error_response, from_framework, from_library, from_validation
from driftpace.service.limits import ServiceLimits
from driftpace.service.logging import RequestLogMiddleware, TracingMiddleware
from driftpace.service.middleware import (
    AbandonedMiddleware,
    BodyLimitMiddleware,
    DrainBodyMiddleware,
    HeadMiddleware,
)
from driftpace.service.routes import archive, campaigns, deliveries, docs, fleets, orders, system, tables
from driftpace.service.state import Service
from driftpace.storage.base import Store


def create_app(
    store: Store, *, access: Access | None = None, limits: ServiceLimits | None = None, dashboard: bool = True
) -> FastAPI:
    """Return the service over an open store as an ASGI application.

    Parameters
    ----------
    store : Store
        Where the campaigns are; closing it is left to the caller.
    access : Access, optional
        Where the service listens, and so which requests need a token. The default is loopback.
    limits : ServiceLimits, optional
        Limits of the service.
    dashboard : bool
        Whether to serve the dashboard.

    Examples
    --------
    >>> from driftpace.storage import MemoryStore
    >>> app = create_app(MemoryStore(), dashboard=False)
    >>> sorted(app.openapi()["paths"])[:2]
    ['/api/alerts', '/api/campaigns']
    """
    access = Access() if access is None else access
    service = Service.create(store, access, ServiceLimits() if limits is None else limits)
    app = FastAPI(
        title="driftpace",
        summary="How many fresh labels a drifting model needs each period to stay as good as asked.",
        version=version("driftpace"),
        docs_url=None,  # Swagger UI loads scripts from a CDN; routes.docs serves a page without
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
        middleware=[
            Middleware(DrainBodyMiddleware),
            *([Middleware(TracingMiddleware)] if tracing.is_on() else []),
            Middleware(RequestLogMiddleware, metrics=service.metrics, draining=service.draining),
            Middleware(AbandonedMiddleware),
            Middleware(AuthMiddleware, service=service),
            Middleware(BodyLimitMiddleware, limits=service.limits),
            Middleware(HeadMiddleware),
        ],
    )
    app.state.service = service
    modules = (campaigns, orders, deliveries, archive, fleets, tables, system, docs)
    routers = [dashboard_routes.static_router, *([dashboard_routes.router] if dashboard else [])]
    routers += [module.router for module in modules]
    for router in routers:
        app.include_router(router)
    _add_error_handlers(app, service, [route for router in routers for route in router.routes])
    _extend_openapi(app)
    return app


def _add_error_handlers(app: FastAPI, service: Service, routes: Sequence[BaseRoute]) -> None:
    async def library_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, DriftpaceError)
        if isinstance(error, StorageError):
            service.metrics.store_errors.inc()
        return error_response(request.scope, from_library(error))

    async def framework_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        refused = from_framework(error)
        if refused.status_code == 405:
            refused.headers = {**(refused.headers or {}), "Allow": ", ".join(_allowed_methods(routes, request.scope))}
        return error_response(request.scope, refused)

    async def validation_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return error_response(request.scope, from_validation(error.errors()))

    app.add_exception_handler(DriftpaceError, library_error)
    app.add_exception_handler(HTTPException, framework_error)
    app.add_exception_handler(RequestValidationError, validation_error)


def _allowed_methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    """Return the methods that an address accepts; the framework names only those of its first route."""
    methods: set[str] = set()
    for route in routes:
        if route.matches(scope)[0] is not Match.NONE:
            methods |= getattr(route, "methods", None) or set()
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def _extend_openapi(app: FastAPI) -> None:
    """Add the security schemes to the OpenAPI description, and drop FastAPI's own 422 schema, which is not used."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = generate()
            components = schema.setdefault("components", {})
            components["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer", "description": "A secret from `driftpace token make`."},
                "hook": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Driftpace-Secret",
                    "description": "A secret from `driftpace token make --hook`.",
                },
            }
            for name in ("HTTPValidationError", "ValidationError"):
                components.get("schemas", {}).pop(name, None)
            for path, operations in schema["paths"].items():
                for operation in operations.values():
                    if path not in ("/healthz", "/readyz"):
                        operation["security"] = [{"hook": []}] if "/hooks/" in path else [{"token": []}, {}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
