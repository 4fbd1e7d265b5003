"""The shared state of one service: its store, caches, worker pools and limits."""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar, cast, runtime_checkable

from starlette.requests import HTTPConnection

from driftpace.campaign import Campaign, FleetCampaign
from driftpace.campaign.fleet.campaign import is_fleet
from driftpace.service.access import Access
from driftpace.service.auth import Caller
from driftpace.service.events import EventBroker
from driftpace.service.history import HistoryCache
from driftpace.service.limits import ServiceLimits
from driftpace.service.metrics import Metrics
from driftpace.service.reading import TableReader
from driftpace.service.sessions import LoginThrottle, Sessions, TokenRecheck, TokenThrottle
from driftpace.service.workers import ReadinessProbe, WorkerPool
from driftpace.storage.base import Head, Store

Result = TypeVar("Result")


@runtime_checkable
class FailFastStore(Protocol):
    """A store with a variant that fails at once instead of waiting for a server that is gone."""

    def promptly(self) -> Store:
        """Return that variant."""
        ...


class ListedCampaigns(Protocol):
    """What a list of campaigns needs of a store."""

    def heads(
        self, *, after: str = "", limit: int | None = None, search: str = "", archived: bool | None = None
    ) -> list[Head]:
        """Return heads ordered by name."""
        ...

    def count(self, *, search: str = "", archived: bool | None = None) -> int:
        """Return the number of campaigns."""
        ...


class VisibleCampaigns:
    """The campaigns of a store that a caller with a limited token may see.

    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> for name in ("churn", "prices"):
    ...     _ = Campaign.create({"name": name, "target": "y", "epsilon": 0.1}, storage=store)
    >>> visible = VisibleCampaigns(store, ("churn", "gone"))
    >>> [head.name for head in visible.heads()], visible.count(search="ice")
    (['churn'], 0)
    """

    def __init__(self, store: Store, names: Iterable[str]) -> None:
        self._store = store
        self._names = sorted(names)

    def heads(
        self, *, after: str = "", limit: int | None = None, search: str = "", archived: bool | None = None
    ) -> list[Head]:
        """Return heads ordered by name."""
        names = (name for name in self._names if name > after and search.lower() in name.lower())
        found = (head for name in names if (head := self._store.head(name)) is not None)
        chosen = (head for head in found if archived in (None, head.summary.get("archived", False)))
        return list(islice(chosen, limit))

    def count(self, *, search: str = "", archived: bool | None = None) -> int:
        """Return the number of campaigns."""
        return len(self.heads(search=search, archived=archived))


Opened = TypeVar("Opened")


