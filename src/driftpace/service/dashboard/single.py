"""Everything that the page of one campaign shows, read at once."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftpace.campaign import Campaign
from driftpace.campaign.definition import Definition
from driftpace.campaign.records import EXHAUSTED, FAILED, LedgerRow, Order, Status
from driftpace.campaign.serialization import ledger_json
from driftpace.records import Money, Outcome
from driftpace.service.dashboard import bought, measured
from driftpace.service.dashboard.assumed import Assumed, assumed
from driftpace.service.dashboard.figures import Figure
from driftpace.service.dashboard.formats import by_number, money, numeral, plural
from driftpace.service.dashboard.listing import SHOWN
from driftpace.service.dashboard.sentences import Line, line

LOG_PAGE = 15
_PRICES = ("fixed", "per_sample", "tiers", "minimum", "currency")


@dataclass(frozen=True, kw_only=True, slots=True)
class LogPage:
    """Some lines of the log, the latest first."""

    lines: tuple[Line, ...]
    page: int
    pages: int
    entries: int


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """One campaign as its page shows it.

    ``cost`` is what the rows that are missing cost, and ``over`` by how much the whole order exceeds the budget. ``prices`` and
    ``purse`` are for the page to say what another number would cost: the prices as JSON, and what there is for the open period.
    ``budget`` is the budget in words, "" where nothing can be added to one, ``last`` its last period, and ``short`` says where
    money is short or the periods of the budget are over.
    """

    status: Status
    definition: Definition
    need: str
    figures: tuple[Figure, ...]
    assumptions: tuple[Assumed, ...]
    log: LogPage
    facts: tuple[tuple[str, str], ...]
    cost: Money | None
    over: Money | None = None
    prices: str = ""
    purse: str = ""
    budget: str = ""
    last: int | None = None
    short: str = ""

    @property
    def order(self) -> Order | None:
        """The open order."""
        return self.status.order

    @property
    def currency(self) -> str:
        """What the money of the campaign is, where that was said."""
        return str((self.definition.budget or {}).get("currency", ""))

    @property
    def asked(self) -> int | None:
        """How many rows the tracker asks for in the whole open period: by its plan, or with what came."""
        if self.order is None:
            return None
        request = self.order.request
        return self.order.received + request.samples if request.plan is None else request.plan.samples[0]

    @property
    def most(self) -> int | None:
        """The most rows that the drift at its upper end asks for; None where that is only the cap on an order."""
        top = 0 if self.order is None else self.order.request.interval[1]
        return top if top < self.definition.cap else None

    @property
    def broke(self) -> bool:
        """Whether more money is the first thing that the campaign needs."""
        return bool(self.short) and (self.need == "money" or self.status.period > (self.last or 0))

    @property
    def need_words(self) -> str:
        """What the campaign needs, in two words."""
        return SHOWN[self.need]


def view(campaign: Campaign, *, log_page: int = 1) -> View:
    """Return what the page shows.

    >>> from driftpace.storage import MemoryStore
    >>> campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.1, "seed": 0}, storage=MemoryStore())
    >>> view(campaign).need_words, [line.title for line in view(campaign).log.lines]
    ('To ask', ['Created'])
    """
    status, definition, ledger = campaign.status(), campaign.definition, campaign.ledger()
    budget = definition.make_budget()
    order = status.order
    price = None if order is None or budget is None else budget.price(order.samples)
    purse = None if budget is None or status.spent is None else budget.money - status.spent
    pictures = (
        measured.promise(ledger),
        measured.drift(ledger),
        bought.rows(ledger, status.order),
        bought.spending(ledger, status.order, total=None if budget is None else budget.money, cost=price),
    )
    held = status.order.request.assumptions if status.order else status.last.assumptions if status.last else ()
    return View(
        status=status,
        definition=definition,
        need=need_of(status),
        figures=tuple(one for one in pictures if one is not None),
        assumptions=assumed(held),
        log=log_of(campaign, entries=status.entries, page=log_page),
        facts=facts(definition, status),
        cost=None if order is None else order.cost,
        over=price - purse if price is not None and purse is not None and purse < price else None,
        prices=_prices(definition),
        purse="" if purse is None else format(purse.amount, "f"),
        budget="" if budget is None else f"{money(budget.money)} over {plural(budget.horizon, 'period')}",
        last=None if budget is None else budget.horizon,
        short="" if budget is None else short_of(status, budget.horizon),
    )


def short_of(status: Status, last: int) -> str:
    """Return what is short of a budget whose last period that is: periods, or money for the target; "" where nothing is."""
    if status.period > last:
        which = plural(last, "period")
        return f"The {which} of the budget {'is' if last == 1 else 'are'} over: more of them, with money or without, let it go on."
    request = None if status.order is None else status.order.request
    if request is None or (request.outcome is not Outcome.BUDGET and (request.plan is None or request.plan.holds)):
        return ""
    left = last - status.period + 1
    over = "this period" if left == 1 else f"the {left:,} periods left"
    return f"The money left does not hold the target over {over}: more money might."


def need_of(status: Status) -> str:
    """Return what a campaign needs, as the list says it."""
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


def log_of(campaign: Campaign, *, entries: int, page: int) -> LogPage:
    """Return some lines of the log; the entries are numbered without a gap, so a page is found without reading the others."""
    pages = max(1, -(-entries // LOG_PAGE))
    page = min(max(1, page), pages)
    last = entries - (page - 1) * LOG_PAGE
    first = max(0, last - LOG_PAGE)
    found = campaign.log(after=first, limit=last - first)
    return LogPage(lines=tuple(line(entry) for entry in reversed(found)), page=page, pages=pages, entries=entries)


def facts(definition: Definition, status: Status) -> tuple[tuple[str, str], ...]:
    """Return the definition in words."""
    found: list[tuple[str, str]] = [("Target", status.target)]
    if definition.target is not None:
        found.append(("Predicts", definition.target))
    found.append(("Features", ", ".join(definition.features) if definition.features else "every numeric column"))
    if definition.classes is not None:
        found.append(("Classes", " or ".join(definition.classes)))
    for name, words in definition.categories.items():
        other = (
            f"; any other counts as {definition.unknown_categories[name]}"
            if name in definition.unknown_categories
            else ""
        )
        found.append((f"Words of {name}", f"{', '.join(words)}{other}"))
    if definition.id is not None:
        found.append(("Rows told apart by", definition.id))
    if definition.groups is not None:
        found.append(("Groups", definition.groups))
    penalty = definition.l2 if isinstance(definition.l2, tuple) else (definition.l2,)
    chosen = ", ".join(f"{one:g}" for one in penalty)
    found.append(("Loss", definition.loss + (f", with a penalty of {chosen}" if any(penalty) else "")))
    if definition.budget is not None:
        found.append(("Budget", _budget_words(definition)))
    if definition.pool is not None:
        found.append(("Rows a period can give", f"{definition.pool:,}"))
    found.append(("Rows are", "kept" if definition.keep_rows else "forgotten when a period is closed"))
    return tuple(found)


def ledger_csv(ledger: Sequence[LedgerRow]) -> str:
    """Return the ledger as a table for a spreadsheet; text that a spreadsheet would compute with is kept from it."""
    rows = [_flat(ledger_json(row)) for row in ledger]
    names = list(rows[0]) if rows else ["period"]
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def ledger_text(ledger: Sequence[LedgerRow]) -> str:
    """Return the ledger as JSON."""
    return json.dumps([ledger_json(row) for row in ledger], indent=1, allow_nan=False)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    served, cost, mine = row["served"] or {}, row["cost"] or {}, row["overridden"] or {}
    kept = {name: value for name, value in row.items() if not isinstance(value, dict | list) and name != "seconds"}
    kept.pop("served", None)
    kept.pop("selected", None)
    kept.pop("overridden", None)
    kept |= {"cost": cost.get("amount"), "currency": cost.get("currency")}
    kept |= {f"served_{name}": served.get(name) for name in ("rows", "loss", "error", "accuracy")}
    kept |= {f"overridden_{name}": mine.get(name) for name in ("samples", "risk_bound")}
    return {name: _tame(value) for name, value in kept.items()}


def _tame(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _budget_words(definition: Definition) -> str:
    budget, made = definition.budget or {}, definition.make_budget()
    said = f"{money(None if made is None else made.money)} over {budget['horizon']} periods"
    if "tiers" in budget:
        return f"{said}; {numeral(budget.get('fixed', 0))} for an order and {by_number(budget['tiers'])}"
    return (
        f"{said}; {numeral(budget.get('fixed', 0))} for an order and {numeral(budget.get('per_sample', 1))} for a row"
    )


def _prices(definition: Definition) -> str:
    budget = definition.budget
    if budget is None:
        return ""
    return json.dumps({name: budget[name] for name in _PRICES if name in budget}, default=str)
