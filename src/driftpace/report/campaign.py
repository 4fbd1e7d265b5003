"""The report of a campaign as one HTML page."""

import math
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from driftpace.campaign.log_text import describe_entry
from driftpace.campaign.text import base_lines, capitalized, measured_check, order_lines, order_sentence, period_name
from driftpace.formatting import known_number, plural
from driftpace.records import AnnotatorReport, Assumption, Audit, MetricReport, Money, Verdict
from driftpace.report import campaign_figures
from driftpace.report.page import (
    Card,
    Section,
    assumptions_html,
    cards_html,
    facts_html,
    figure_data,
    header_html,
    html_document,
    section_html,
    summary_html,
    table_html,
)

if TYPE_CHECKING:
    from driftpace.campaign import Campaign, LedgerRow, Status

ENTRIES = 200
"""The page shows at most this many entries of the log, the latest."""

_TONES = {Verdict.FAIL: "bad", Verdict.WARN: "warn", Verdict.PASS: "good"}


def campaign_report(campaign: "Campaign") -> str:
    """Return the report of a campaign as one HTML page.

    Parameters
    ----------
    campaign : Campaign
        An open campaign; it is read and not changed.

    Returns
    -------
    str
        A page that loads nothing from elsewhere. Its figures need plotly (``pip install "driftpace[report]"``).
    """
    status, ledger = campaign.status(), campaign.ledger()
    sections = _sections(campaign, status, ledger)
    description = campaign.definition.description
    body = [
        header_html(f"driftpace campaign · {status.name}" + (f" · {description}" if description else ""), status.todo),
        summary_html(_cards(status, ledger)),
        _order(status),
        *(section_html(section) for section in sections),
        _assumptions(status),
        _log(campaign),
        _configuration(campaign, status),
    ]
    title = f"{status.name}: labels, drift, risk and money"
    return html_document(title=title, body=body, figures=figure_data(sections), owner="campaign_report()")


def _sections(campaign: "Campaign", status: "Status", ledger: tuple["LedgerRow", ...]) -> list[Section]:
    sections: list[Section | None] = []
    if ledger or status.order is not None:
        sections.append(campaign_figures.labels_section(ledger, status.order))
    if ledger:
        sections += [
            campaign_figures.drift_section(ledger),
            campaign_figures.risk_section(ledger),
            campaign_figures.served_section(ledger),
        ]
    budget = campaign.definition.budget
    if budget is not None and (ledger or status.order is not None):
        total = Money.of(budget["total"], budget.get("currency", ""))
        plan = None if status.order is None else status.order.request.plan
        sections.append(campaign_figures.money_section(ledger, total, plan))
    return [section for section in sections if section is not None]


def _cards(status: "Status", ledger: tuple["LedgerRow", ...]) -> str:
    order, last = status.order, status.last
    if order is None:
        now = Card(title="Now", value="Ask", note=f"how many rows period {status.period} needs")
    else:
        value = f"Label {order.missing:,}" if order.missing else "Nothing to label"
        now = Card(title="Now", value=value, note=period_name(order.period, order.key))
    cards = [
        now,
        Card(title="Labels so far", value=f"{status.rows:,}", note=f"in {plural(len(ledger), 'closed period')}"),
    ]
    if last is not None:
        met = last.outcome.promised
        cards.append(
            Card(
                title="Last period",
                value="Within the target" if met else "Target not met",
                note=f"expected excess loss {known_number(last.risk_bound)} (target {known_number(last.epsilon)})"
                + ("" if met else f": {last.outcome.sentence}"),
                tone="good" if met else "bad",
            )
        )
        if last.metric is not None and last.metric.mean is not None:
            cards.append(_metric_card(last.metric))
        if last.audit is not None:
            cards.append(_measured_card(status, last.audit))
    if status.spent is not None and status.money_left is not None:
        cards.append(Card(title="Money left", value=str(status.money_left), note=f"{status.spent} spent"))
    return cards_html(cards)


