"""The page of one campaign: status, figures, assumptions, log and definition."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driftpace.campaign import Campaign
from driftpace.campaign.definition import Definition
from driftpace.campaign.log_text import EntryText, describe_entry, quoted
from driftpace.campaign.records import EXHAUSTED, FAILED, LedgerRow, Order, Status
from driftpace.campaign.refusals import since_last_delivery
from driftpace.campaign.serialization import ledger_json
from driftpace.campaign.text import base_lines, capitalized, measured_check, outstanding_sentence
from driftpace.campaign.transitions import undone_by
from driftpace.planning.budget import Budget
from driftpace.records import Assumption, Money, Outcome
from driftpace.records.requests import MEASURED_RISK
from driftpace.service.dashboard.campaign_list import NEEDS
from driftpace.service.dashboard.charts import LATEST, HistoryPage, PageFigure
from driftpace.service.dashboard.figures import drift_figure, excess_loss_figure, rows_figure, spending_figure
from driftpace.service.history import History
from driftpace.service.templating import money, plural, tier_text, when
from driftpace.storage.base import Entry

LOG_PAGE_SIZE = 15
SHOWN_REFUSALS = 5
"""Refused deliveries that the page lists."""
UNDOABLE = (
    "approved",
    "overridden",
    "selected",
    "delivered",
    "forgotten",
    "budgeted",
    "amended",
    "retrained",
    "closed",
    "undone",
)
"""Kinds of log entries that can be undone."""
_PRICES = ("fixed", "per_sample", "tiers", "minimum", "currency")


_VERDICTS = {
    "fail": ("✗", "violated", "violated"),
    "warn": ("!", "doubtful", "doubtful"),
    "pass": ("✓", "holds", "hold"),
    "open": ("–", "untested", "untested"),
}
"""Verdicts, worst first: symbol, label, and label after a count."""

MEASURED_TEXTS = {
    "fail": "target not met",
    "warn": "above the target lately",
    "pass": "agrees with the target",
    "open": "too early to judge",
}
"""Verdicts on the measured excess loss."""
BASE = "base model"
BASE_TEXTS = {"warn": "train the base again", "pass": "base model in order", "open": "base model"}
"""Verdicts on the base model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AssumptionBadge:
    """One assumption; ``verdict`` is "open" while there are too few rows to test it."""

    name: str
    sentence: str
    verdict: str

    @property
    def symbol(self) -> str:
        """The verdict as a symbol."""
        return _VERDICTS[self.verdict][0]

    @property
    def label(self) -> str:
        """The verdict as a word."""
        return _VERDICTS[self.verdict][1]


def badges(assumptions: Sequence[Assumption]) -> tuple[AssumptionBadge, ...]:
    """Return assumptions with their verdicts, worst first.

    >>> from driftpace.records import Verdict
    >>> few = Assumption(name="tails", verdict=Verdict.PASS, sentence="No rows yet.", judged=False)
    >>> badges([few])[0].label
    'untested'
    """
    items = [
        AssumptionBadge(name=item.name, sentence=item.sentence, verdict=item.verdict.value if item.judged else "open")
        for item in assumptions
    ]
    order = list(_VERDICTS)
    return tuple(sorted(items, key=lambda item: order.index(item.verdict)))


def measured_badge(status: Status) -> AssumptionBadge | None:
    """Return what was promised and measured with the verdict of its check; None before anything was measured.

    The open order has the latest verdict, and the last report the numbers of periods that are too few to judge.
    """
    assumptions = status.order.request.assumptions if status.order else ()
    check = measured_check(assumptions) or measured_check(status.last.assumptions if status.last else ())
    if check is not None:
        return badges([check])[0]
    audit = None if status.last is None else status.last.audit
    return None if audit is None else AssumptionBadge(name=MEASURED_RISK, sentence=f"{audit.sentence}.", verdict="open")


def base_badge(status: Status) -> AssumptionBadge | None:
    """Return how old the base model is and what training it again would gain, doubtful where that is due; None without a base."""
    retrain = None if status.last is None else status.last.retrain
    if retrain is None:
        return None
    verdict = "warn" if retrain.due else "open" if retrain.gain is None else "pass"
    verb = "is" if retrain.since else "was"
    return AssumptionBadge(name=BASE, sentence=f"The base {verb} {base_lines(retrain)[0][1]}.", verdict=verdict)


