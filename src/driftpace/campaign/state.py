"""What the log of a campaign leads to: frozen, with a plain form for the checkpoint.

The checkpoint leaves out the rows of the open period, which the store keeps under the numbers of their entries anyway: so it is as
large as what the mathematics needs to go on, and no larger.
"""

import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Any

from driftpace.campaign.definition import Definition
from driftpace.campaign.records import Decision, Order
from driftpace.errors import StateFileError
from driftpace.records import Request, StepReport
from driftpace.storage.codec import decode, encode
from driftpace.tracker.codec import snapshot_from_body, snapshot_to_body
from driftpace.tracker.method import Method

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenPeriod:
    """The period that was asked for and is not closed.

    ``request`` is the last answer, ``seen`` how many rows had come when it was given. ``deliveries`` are the numbers of the
    entries whose rows count, ``draws`` of those that drew rows to label. ``names`` are those that the campaign had before it was
    imported in the middle of the period: rows that were drawn under them are its own.
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
    """Where a campaign stands. ``rows`` counts those of the closed periods, ``seq`` is the entry it follows from."""

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
        came = self.state.gathered
        missing = opened.request.samples if opened.overridden is None else max(0, opened.overridden.samples - came)
        budget = self.method.budget
        return Order(
            campaign=self.definition.name,
            period=self.state.period,
            key=opened.key,
            samples=came + missing,
            received=came,
            missing=missing,
            closed=False,
            request=opened.request,
            approved=opened.approved,
            overridden=opened.overridden,
            cost=None if budget is None else budget.price(came + missing) - budget.price(came),
        )


def fingerprint(folded: CampaignState) -> str:
    """Return the SHA-256 of the tracker's state: two replays agree where these do."""
    body = snapshot_to_body(folded.method, folded.state.without_rows())
    return hashlib.sha256(_json(body)).hexdigest()


def to_checkpoint(folded: CampaignState) -> bytes:
    """Return the bytes that :func:`from_checkpoint` reads."""
    body = {
        "version": VERSION,
        "created_at": folded.created_at,
        "definition": folded.definition.to_values(),
        "tracker": snapshot_to_body(folded.method, folded.state.without_rows()),
        "opened": None if folded.opened is None else _opened_to_plain(folded.opened),
        "last": encode(folded.last),
        "last_key": folded.last_key,
        "rows": folded.rows,
    }
    return zlib.compress(_json(body), 1)


def from_checkpoint(seq: int, data: bytes) -> CampaignState:
    """Return what a checkpoint stands for, the rows of the open period still to be told."""
    try:
        body = json.loads(zlib.decompress(data))
        version = body["version"]
        if version != VERSION:
            raise StateFileError(f"the checkpoint has version {version!r} and this driftpace reads {VERSION}.")
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
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateFileError(f"the checkpoint of the campaign cannot be read: {str(error).rstrip('.')}.") from None


def request_to_plain(request: Request) -> Any:
    """Return a request as plain values; decimals and all."""
    held = {name: encode(getattr(request, name)) for name in Request.__slots__}
    return {**held, "assumptions": [encode(one) for one in request.assumptions]}


def request_from_plain(plain: Any) -> Request:
    """Return the request that plain values stand for."""
    held = {name: decode(value) for name, value in plain.items() if name != "assumptions"}
    return Request(**held, assumptions=tuple(decode(one) for one in plain["assumptions"]))


def decision_to_plain(decision: Decision | None) -> dict[str, Any] | None:
    """Return a decision as plain values."""
    return None if decision is None else {name: getattr(decision, name) for name in Decision.__slots__}


def _opened_to_plain(opened: OpenPeriod) -> dict[str, Any]:
    named = {"names": list(opened.names)} if opened.names else {}
    return {
        **named,
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
        names=tuple(plain.get("names", ())),
        **decided,
    )


def _json(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
