"""How much anybody may ask of the service: bytes, seconds, and how many at once."""

from dataclasses import dataclass, field, fields

from driftpace import validation
from driftpace.tables.limits import TableLimits

_MIB = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The most that is taken.

    ``tables`` holds for a delivery; its ``bytes`` are counted while they come. ``body`` is for everything else that is sent, and
    ``in_flight`` for all bodies together. A body has to be there after ``body_seconds``, and no piece of it may take longer than
    ``piece_seconds``. Threads and what waits for them are bounded for three kinds of work: reading, fitting and planning.
    ``/readyz`` waits no longer than ``ready_seconds`` for the store.
    A stream looks whether its campaign has changed, and whether its token is still there, every ``poll_seconds``; it ends after
    ``stream_seconds`` and is begun anew by who listens.

    >>> Limits(streams=8).body
    1048576
    """

    tables: TableLimits = field(default_factory=TableLimits)
    body: int = _MIB
    in_flight: int = 256 * _MIB
    body_seconds: float = 120.0
    piece_seconds: float = 20.0
    head_seconds: float = 10.0
    reads: int = 8
    reads_waiting: int = 512
    fits: int = 4
    fits_waiting: int = 256
    plans: int = 2
    plans_waiting: int = 6
    streams: int = 64
    stream_seconds: float = 600.0
    poll_seconds: float = 1.0
    heartbeat_seconds: float = 15.0
    connections: int = 1000
    handles: int = 256
    horizon: int = 520
    ready_seconds: float = 1.0
    session_hours: float = 12.0

    def __post_init__(self) -> None:
        whole = [one.name for one in fields(self) if one.type in (int, "int")]
        validation.count("Limits", least=1, **{name: getattr(self, name) for name in whole})
        seconds = [one.name for one in fields(self) if one.type in (float, "float")]
        validation.positive("Limits", **{name: getattr(self, name) for name in seconds})