def tally(assumptions: Sequence[AssumptionBadge]) -> str:
    """Return the number of assumptions with each verdict.

    >>> tally([AssumptionBadge(name="", sentence="", verdict=verdict) for verdict in ("warn", "pass", "pass")])
    '1 doubtful, 2 hold'
    """
    verdicts = [item.verdict for item in assumptions]
    counts = [(verdict, verdicts.count(verdict)) for verdict in _VERDICTS]
    return ", ".join(f"{count} {_VERDICTS[verdict][1 if count == 1 else 2]}" for verdict, count in counts if count)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """An entry of the log with its description; ``undone_by`` is the entry that took it back, None where it counts."""

    entry: Entry
    text: EntryText
    undone_by: int | None = None

    @property
    def can_be_undone(self) -> bool:
        """Whether the page offers to undo the entry; the campaign may still refuse it."""
        return self.undone_by is None and self.entry.kind in UNDOABLE


@dataclass(frozen=True, kw_only=True, slots=True)
class LogPage:
    """A page of the log, latest entry first."""

    lines: tuple["LogLine", ...]
    page: int
    pages: int
    entries: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignPage:
    """The content of the page of one campaign.

    ``measured`` is the measured excess loss beside the promised one, with its verdict, ``base`` the advice on the base model.
    ``cost`` is the cost of the missing rows, ``over`` the amount by which the whole order exceeds the budget. ``prices`` (JSON) and
    ``purse`` (the money for the open period) let the page compute the cost of an override. ``budget`` describes the budget, ""
    without one, ``last`` is its last period, and ``short`` says that the money or the periods do not suffice. ``deliveries`` are
    sentences on what is waiting, late, refused and undone, by label. ``history`` is the page of the closed periods in the figures.
    """

    status: Status
    definition: Definition
    need: str
    figures: tuple[PageFigure, ...]
    history: HistoryPage
    assumptions: tuple[AssumptionBadge, ...]
    log: LogPage
    facts: tuple[tuple[str, str], ...]
    cost: Money | None
    measured: AssumptionBadge | None = None
    base: AssumptionBadge | None = None
    over: Money | None = None
    prices: str = ""
    purse: str = ""
    budget: str = ""
    last: int | None = None
    short: str = ""
    deliveries: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def order(self) -> Order | None:
        """The open order."""
        return self.status.order

    @property
    def currency(self) -> str:
        """The currency of the budget, "" if it has none."""
        return str((self.definition.budget or {}).get("currency", ""))

    @property
    def asked(self) -> int | None:
        """The number of rows the tracker asks for in the whole open period."""
        if self.order is None:
            return None
        request = self.order.request
        return self.order.received + request.samples if request.plan is None else request.plan.samples[0]

    @property
    def max_rows(self) -> int | None:
        """The number of rows needed at the upper bound of the drift; None if only the cap on orders limits it."""
        top = 0 if self.order is None else self.order.request.interval[1]
        return top if top < self.definition.cap else None

    @property
    def needs_money(self) -> bool:
        """Whether adding to the budget is the next step."""
        return bool(self.short) and (self.need == "money" or self.status.period > (self.last or 0))

    @property
    def bounded(self) -> bool:
        """Whether the excess loss of the open order can be predicted."""
        return self.order is not None and math.isfinite(self.order.risk_bound)

    @property
    def measured_text(self) -> str:
        """The verdict on the measured excess loss in a few words."""
        return "" if self.measured is None else MEASURED_TEXTS[self.measured.verdict]

    @property
    def base_text(self) -> str:
        """The verdict on the base model in a few words."""
        return "" if self.base is None else BASE_TEXTS[self.base.verdict]

    @property
    def need_text(self) -> str:
        """The state of the campaign in two words."""
        return NEEDS[self.need]


