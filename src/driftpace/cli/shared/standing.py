"""Where a campaign stands, as a list and a status show it; read from its checkpoint without waking the tracker in it."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftpace.campaign.records import Order
    from driftpace.records import StepReport
    from driftpace.storage.base import Head

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What people ask of a campaign: the open order, the last report, and the plain facts of its summary."""

    head: "Head"
    order: "Order | None"
    last: "StepReport | None"
    last_key: str | None

    @classmethod
    def of(cls, head: "Head", checkpoint: bytes) -> "Standing | None":
        """Return it from a checkpoint; None where that is of another version, or damaged: the campaign itself will say so."""
        from driftpace.storage.codec import decode

        try:
            body = json.loads(zlib.decompress(checkpoint))
            if body["version"] != VERSION:
                return None
            opened = body["opened"]
            return cls(
                head=head,
                order=None if opened is None else _order(head, opened),
                last=decode(body["last"]),
                last_key=body["last_key"],
            )
        except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
            return None


def _order(head: "Head", opened: Mapping[str, Any]) -> "Order":
    from driftpace.campaign.records import Decision, Order
    from driftpace.records import Request
    from driftpace.storage.codec import decode

    plain = dict(opened["request"])
    assumptions = tuple(decode(one) for one in plain.pop("assumptions"))
    request = Request(**{name: decode(one) for name, one in plain.items()}, assumptions=assumptions)
    decided = {name: None if opened[name] is None else Decision(**opened[name]) for name in ("approved", "overridden")}
    if decided["overridden"] is not None and request.cost is not None:
        raise ValueError("what other rows than were asked for cost takes the campaign itself")
    came, missing = head.summary["came"], head.summary["missing"]
    return Order(
        campaign=head.name,
        period=head.summary["period"],
        key=opened["key"],
        samples=came + missing,
        came=came,
        missing=missing,
        closed=False,
        request=request,
        cost=request.cost,
        **decided,
    )
