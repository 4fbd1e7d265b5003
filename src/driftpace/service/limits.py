"""Limits of the service: bytes, seconds, queue lengths and planning horizons."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

from driftpace import validation
from driftpace.campaign import Campaign
from driftpace.errors import ParameterError
from driftpace.records import Plan
from driftpace.tables.limits import TableLimits

_MIB = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceLimits:
    """Upper limits on what the service accepts and does at once.

    Parameters
    ----------
    tables : driftpace.tables.Limits
        Limits of an uploaded table; its ``bytes`` are counted while they arrive.
    body : int
        Bytes of any other request body.
    in_flight : int
        Bytes of all request bodies together.
    body_seconds, piece_seconds, head_seconds : float
        Time for a whole body, for one piece of it, and for the head of a request.
    write_seconds : float
        Time within which a client must read 48 KiB of a response, or the rest of it.
    checks, reads, pages, fits, plans : int
        Threads for checking tokens, reading, rendering pages, fitting and planning.
    checks_queue, reads_queue, pages_queue, fits_queue, plans_queue : int
        Calls that may wait for each of them; more get 503.
    parsers : int
        Child processes that read tables at once; small texts are read without one.
    parsers_queue : int
        Tables that may wait for one of them; more get 503.
    parser_memory : int
        Bytes of memory for each of them.
    parser_seconds : float
        Seconds of computation for a table.
    streams : int
        Open event streams.
    stream_seconds : float
        Time after which a stream ends; clients reconnect.
    poll_seconds : float
        Interval at which a stream checks its campaign and its token.
    heartbeat_seconds : float
        Interval of keep-alive comments on a silent stream.
    connections : int
        Open connections.
    open_campaigns : int
        Campaigns kept in memory.
    open_fleets : int
        Campaigns of segments kept in memory.
    kept_periods : int
        Closed periods of campaigns kept in memory for their pages.
    horizon : int
        Periods that may be planned.
    ready_seconds : float
        Time that ``/readyz`` waits for the store.
    alert_seconds : float
        Interval at which alerts are looked for and sent.
    session_hours : float
        Time after which a browser session expires.

    Examples
    --------
    >>> ServiceLimits(streams=8).body
    1048576
    """

    tables: TableLimits = field(default_factory=TableLimits)
    body: int = _MIB
    in_flight: int = 256 * _MIB
    body_seconds: float = 120.0
    piece_seconds: float = 20.0
    head_seconds: float = 10.0
    write_seconds: float = 20.0
    checks: int = 2
    checks_queue: int = 1000
    reads: int = 8
    reads_queue: int = 512
    pages: int = 2
    pages_queue: int = 128
    fits: int = 4
    fits_queue: int = 256
    plans: int = 2
    plans_queue: int = 6
    parsers: int = 2
    parsers_queue: int = 64
    parser_memory: int = 768 * _MIB
    parser_seconds: float = 60.0
    streams: int = 64
    stream_seconds: float = 600.0
    poll_seconds: float = 1.0
    heartbeat_seconds: float = 15.0
    connections: int = 1000
    open_campaigns: int = 256
    open_fleets: int = 4
    kept_periods: int = 20_000
    horizon: int = 520
    ready_seconds: float = 1.0
    alert_seconds: float = 60.0
    session_hours: float = 12.0

    def __post_init__(self) -> None:
        counts = [item.name for item in fields(self) if item.type in (int, "int")]
        validation.count("ServiceLimits", least=1, **{name: getattr(self, name) for name in counts})
        times = [item.name for item in fields(self) if item.type in (float, "float")]
        validation.positive("ServiceLimits", **{name: getattr(self, name) for name in times})


def plan_within(campaign: Campaign, max_periods: int, **parameters: Any) -> Plan:
    """Return a plan of at most ``max_periods``; a budget without a horizon is planned until it is spent, up to that."""
    horizon, budget = parameters.get("horizon"), parameters.get("budget")
    if horizon is not None and horizon > max_periods:
        raise ParameterError(
            f"must be at most {max_periods} periods here; got {horizon}.", owner="plan", name="horizon"
        )
    if horizon is None and budget is not None:
        longest = campaign.plan(**{**parameters, "horizon": max_periods, "gap": "largest"})
        if longest.holds:
            return replace(longest, reason=f"the budget meets the target for {max_periods} periods or more")
    if horizon is None and budget is None:
        definition, period = campaign.definition.budget, campaign.status().period
        if definition is not None and int(definition["horizon"]) - period + 1 > max_periods:
            raise ParameterError(
                f"must be given, and at most {max_periods} periods here; got none.",
                owner="plan",
                name="horizon",
            )
    return campaign.plan(**parameters)
