"""Campaigns over HTTP: a REST API, a dashboard, event streams and Prometheus metrics.

:func:`create_app` returns an ASGI application over an open store and :func:`run` serves it; both import the web packages when
first used. Routes and pages rely on:

- ``request.app.state.service``, the shared :class:`~driftpace.service.state.Service`: store, campaigns, limits and worker pools;
- ``request.state.caller``, the authenticated :class:`~driftpace.service.auth.Caller`;
- ``request.state.csrf``, the CSRF token of a page, sent back as ``X-CSRF-Token`` with every write;
- ``/static`` for scripts and styles: the content security policy forbids inline ones and other hosts.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftpace.service.access import Access
    from driftpace.service.app import create_app
    from driftpace.service.auth import make_token
    from driftpace.service.limits import ServiceLimits
    from driftpace.service.server import run

__all__ = ["Access", "ServiceLimits", "create_app", "make_token", "run"]

_MODULES = {
    "Access": "access",
    "ServiceLimits": "limits",
    "create_app": "app",
    "make_token": "auth",
    "run": "server",
}

if not TYPE_CHECKING:  # the web packages are imported on first use

    def __getattr__(name: str) -> Any:
        """Import a public name on first use."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"driftpace.service.{_MODULES[name]}"), name)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "driftpace":
                raise
            from driftpace.errors import MissingExtraError

            raise MissingExtraError(f'the service needs {error.name}: pip install "driftpace[service]".') from error