class CampaignCache(Generic[Opened]):
    """Campaigns by name, the most recently used kept open with their state.

    Reads and writes share a handle, so that nothing just written is read again; a handle can be read during a fit.

    Parameters
    ----------
    store : Store
        Where the campaigns are.
    open_campaign : callable
        ``Campaign.open`` or ``FleetCampaign.open``.
    size : int
        How many are kept open.

    Examples
    --------
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> campaign = Campaign.create({"name": "churn", "target": "left", "epsilon": 0.1}, storage=store)
    >>> cache = CampaignCache(store, Campaign.open)
    >>> cache.get("churn") is cache.get("churn")
    True
    """

    def __init__(self, store: Store, open_campaign: Callable[..., Opened], *, size: int = 128) -> None:
        self._store = store
        self._open_campaign = open_campaign
        self._size = size
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> Opened:
        """Return a campaign, or raise UnknownCampaignError."""
        with self._lock:
            campaign = self._open.get(name)
            if campaign is not None:
                self._open.move_to_end(name)
                return campaign
        opened = self._open_campaign(name, storage=self._store)  # reads the store, so not under the lock
        with self._lock:
            campaign = self._open.setdefault(name, opened)
            while len(self._open) > self._size:
                self._open.popitem(last=False)
        return campaign


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Service:
    """What the routes share; the pools are for work that blocks.

    ``checks`` looks up tokens and pings the store, ``reads`` reads campaigns, ``pages`` renders pages and files, which takes
    longer, ``parsers`` waits for child processes that read tables, ``fits`` changes campaigns and ``plans`` computes plans: none of
    them waits in the queue of another.
    """

    store: Store
    access: Access
    limits: ServiceLimits
    sessions: Sessions
    login_throttle: LoginThrottle
    token_throttle: TokenThrottle
    campaigns: CampaignCache[Campaign]
    fleets: CampaignCache[FleetCampaign]
    histories: HistoryCache
    metrics: Metrics
    checks: WorkerPool
    reads: WorkerPool
    pages: WorkerPool
    fits: WorkerPool
    plans: WorkerPool
    parsers: WorkerPool
    reader: TableReader
    events: EventBroker
    readiness: ReadinessProbe
    token_recheck: TokenRecheck
    draining: threading.Event

    @classmethod
    def create(cls, store: Store, access: Access, limits: ServiceLimits) -> "Service":
        """Return the state of a service over an open store, in its fail-fast variant where it has one."""
        store = store.promptly() if isinstance(store, FailFastStore) else store
        reads = WorkerPool("reading", threads=limits.reads, queue=limits.reads_queue)
        checks = WorkerPool("checking tokens", threads=limits.checks, queue=limits.checks_queue)
        sessions = Sessions(store, hours=limits.session_hours)
        return cls(
            store=store,
            access=access,
            limits=limits,
            sessions=sessions,
            login_throttle=LoginThrottle(),
            token_throttle=TokenThrottle(),
            campaigns=CampaignCache(store, Campaign.open, size=limits.open_campaigns),
            fleets=CampaignCache(store, FleetCampaign.open, size=limits.open_fleets),
            histories=HistoryCache(store, periods=limits.kept_periods),
            metrics=Metrics(),
            checks=checks,
            reads=reads,
            pages=WorkerPool("pages", threads=limits.pages, queue=limits.pages_queue),
            fits=WorkerPool("fitting", threads=limits.fits, queue=limits.fits_queue),
            plans=WorkerPool("planning", threads=limits.plans, queue=limits.plans_queue),
            parsers=WorkerPool("reading tables", threads=limits.parsers, queue=limits.parsers_queue),
            reader=TableReader(memory=limits.parser_memory, seconds=math.ceil(limits.parser_seconds)),
            events=EventBroker(store, reads, limits),
            readiness=ReadinessProbe(store, checks, seconds=limits.ready_seconds),
            token_recheck=TokenRecheck(store, checks, sessions, seconds=limits.poll_seconds),
            draining=threading.Event(),
        )

    def close(self) -> None:
        """Wait for the calls that run, and drop those that wait; the store can be closed afterwards."""
        for pool in (self.checks, self.reads, self.pages, self.fits, self.plans, self.parsers):
            pool.close()

    async def read(self, name: str, function: Callable[[Campaign], Result]) -> Result:
        """Return what a function reads from a campaign."""
        return await self.reads.run(lambda: function(self.campaigns.get(name)))

    async def render(self, name: str, function: Callable[[Campaign], Result]) -> Result:
        """Return a page or a file about a campaign."""
        return await self.pages.run(lambda: function(self.campaigns.get(name)))

    async def change(self, name: str, function: Callable[[Campaign], Result]) -> Result:
        """Return what a function does to a campaign, in the order in which changes arrive, and notify its event streams."""
        result = await self.fits.run_in_turn(name, lambda: function(self.campaigns.get(name)))
        self.events.notify(name)
        return result

    def is_fleet(self, name: str) -> bool:
        """Return whether a campaign has segments."""
        head = self.store.head(name)
        return head is not None and is_fleet(head.summary)

    async def read_any(self, name: str, function: Callable[[Campaign | FleetCampaign], Result]) -> Result:
        """Return what a function reads from a campaign of one model or of segments."""
        return await self.reads.run(
            lambda: function(self.fleets.get(name) if self.is_fleet(name) else self.campaigns.get(name))
        )

    async def render_any(self, name: str, function: Callable[[Campaign | FleetCampaign], Result]) -> Result:
        """Return a page or a file about a campaign of one model or of segments."""
        return await self.pages.run(
            lambda: function(self.fleets.get(name) if self.is_fleet(name) else self.campaigns.get(name))
        )

    async def read_fleet(self, name: str, function: Callable[[FleetCampaign], Result]) -> Result:
        """Return what a function reads from a campaign of segments."""
        return await self.reads.run(lambda: function(self.fleets.get(name)))

    async def render_fleet(self, name: str, function: Callable[[FleetCampaign], Result]) -> Result:
        """Return a page or a file about a campaign of segments."""
        return await self.pages.run(lambda: function(self.fleets.get(name)))

    async def change_fleet(self, name: str, function: Callable[[FleetCampaign], Result]) -> Result:
        """Return what a function does to a campaign of segments, in turn, and notify its event streams."""
        result = await self.fits.run_in_turn(name, lambda: function(self.fleets.get(name)))
        self.events.notify(name)
        return result


def service_of(request: HTTPConnection) -> Service:
    """Return the service that handles a request."""
    return cast(Service, request.app.state.service)


def caller_of(request: HTTPConnection) -> Caller:
    """Return the authenticated caller of a request."""
    return cast(Caller, request.state.caller)


def campaigns_of(request: HTTPConnection) -> ListedCampaigns:
    """Return the campaigns that the caller of a request may see."""
    store, limited = service_of(request).store, caller_of(request).campaigns
    return VisibleCampaigns(store, limited) if limited else store


def caller_name(request: HTTPConnection) -> str:
    """Return the caller's name as the log of a campaign records it."""
    return caller_of(request).name
