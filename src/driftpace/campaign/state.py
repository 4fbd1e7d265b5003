"""The state of a campaign, rebuilt from its log, and the checkpoint that stores it.

The checkpoint leaves out the rows of the open period, which the store keeps with their entries: it holds only what the tracker
needs to continue.
"""

import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Any

from driftpace.campaign.definition import Definition
from driftpace.campaign.records import Decision, Order
from driftpace.errors import ParameterError, StateFileError
from driftpace.records import Request, StepReport
from driftpace.storage.codec import SHAPE_ERRORS, decode, encode
from driftpace.tracker.codec import snapshot_from_body, snapshot_to_body, unsaved_parts
from driftpace.tracker.method import Method

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenPeriod:
    """The open period.

    ``request`` is the last answer of the tracker, ``seen`` the rows received when it was given. ``deliveries`` are the numbers of
    the log entries whose rows count, ``draws`` of those that drew rows to label. ``names`` are earlier names of a campaign that
    was imported while the period was open: rows drawn under them belong to it.
    """

    key: str | None
    request: Request
    seen: int
    deliveries: tuple[int, ...] = ()
    draws: tuple[int, ...] = ()
    approved: Decision | None = None
    overridden: Decision | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CampaignState:
    """The state after log entry ``seq``; ``rows`` counts those of the closed periods."""

    seq: int
    created_at: str
    definition: Definition
    method: Method
    state: Any
    opened: OpenPeriod | None = None
    last: StepReport | None = None
    last_key: str | None = None
    rows: int = 0

    @property
    def order(self) -> Order | None:
        """The open order; None between periods."""
        opened = self.opened
        if opened is None:
            return None
        received = self.state.gathered
        missing = opened.request.samples if opened.overridden is None else max(0, opened.overridden.samples - received)
        budget = self.method.budget
        return Order(
            campaign=self.definition.name,
            period=self.state.period,
            key=opened.key,
            samples=received + missing,
            received=received,
            missing=missing,
            closed=False,
            request=opened.request,
            approved=opened.approved,
            overridden=opened.overridden,
            cost=None if budget is None else budget.price(received + missing) - budget.price(received),
        )


def fingerprint(campaign: CampaignState) -> str:
    """Return the SHA-256 of the tracker's state, which two equal replays share."""
    body = snapshot_to_body(campaign.method, campaign.state.without_rows())
    return hashlib.sha256(_json(body)).hexdigest()


def to_checkpoint(campaign: CampaignState) -> bytes:
    """Encode a state as the bytes that :func:`from_checkpoint` reads, or raise ParameterError if it could not read them."""
    tracker = snapshot_to_body(campaign.method, campaign.state.without_rows())
    for name, why in unsaved_parts(tracker["method"]).items():  # such as a loss that is no longer registered
        raise ParameterError(f"must be a part that a store can save; {why}.", owner="Campaign", name=name)
    body = {
        "version": VERSION,
        "created_at": campaign.created_at,
        "definition": campaign.definition.to_values(),
        "tracker": tracker,
        "opened": None if campaign.opened is None else _opened_to_plain(campaign.opened),
        "last": encode(campaign.last),
        "last_key": campaign.last_key,
        "rows": campaign.rows,
    }
    return zlib.compress(_json(body), 1)


def from_checkpoint(seq: int, data: bytes) -> CampaignState:
    """Decode a checkpoint; the rows of the open period have still to be added."""
    try:
        body = json.loads(zlib.decompress(data))
        version = body["version"]
        if version != VERSION:
            raise StateFileError(
                f"the checkpoint has version {version!r} and this driftpace reads version {VERSION}; upgrade driftpace."
            )
        method, state = snapshot_from_body(body["tracker"], {})
        opened = body["opened"]
        return CampaignState(
            seq=seq,
            created_at=body["created_at"],
            definition=Definition.of(body["definition"]),
            method=method,
            state=state,
            opened=None if opened is None else _opened_from_plain(opened),
            last=decode(body["last"]),
            last_key=body["last_key"],
            rows=body["rows"],
        )
    except (zlib.error, *SHAPE_ERRORS) as error:
        raise StateFileError(f"the checkpoint of the campaign cannot be read: {str(error).rstrip('.')}.") from None


def request_to_plain(request: Request) -> Any:
    """Encode a request as JSON values."""
    values = {name: encode(getattr(request, name)) for name in Request.__slots__}
    return {**values, "assumptions": [encode(one) for one in request.assumptions]}


def request_from_plain(plain: Any) -> Request:
    """Decode a request."""
    values = {name: decode(value) for name, value in plain.items() if name != "assumptions"}
    return Request(**values, assumptions=tuple(decode(one) for one in plain["assumptions"]))


def decision_to_plain(decision: Decision | None) -> dict[str, Any] | None:
    """Encode a decision as JSON values."""
    return None if decision is None else {name: getattr(decision, name) for name in Decision.__slots__}


def _opened_to_plain(opened: OpenPeriod) -> dict[str, Any]:
    return {
        "names": list(opened.names),
        "key": opened.key,
        "request": request_to_plain(opened.request),
        "seen": opened.seen,
        "deliveries": list(opened.deliveries),
        "draws": list(opened.draws),
        "approved": decision_to_plain(opened.approved),
        "overridden": decision_to_plain(opened.overridden),
    }


def _opened_from_plain(plain: dict[str, Any]) -> OpenPeriod:
    decided = {name: None if plain[name] is None else Decision(**plain[name]) for name in ("approved", "overridden")}
    return OpenPeriod(
        key=plain["key"],
        request=request_from_plain(plain["request"]),
        seen=plain["seen"],
        deliveries=tuple(plain["deliveries"]),
        draws=tuple(plain["draws"]),
        names=tuple(plain["names"]),
        **decided,
    )


def _json(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