def load_page(
    campaign: Campaign, history: History | None = None, *, log_page: int = 1, history_page: int = 1
) -> CampaignPage:
    """Return the content of the page; what did not change since ``history`` was made is taken from there.

    >>> from driftpace.storage import MemoryStore
    >>> campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.1, "seed": 0}, storage=MemoryStore())
    >>> load_page(campaign).need_text, [line.text.title for line in load_page(campaign).log.lines]
    ('To ask', ['Created'])
    """
    status, definition = campaign.status(), campaign.definition
    encoding = None if definition.features is not None else campaign.encoding
    if history is None or history.seq != status.entries:  # the campaign has changed meanwhile
        history = History(seq=status.entries, ledger=campaign.ledger())
    budget = definition.make_budget()
    order = status.order
    price = None if order is None or budget is None else budget.price(order.samples)
    purse = None if budget is None or status.spent is None else budget.money - status.spent
    pages = HistoryPage.of(len(history.ledger), history_page)
    assumptions = status.order.request.assumptions if status.order else status.last.assumptions if status.last else ()
    gone = history.part("undone", lambda: undone_by(campaign.log(kinds=("undone",))))
    first = max(1, status.period - LATEST)
    waiting = history.part("waiting", lambda: campaign.outstanding(first=first))
    return CampaignPage(
        status=status,
        definition=definition,
        need=need_of(status),
        figures=history.part(
            ("figures", pages.page), lambda: _figures(history.ledger, status, budget, price, pages.page)
        ),
        history=pages,
        assumptions=badges(assumptions),
        log=read_log(campaign, gone, entries=status.entries, page=log_page),
        facts=definition_facts(definition, status, shown=() if encoding is None else encoding.sources),
        cost=None if order is None else order.cost,
        measured=measured_badge(status),
        base=base_badge(status),
        over=price - purse if price is not None and purse is not None and purse < price else None,
        prices=_prices(definition),
        purse="" if purse is None else format(purse.amount, "f"),
        budget="" if budget is None else f"{money(budget.money)} over {plural(budget.horizon, 'period')}",
        last=None if budget is None else budget.horizon,
        short="" if budget is None else shortage(status, budget.horizon),
        deliveries=delivery_facts(campaign, status, waiting, undone=len(gone)),
    )


def _figures(
    ledger: Sequence[LedgerRow], status: Status, budget: Budget | None, price: Money | None, page: int
) -> tuple[PageFigure, ...]:
    figures = (
        excess_loss_figure(ledger, page),
        drift_figure(ledger, page),
        rows_figure(ledger, status.order, page),
        spending_figure(ledger, status.order, total=None if budget is None else budget.money, cost=price, page=page),
    )
    return tuple(figure for figure in figures if figure is not None)


