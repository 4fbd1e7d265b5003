"""The status of a campaign: its stage, next step and summary, and a snapshot that is read without restoring the tracker.

Restoring a tracker takes longer than the answer, so that :class:`StatusSnapshot` is read from the checkpoint alone.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from driftpace.campaign.records import CHECKPOINT_VERSION, EXHAUSTED, FAILED, Decision, Lateness, Order, Stage, Status
from driftpace.campaign.text import period_name
from driftpace.records import AnnotatorReport, LabelSums, Money, Request, StepReport

if TYPE_CHECKING:  # importing the state imports the tracker
    from driftpace.campaign.state import CampaignState
    from driftpace.storage.base import Entry, Head

ARCHIVED = "Archived: it can be read, and opened again."
"""The next step of an archived campaign."""


def stage(campaign: "CampaignState") -> Stage:
    """Return the stage of the campaign."""
    order = campaign.order
    if order is None:
        return Stage.ASK
    return Stage.LABELS if order.missing > 0 else Stage.CLOSE


def todo(campaign: "CampaignState") -> str:
    """Return the next step as a sentence."""
    if campaign.archived:
        return ARCHIVED
    order = campaign.order
    if order is None:
        return f"Ask how many rows period {campaign.state.period} needs."
    which = period_name(order.period, order.key)
    if order.missing > 0:
        more = "more " if order.received else ""
        return f"Label {order.missing:,} {more}row{'s' if order.missing != 1 else ''} for {which}."
    if order.code == EXHAUSTED and order.received:
        return f"All rows that the budget covers for {which} are received: close it, add money, or override the order."
    if order.code == EXHAUSTED:
        return f"The budget cannot pay for the rows that {which} needs: close it without labels, add money, or override the order."
    if order.unsupported:
        return f"All rows of {which} are labelled, but they do not support the target: override the order, or close it."
    if order.received:
        return f"All rows of {which} are labelled: close it."
    return f"No rows to label in {which}: close it at its end."


def target(campaign: "CampaignState") -> str:
    """Return the target as a phrase."""
    method = campaign.method
    phrase = f"excess loss at most {method.epsilon:.3g}" if method.epsilon is not None else ""
    if method.tolerance is not None:
        phrase = f"loss within {100.0 * method.tolerance:.3g} % of the best"
    if method.metric is not None:
        phrase = method.metric.goal
    sure = "on average" if method.confidence is None else f"with probability {method.confidence:.3g}"
    head = getattr(method, "head", None)  # a method of a pre-trained model has one
    share = "" if head is None else f", {100.0 * head.share:.3g} % of it for the head"
    return f"{phrase}, {sure}{share}"


def money(campaign: "CampaignState") -> dict[str, Money | None]:
    """Return the money fields of :class:`Status`; None without a budget."""
    spending = campaign.method.spending(campaign.state)
    if spending is None:
        return dict.fromkeys(("spent", "committed", "money_left", "to_plan"))
    gathered = campaign.state.gathered
    return {
        "spent": Money(spending.spent, spending.budget.money.currency),
        "committed": spending.budget.price(gathered),
        "money_left": spending.left_after(gathered),
        "to_plan": spending.left,
    }


def annotators(definition: Mapping[str, Any], sums: LabelSums | None) -> AnnotatorReport | None:
    """Return how much of the noise is the annotators', by the values of the definition; None where rows have one label each."""
    if sums is None and definition.get("annotator") is None:
        return None
    from driftpace.adaptive import summarise_labels

    costs = {name: float(definition.get(name, 1.0)) for name in ("row_cost", "label_cost")}
    return summarise_labels(LabelSums() if sums is None else sums, **costs)


def status(campaign: "CampaignState", *, updated_at: str, lateness: Lateness | None = None) -> Status:
    """Return the current status."""
    return Status(
        name=campaign.definition.name,
        period=campaign.state.period,
        stage=stage(campaign),
        todo=todo(campaign),
        target=target(campaign),
        order=campaign.order,
        last=campaign.last,
        rows=campaign.rows,
        **money(campaign),
        keep_rows=campaign.definition.keep_rows,
        entries=campaign.seq,
        created_at=campaign.created_at,
        updated_at=updated_at,
        lateness=lateness,
        annotators=annotators(campaign.definition.to_values(), campaign.label_sums),
        archived=campaign.archived,
    )


