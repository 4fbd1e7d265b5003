"""Campaigns over HTTP: REST for other systems, a page for people, numbers for whoever watches the machine.

``create_app`` gives an ASGI application over an opened store and ``run`` serves it; both load the web packages when called. Pages
come from :mod:`driftpace.service.dashboard`, where it is installed. What they may lean on:

- ``request.app.state.service`` is a :class:`~driftpace.service.parts.Service`: ``store``, ``handles.campaign(name)``,
  ``limits``, and ``await service.reads.run(function, ...)`` to leave the event loop while a store is read;
- ``request.state.caller`` says who asks (``name``, ``scopes``, ``may_write``);
- ``request.state.csrf`` goes into the page, and comes back as the header ``X-CSRF-Token`` of everything that writes;
- ``/login`` and ``/logout`` exist; a page that is asked for without being known leads to ``/login``;
- scripts and styles come from ``/static`` and from nowhere else: the content policy forbids what stands in the page itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftpace.service.access import Access
    from driftpace.service.app import create_app
    from driftpace.service.limits import Limits
    from driftpace.service.running import run
    from driftpace.service.tokens import make_token

__all__ = ["Access", "Limits", "create_app", "make_token", "run"]

_PLACES = {"Access": "access", "create_app": "app", "Limits": "limits", "run": "running", "make_token": "tokens"}

if not TYPE_CHECKING:  # the web packages are loaded when they are needed

    def __getattr__(name: str) -> Any:
        """Load a part when it is first asked for."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"driftpace.service.{_PLACES[name]}"), name)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] == "driftpace":
                raise
            from driftpace.errors import MissingExtraError

            raise MissingExtraError(f'the service needs {error.name}: pip install "driftpace[service]".') from error
