"""The parts that one service is made of, for its routes and its pages."""

from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

from starlette.requests import HTTPConnection

from driftpace.service.access import Access, Caller
from driftpace.service.handles import Handles
from driftpace.service.lanes import Lane
from driftpace.service.limits import Limits
from driftpace.service.metrics import Metrics
from driftpace.service.readiness import Readiness
from driftpace.service.sessions import Patience, Sessions
from driftpace.service.standing import Standing
from driftpace.service.watch import Watch
from driftpace.storage.base import Store


@runtime_checkable
class Prompt(Protocol):
    """A store that can be had in a form that refuses at once what it cannot do now."""

    def promptly(self) -> Store:
        """Return that form."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Service:
    """Everything that a route needs; ``reads``, ``fits`` and ``plans`` are where work that blocks is done."""

    store: Store
    access: Access
    limits: Limits
    sessions: Sessions
    patience: Patience
    handles: Handles
    metrics: Metrics
    reads: Lane
    fits: Lane
    plans: Lane
    watch: Watch
    readiness: Readiness
    standing: Standing

    @classmethod
    def of(cls, store: Store, access: Access, limits: Limits) -> "Service":
        """Return the parts of a service over a store; nobody waits long for a server that is gone."""
        store = store.promptly() if isinstance(store, Prompt) else store
        reads = Lane("reading", threads=limits.reads, waiting=limits.reads_waiting)
        sessions = Sessions(hours=limits.session_hours)
        return cls(
            store=store,
            access=access,
            limits=limits,
            sessions=sessions,
            patience=Patience(),
            handles=Handles(store, most=limits.handles),
            metrics=Metrics(),
            reads=reads,
            fits=Lane("fitting", threads=limits.fits, waiting=limits.fits_waiting),
            plans=Lane("planning", threads=limits.plans, waiting=limits.plans_waiting),
            watch=Watch(store, reads, limits),
            readiness=Readiness(store, reads, seconds=limits.ready_seconds),
            standing=Standing(store, reads, sessions, seconds=limits.poll_seconds),
        )


def service_of(request: HTTPConnection) -> Service:
    """Return the service that a request came to."""
    return cast(Service, request.app.state.service)


def caller_of(request: HTTPConnection) -> Caller:
    """Return who asks."""
    return cast(Caller, request.state.caller)


def who(request: HTTPConnection) -> str:
    """Return who asks, as the log of a campaign calls them."""
    return caller_of(request).name