def delivery_facts(
    campaign: Campaign, status: Status, outstanding: Mapping[int, int], *, undone: int
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return sentences on what is waiting, late, refused and undone, by label; nothing where there is none."""
    late = status.lateness
    refusals = campaign.refusals()
    open_ones = since_last_delivery(refusals, campaign.log(kinds=("delivered",))) if refusals else []
    refused = [
        f"{when(one.at)}: {quoted(one.source) if one.source else 'rows'}{f' by {one.who}' if one.who else ''}. "
        f"{capitalized(one.sentence)}"
        for one in reversed(open_ones[-SHOWN_REFUSALS:])
    ]
    more = len(open_ones) - SHOWN_REFUSALS
    refused += [f"And {plural(more, 'delivery', 'deliveries')} before."] if more > 0 else []
    gone = f"{plural(undone, 'entry', 'entries')} of the log no longer {'counts' if undone == 1 else 'count'}."
    facts = {
        "Waiting": [f"{outstanding_sentence(outstanding)}."] if outstanding else [],
        "Late": [f"{capitalized(text)}." for text in (late.sentence, late.warning) if text] if late else [],
        "Refused": refused,
        "Undone": [gone] if undone else [],
    }
    return tuple((label, tuple(texts)) for label, texts in facts.items() if texts)


def shortage(status: Status, last: int) -> str:
    """Return what a budget with that last period is short of, periods or money; "" if nothing."""
    if status.period > last:
        return f"The budget ended with period {last:,}: add periods, with or without money, to continue."
    request = None if status.order is None else status.order.request
    if request is None or (request.outcome is not Outcome.BUDGET and (request.plan is None or request.plan.holds)):
        return ""
    left = last - status.period + 1
    over = "this period" if left == 1 else f"the {left:,} remaining periods"
    return f"The remaining budget does not meet the target over {over}; adding money may help."


def need_of(status: Status) -> str:
    """Return the need of a campaign, a key of ``NEEDS``."""
    if status.archived:
        return "archived"
    order = status.order
    if order is None:
        return "ask"
    if order.code == FAILED:
        return "look"
    if order.code == EXHAUSTED:
        return "money"
    if order.missing > 0:
        return "labels"
    return "close" if order.received else "wait"


def read_log(campaign: Campaign, gone: Mapping[int, int], *, entries: int, page: int) -> LogPage:
    """Return a page of the log; entries are numbered without gaps, so that only this page is read."""
    pages = max(1, -(-entries // LOG_PAGE_SIZE))
    page = min(max(1, page), pages)
    last = entries - (page - 1) * LOG_PAGE_SIZE
    first = max(0, last - LOG_PAGE_SIZE)
    entries_read = campaign.log(after=first, limit=last - first)
    return LogPage(
        lines=tuple(
            LogLine(entry=entry, text=describe_entry(entry), undone_by=gone.get(entry.seq))
            for entry in reversed(entries_read)
        ),
        page=page,
        pages=pages,
        entries=entries,
    )


def definition_facts(
    definition: Definition, status: Status, *, shown: Sequence[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the definition as pairs of a label and its value; ``shown`` are the features that the first rows have."""
    facts: list[tuple[str, str]] = [("Target", status.target)]
    if definition.target is not None:
        facts.append(("Label column", definition.target))
    facts.append(("Features", ", ".join(definition.features or shown) or "those of the first delivery"))
    if definition.model is not None:
        until = f", trained until {definition.model['trained_until']}" if "trained_until" in definition.model else ""
        facts.append(("Base model", f"{definition.model['format']} {definition.model['sha256'][:12]}{until}"))
    if definition.period is not None:
        facts.append(("Periods", f"by {definition.period}"))
    if definition.classes is not None:
        *first, last = definition.classes
        facts.append(("Classes", f"{', '.join(first)} or {last}"))
    for name, words in definition.categories.items():
        others = f"; others count as {', '.join(definition.unknown_levels(name, words[:1]))}"
        facts.append((f"Categories of {name}", f"{', '.join(words)}{others}"))
    filled = {"impute": "filled", "drop": "their rows are left out", "refuse": "refused"}[definition.missing]
    facts.append(("Missing features", filled))
    if definition.id is not None:
        facts.append(("Row ID", definition.id))
    if definition.groups is not None:
        facts.append(("Groups", definition.groups))
    if definition.weight is not None:
        facts.append(("Weights", definition.weight))
    if definition.exposure is not None:
        facts.append(("Exposure", definition.exposure))
    if definition.annotator is not None:
        facts.append(("Annotators", definition.annotator))
    facts += [("Noise of labels", capitalized(sentence)) for sentence in _noise_of_labels(status)]
    penalty = definition.l2 if isinstance(definition.l2, tuple) else (definition.l2,)
    weights = ", ".join(f"{weight:g}" for weight in penalty)
    facts.append(("Loss", definition.loss + (f", L2 penalty {weights}" if any(penalty) else "")))
    if definition.budget is not None:
        facts.append(("Budget", _budget_text(definition)))
    facts += _period_facts(definition)
    facts.append(("Rows", "kept" if definition.keep_rows else "deleted when a period is closed"))
    return tuple(facts)


def _noise_of_labels(status: Status) -> tuple[str, ...]:
    """Return how much of the noise is the annotators', who labels differently, and what to buy next."""
    report = status.annotators
    return () if report is None else tuple(filter(None, (report.sentence, report.agreement, *report.warnings)))


def _period_facts(definition: Definition) -> list[tuple[str, str]]:
    """Return the settings of orders and periods that are not the default."""
    facts: list[tuple[str, str]] = []
    if definition.orders is not None:
        facts.append(("Orders in a period", f"at most {definition.orders}"))
    if definition.season is not None:
        facts.append(("Season", f"{definition.season} periods"))
    if definition.audit is not None:
        facts.append(("Held out for the audit", f"{100 * definition.audit:.0f} % of each order"))
    if definition.delay is not None:
        facts.append(("Labels may be late", f"up to {plural(definition.delay, 'period')}"))
    if definition.pool is not None:
        facts.append(("Rows available per period", f"{definition.pool:,}"))
    return facts


def ledger_text(ledger: Sequence[LedgerRow]) -> str:
    """Return the ledger as JSON."""
    return json.dumps([ledger_json(row) for row in ledger], indent=1, allow_nan=False)


def _budget_text(definition: Definition) -> str:
    budget, made = definition.budget or {}, definition.make_budget()
    currency = budget.get("currency", "")
    order = f"{money(Money.of(budget.get('fixed', 0), currency))} per order"
    total = f"{money(None if made is None else made.money)} over {budget['horizon']} periods"
    if "tiers" in budget:
        return f"{total}; {order} and {tier_text(budget['tiers'])}"
    return f"{total}; {order} and {money(Money.of(budget.get('per_sample', 1), currency))} per row"


def _prices(definition: Definition) -> str:
    budget = definition.budget
    if budget is None:
        return ""
    return json.dumps({name: budget[name] for name in _PRICES if name in budget}, default=str)