def summary(campaign: "CampaignState") -> dict[str, Any]:
    """Return the plain values that a list of campaigns shows."""
    order, last = campaign.order, campaign.last
    failed = order is not None and order.code == FAILED
    return {
        "period": campaign.state.period,
        "key": None if order is None else order.key,
        "stage": stage(campaign).value,
        "todo": todo(campaign),
        "target": target(campaign),
        "missing": 0 if order is None else order.missing,
        "received": 0 if order is None else order.received,
        "rows": campaign.rows,
        "failed": failed,
        **({"failure": order.failure} if failed and order is not None else {}),
        "exhausted": order is not None and order.code == EXHAUSTED,
        "last": None if last is None else {"promised": last.outcome.promised, "outcome": last.outcome.sentence},
        "cost": None if order is None or order.cost is None else str(order.cost),
        **{
            name: None if amount is None else str(amount)
            for name, amount in money(campaign).items()
            if name != "to_plan"
        },
        "delay": campaign.definition.delay,
        "description": campaign.definition.description,
        **({"archived": True} if campaign.archived else {}),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusSnapshot:
    """The head of a campaign with its summary, the open order, the last report with the key of its period, and the annotators."""

    head: "Head"
    order: Order | None
    last: StepReport | None
    last_key: str | None
    annotators: AnnotatorReport | None = None

    @classmethod
    def of_checkpoint(cls, head: "Head", checkpoint: bytes) -> "StatusSnapshot | None":
        """Return the snapshot of a checkpoint; None where it is of another version or damaged, which the campaign reports."""
        from driftpace.storage.codec import decode
        from driftpace.storage.inflate import inflate

        try:
            body = json.loads(inflate(checkpoint))
            if body["version"] != CHECKPOINT_VERSION:
                return None
            opened = body["opened"]
            return cls(
                head=head,
                order=None if opened is None else _order(head, opened),
                last=decode(body["last"]),
                last_key=body["last_key"],
                annotators=annotators(body["definition"], decode(body["label_sums"])),
            )
        except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
            return None

    @classmethod
    def of_campaign(cls, campaign: Any) -> "StatusSnapshot":
        """Return the snapshot of an opened :class:`~driftpace.campaign.Campaign`."""
        status = campaign.status()
        ledger = campaign.ledger()
        return cls(
            head=campaign.store.head(campaign.name),
            order=status.order,
            last=status.last,
            last_key=ledger[-1].key if ledger else None,
            annotators=status.annotators,
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


def may_be_late(reader: Any, head: "Head") -> bool:
    """Return whether labels of closed periods may be late or outstanding, from the log alone; otherwise none are."""
    if head.summary.get("delay") is not None:
        return True
    log = reader.entries(head.name, kinds=("selected", "delivered", "forgotten", "undone"))
    late = any(entry.kind == "undone" or entry.body.get("late") for entry in log)
    return late or any(period < head.summary["period"] for period in unsettled_periods(log))


def unsettled_periods(log: "Iterable[Entry]") -> set[int]:
    """Return the periods in which rows were drawn that may not be delivered, by their numbers; a log without undone entries."""
    rows: Counter[int] = Counter()
    unsure = set()
    for entry in log:
        if entry.kind == "selected":
            rows[entry.body["period"]] += entry.body["rows"]
        elif entry.kind == "delivered":
            rows[entry.body["period"]] -= entry.body["rows"] - entry.body.get("others", 0)
        if entry.kind == "forgotten" or entry.body.get("late"):
            unsure.add(entry.body["period"])
    return {period for period in rows if rows[period] > 0} | unsure


def _order(head: "Head", opened: Mapping[str, Any]) -> Order:
    from driftpace.storage.codec import decode

    plain = dict(opened["request"])
    assumptions = tuple(decode(item) for item in plain.pop("assumptions"))
    request = Request(**{name: decode(item) for name, item in plain.items()}, assumptions=assumptions)
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