def _metric_card(metric: MetricReport) -> Card:
    """Return the metric in which the target is given, as measured."""
    low, high = metric.interval or (math.nan, math.nan)
    missed = metric.out_of_reach or (high < metric.target if metric.higher else low > metric.target)
    return Card(
        title=f"Measured {metric.title}",
        value=f"{metric.mean:.3g} ± {metric.mean_error:.2g}",
        note=metric.sentence,
        tone="bad" if missed else "good",
    )


def _measured_card(status: "Status", audit: Audit) -> Card:
    """Return the measured excess loss, coloured by the verdict of the latest check."""
    order, last = status.order, status.last
    check = measured_check(() if order is None else order.request.assumptions)
    check = check or measured_check(() if last is None else last.assumptions)
    return Card(
        title="Measured excess loss",
        value=f"{max(audit.mean, 0.0):.2g} ± {audit.mean_error:.2g}",
        note=audit.sentence,
        tone="" if check is None else _TONES[check.verdict],
    )


def _order(status: "Status") -> str:
    if status.order is None:
        return ""
    lines = [(label, text) for label, text in order_lines(status.order) if label not in ("Failed", "Warning")]
    return (
        '<section aria-labelledby="order-title"><h2 id="order-title">Current order</h2>'
        f"<p>{escape(order_sentence(status.order))}</p>{facts_html(lines)}</section>"
    )


def _assumptions(status: "Status") -> str:
    assumptions: tuple[Assumption, ...] = ()
    if status.order is not None and status.order.request.assumptions:
        assumptions = status.order.request.assumptions
    elif status.last is not None:
        assumptions = status.last.assumptions
    rows = [(_TONES[one.verdict] if one.judged else "open", one.name, "", one.sentence) for one in assumptions]
    return (
        '<section aria-labelledby="rests-title"><h2 id="rests-title">Assumptions</h2>'
        f"{assumptions_html(rows, 'No checks yet.')}</section>"
    )


def _log(campaign: "Campaign") -> str:
    entries = campaign.store.latest(campaign.name, limit=ENTRIES)
    rows = [
        (
            entry.at[:19].replace("T", " "),
            entry.kind,
            describe_entry(entry).text,
            str(entry.body.get("who", "")),
        )
        for entry in reversed(entries)
    ]
    cut = f"<p class='quiet'>The last {len(rows)} entries.</p>" if entries and entries[0].seq > 1 else ""
    return (
        '<section aria-labelledby="log-title"><h2 id="log-title">Log</h2><details><summary>Events, the latest first'
        f"</summary>{cut}{table_html(('Time (UTC)', 'Event', 'Description', 'Who'), rows, 'Log')}</details></section>"
    )


def _noise_of_labels(report: AnnotatorReport) -> str:
    """Return how much of the noise is the annotators', who labels differently, and what to buy next."""
    said = [part.rstrip(".") for part in (report.sentence, report.agreement, *report.warnings) if part]
    return "".join(f"{capitalized(part)}. " for part in said).rstrip()


def _configuration(campaign: "Campaign", status: "Status") -> str:
    definition = campaign.definition
    facts: list[tuple[str, Any]] = [
        ("Predicted column", definition.target or "given with the rows"),
        ("Features", "those of the first delivery" if definition.features is None else ", ".join(definition.features)),
        ("Classes", "" if definition.classes is None else ", ".join(definition.classes)),
        ("Loss", definition.loss),
        ("Target", status.target),
        ("Base model", "" if status.last is None else "; ".join(text for _, text in base_lines(status.last.retrain))),
        ("Annotators", definition.annotator or ""),
        ("Noise of labels", "" if status.annotators is None else _noise_of_labels(status.annotators)),
        ("Rows", "kept" if status.keep_rows else "discarded when a period is closed"),
        ("Created", status.created_at),
        ("Updated", f"{status.updated_at}, entry {status.entries} of the log"),
        ("driftpace", version("driftpace")),
    ]
    return (
        '<section aria-labelledby="facts-title"><h2 id="facts-title">Configuration</h2>'
        f"{facts_html([(name, str(text)) for name, text in facts if text])}</section>"
    )
