"""A campaign as one HTML file: nothing is fetched, nothing can be injected.

It stands on the figures, the style and the script of the backtest's report, so that both look and behave alike.
"""

from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from driftpace.cli.log import describe as said
from driftpace.cli.order_text import order_lines
from driftpace.cli.order_text import order_sentence as sentence
from driftpace.cli.order_text import period_name as called
from driftpace.cli.output import number, plural
from driftpace.cli.report import plots
from driftpace.records import Assumption, Money, Verdict
from driftpace.report.page import Section, figure_data, html_document, section_html, table_html

if TYPE_CHECKING:
    from driftpace.campaign import Campaign, LedgerRow, Status

ENTRIES = 200
"""How much of the log the page shows: its end."""

_SIGNS = {Verdict.FAIL: ("bad", "✗ fails"), Verdict.WARN: ("warn", "! careful"), Verdict.PASS: ("good", "✓ holds")}


def page(campaign: "Campaign") -> str:
    """Return the whole page."""
    status, ledger = campaign.status(), campaign.ledger()
    sections = _sections(campaign, status, ledger)
    about = campaign.definition.description
    above = escape(f"driftpace campaign · {status.name}" + (f" · {about}" if about else ""))
    short = '<h2 id="short-title" class="hidden">In short</h2>'
    body = [
        f"<header><p class='quiet'>{above}</p><h1>{escape(status.todo)}</h1></header>",
        f'<section aria-labelledby="short-title">{short}{_cards(status, ledger)}</section>',
        _order(status),
        *(section_html(each) for each in sections),
        _assumptions(status),
        _log(campaign),
        _facts(campaign, status),
    ]
    title = f"{status.name}: labels, drift, promises and money"
    return html_document(title=title, body=body, figures=figure_data(sections), owner="The report")


def _sections(campaign: "Campaign", status: "Status", ledger: tuple["LedgerRow", ...]) -> list[Section]:
    found: list[Section | None] = []
    if ledger or status.order is not None:
        found.append(plots.labels(ledger, status.order))
    if ledger:
        found += [plots.drift(ledger), plots.promised(ledger), plots.served(ledger)]
    budget = campaign.definition.budget
    if budget is not None and (ledger or status.order is not None):
        total = Money.of(budget["total"], budget.get("currency", ""))
        found.append(plots.money(ledger, total, None if status.order is None else status.order.request.plan))
    return [each for each in found if each is not None]


def _cards(status: "Status", ledger: tuple["LedgerRow", ...]) -> str:
    order, last = status.order, status.last
    if order is None:
        now = ("Now", "Ask", f"how many rows period {status.period} needs", "")
    elif order.missing:
        now = ("Now", f"Label {order.missing:,}", called(order.period, order.key), "")
    else:
        now = ("Now", "Nothing to label", called(order.period, order.key), "")
    found = [now, ("Labels so far", f"{status.rows:,}", f"in {plural(len(ledger), 'closed period')}", "")]
    if last is not None:
        kept = last.outcome.promised
        found.append(
            (
                "Last promise",
                "Held" if kept else "Not held",
                f"{number(last.risk_bound)} above the best {'promised' if kept else 'expected'}, asked {number(last.epsilon)}",
                "good" if kept else "bad",
            )
        )
    if status.spent is not None and status.money_left is not None:
        found.append(("Money left", str(status.money_left), f"{status.spent} spent", ""))
    cards = "".join(
        f'<li class="card {tone}"><h3>{escape(title)}</h3><p class="value">{escape(value)}</p>'
        f"<p class='quiet'>{escape(note)}</p></li>"
        for title, value, note, tone in found
    )
    return f'<ul class="cards">{cards}</ul>'


def _order(status: "Status") -> str:
    if status.order is None:
        return ""
    lines = [(head, text) for head, text in order_lines(status.order) if head not in ("Fails", "Careful")]
    return (
        f'<section aria-labelledby="order-title"><h2 id="order-title">The order</h2><p>{escape(sentence(status.order))}</p>'
        f"{_pairs(lines)}</section>"
    )


def _assumptions(status: "Status") -> str:
    found: tuple[Assumption, ...] = ()
    if status.order is not None and status.order.request.assumptions:
        found = status.order.request.assumptions
    elif status.last is not None:
        found = status.last.assumptions
    items = "".join(
        f'<li><span class="badge {_SIGNS[each.verdict][0]}">{_SIGNS[each.verdict][1]}</span><div>'
        f"<strong>{escape(each.name)}</strong><p>{escape(each.sentence)}</p></div></li>"
        for each in sorted(found, key=lambda one: list(_SIGNS).index(one.verdict))
    )
    body = f'<ul class="assumptions">{items}</ul>' if items else "<p>Nothing was checked yet.</p>"
    return f'<section aria-labelledby="rests-title"><h2 id="rests-title">What the promise rests on</h2>{body}</section>'


def _log(campaign: "Campaign") -> str:
    entries = campaign.store.latest(campaign.name, limit=ENTRIES)
    rows = [
        (
            one.at[:19].replace("T", " "),
            one.kind,
            said(one.kind, one.body, one.key),
            str(one.body.get("who", "")),
        )
        for one in reversed(entries)
    ]
    first = entries[0].seq if entries else 1
    more = f"<p class='quiet'>The last {len(rows)} entries.</p>" if first > 1 else ""
    return (
        '<section aria-labelledby="log-title"><h2 id="log-title">The log</h2><details><summary>What happened, the last first'
        f"</summary>{more}{table_html(('When (UTC)', 'What', 'In words', 'Who'), rows, 'The log')}</details></section>"
    )


def _facts(campaign: "Campaign", status: "Status") -> str:
    definition = campaign.definition
    facts: list[tuple[str, Any]] = [
        ("Predicted column", definition.target or "given by hand"),
        ("Features", "every numeric column" if definition.features is None else ", ".join(definition.features)),
        ("Classes", "" if definition.classes is None else " and ".join(definition.classes)),
        ("Loss", definition.loss),
        ("Target", status.target),
        ("Rows", "kept" if status.keep_rows else "forgotten when a period is closed"),
        ("Begun", status.created_at),
        ("Changed", f"{status.updated_at}, entry {status.entries} of the log"),
        ("driftpace", version("driftpace")),
    ]
    return (
        '<section aria-labelledby="facts-title"><h2 id="facts-title">What it is about</h2>'
        f"{_pairs([(name, str(text)) for name, text in facts if text])}</section>"
    )


def _pairs(pairs: list[tuple[str, str]]) -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in pairs)
    return f'<dl class="facts">{rows}</dl>'
