"""What is worth a message: an order that waits too long, an assumption that fails, and money that is nearly spent."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from driftpace import validation
from driftpace.formatting import plural
from driftpace.storage.base import Head

AlertKind = Literal["overdue", "unsupported", "money"]
ALERT_KINDS: tuple[AlertKind, ...] = ("overdue", "unsupported", "money")


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """Something about a campaign that somebody should look at.

    Parameters
    ----------
    campaign : str
        Name of the campaign.
    kind : {"overdue", "unsupported", "money"}
        An order that waits for labels too long, an assumption or an audit that fails, or money that is nearly spent.
    period : int
        The open period.
    sentence : str
        What it is about.
    """

    campaign: str
    kind: AlertKind
    period: int
    sentence: str

    @property
    def key(self) -> str:
        """What the alert is known by: the same for as long as it holds in a period."""
        return f"{self.campaign}/{self.period}/{self.kind}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertRules:
    """When there is an alert.

    Parameters
    ----------
    overdue_days : float
        Days without a delivery after which an order that misses rows is overdue.
    money_share : float
        Share of the budget below which the money is nearly spent.
    """

    overdue_days: float = 7.0
    money_share: float = 0.1

    def __post_init__(self) -> None:
        validation.positive("AlertRules", overdue_days=self.overdue_days)
        validation.fraction("AlertRules", money_share=self.money_share)


def find_alerts(heads: Iterable[Head], rules: AlertRules | None = None, *, now: datetime | None = None) -> list[Alert]:
    """Return the alerts of campaigns, from their heads in the store alone.

    Parameters
    ----------
    heads : iterable of Head
        The heads of the campaigns, as :meth:`~driftpace.storage.Store.heads` returns them.
    rules : AlertRules, optional
        When there is an alert.
    now : datetime, optional
        The time; the current one by default.

    Examples
    --------
    >>> summary = {"period": 3, "stage": "labels", "missing": 12}
    >>> head = Head(name="churn", seq=9, summary=summary, created_at="", updated_at="2026-11-02T10:00:00.000Z")
    >>> [alert.sentence for alert in find_alerts([head], now=datetime(2026, 11, 12, tzinfo=UTC))]
    ['Period 3 misses 12 rows, and nothing has changed for 9 days.']
    """
    rules = AlertRules() if rules is None else rules
    now = datetime.now(UTC) if now is None else now
    return [alert for head in heads for alert in _alerts_of(head, rules, now)]


def _alerts_of(head: Head, rules: AlertRules, now: datetime) -> Iterator[Alert]:
    summary = head.summary
    period = summary.get("period")
    if not isinstance(period, int) or summary.get("archived"):
        return

    def alert(kind: AlertKind, sentence: str) -> Alert:
        return Alert(campaign=head.name, kind=kind, period=period, sentence=sentence)

    missing = summary.get("missing") or 0
    days = (now - datetime.fromisoformat(head.updated_at)).total_seconds() / 86_400.0
    if missing and days > rules.overdue_days:
        rows, time = plural(missing, "row"), plural(int(days), "day")
        yield alert("overdue", f"Period {period} misses {rows}, and nothing has changed for {time}.")
    if summary.get("failed"):
        yield alert("unsupported", f"The target of period {period} is not supported: {_failure(summary)}")
    left, total = _money_left(summary)
    if total and (left < rules.money_share * float(total) or summary.get("exhausted")):
        yield alert("money", f"{summary['money_left']} left of the budget in period {period}, {left / total:.0%}.")


def _failure(summary: Mapping[str, Any]) -> str:
    """Return why a target is not supported."""
    counts = summary.get("segments")
    if isinstance(counts, Mapping):
        return f"a check failed in {plural(counts.get('failed', 0), 'segment')}."
    return str(summary.get("failure") or "a check failed.")


def _money_left(summary: Any) -> tuple[float, float]:
    """Return what is left of the money, and all of it; 0 without a budget."""
    try:
        parts = [_amount(summary[name]) for name in ("money_left", "spent", "committed")]
    except (KeyError, TypeError, AttributeError, InvalidOperation):
        return 0.0, 0.0
    return parts[0], sum(parts)


def _amount(text: str) -> float:
    return float(Decimal(text.split()[0].replace(",", "")))
