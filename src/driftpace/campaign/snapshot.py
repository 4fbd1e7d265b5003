"""Read the status of a campaign from its checkpoint without restoring its tracker, which takes longer than the answer."""

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
class StatusSnapshot:
    """The head of a campaign with its summary, the open order, and the last report with the key of its period."""

    head: "Head"
    order: "Order | None"
    last: "StepReport | None"
    last_key: str | None

    @classmethod
    def of_checkpoint(cls, head: "Head", checkpoint: bytes) -> "StatusSnapshot | None":
        """Return the snapshot of a checkpoint; None where it is of another version or damaged, which the campaign reports."""
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

    @classmethod
    def of_campaign(cls, campaign: Any) -> "StatusSnapshot":
        """Return the snapshot of an opened :class:`~driftpace.campaign.Campaign`."""
        status = campaign.status()
        closed = campaign.store.latest(campaign.name, limit=1, kinds=("closed",))
        return cls(
            head=campaign.store.head(campaign.name),
            order=status.order,
            last=status.last,
            last_key=closed[0].body["key"] if closed else None,
        )


def read_snapshot(reader: Any, name: str) -> StatusSnapshot | None:
    """Return the snapshot of a campaign; None where the store or its checkpoint does not offer one.

    Parameters
    ----------
    reader : SqliteReader or Store
        What :func:`~driftpace.storage.open_reader` returned.
    name : str
        The campaign.
    """
    if not hasattr(reader, "head_and_checkpoint"):
        return None
    record = reader.head_and_checkpoint(name)
    return None if record is None else StatusSnapshot.of_checkpoint(*record)


def _order(head: "Head", opened: Mapping[str, Any]) -> "Order":
    from driftpace.campaign.records import Decision, Order
    from driftpace.records import Request
    from driftpace.storage.codec import decode

    plain = dict(opened["request"])
    assumptions = tuple(decode(one) for one in plain.pop("assumptions"))
    request = Request(**{name: decode(one) for name, one in plain.items()}, assumptions=assumptions)
    decided = {name: None if opened[name] is None else Decision(**opened[name]) for name in ("approved", "overridden")}
    if decided["overridden"] is not None and request.cost is not None:
        raise ValueError("the cost of an override needs the campaign itself")
    received, missing = head.summary["received"], head.summary["missing"]
    return Order(
        campaign=head.name,
        period=head.summary["period"],
        key=opened["key"],
        samples=received + missing,
        received=received,
        missing=missing,
        closed=False,
        request=request,
        cost=request.cost,
        **decided,
    )
