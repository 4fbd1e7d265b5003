"""The figures of a campaign's report, each with its sentence."""

import math
from collections.abc import Sequence

import numpy as np

from driftpace.campaign.records import LedgerRow, Order
from driftpace.campaign.text import capitalized
from driftpace.formatting import known_number, plural
from driftpace.records import Money, Plan
from driftpace.report.figures import ReportFigure, fits, highest
from driftpace.report.page import Section
from driftpace.typing import FloatArray

STATES = (("stable", "good", "circle"), ("warning", "warn", "triangle-up"), ("drift", "bad", "diamond"))


def period_names(ledger: Sequence[LedgerRow]) -> tuple[str, ...]:
    """Return a distinct name for each closed period."""
    keys = [row.key for row in ledger]
    return tuple(str(row.report.period) if row.key is None or keys.count(row.key) > 1 else row.key for row in ledger)


def labels_section(ledger: Sequence[LedgerRow], order: Order | None) -> Section:
    """Return the rows of each period, the open one included."""
    names = period_names(ledger)
    received = [float(row.report.samples) for row in ledger]
    asked = [float(row.report.asked) for row in ledger]
    theory = [float(row.report.samples_theory) for row in ledger]
    total, closed = int(sum(received)), len(names)
    if order is not None:
        now = order.key or str(order.period)
        names = (*names, now if now not in names else f"{now} (now)")
        received, asked = (
            [*received, float(order.received) if order.received else math.nan],
            [*asked, float(order.samples)],
        )
        theory = [*theory, float(order.request.samples_theory)]
    height = max(highest(received, asked), 1.0)
    figure = ReportFigure(periods=names, axis="rows in the period", digits=",.0f")
    figure.line("asked for", asked, colour="plum", dash="dash")
    figure.line("received", received, colour="own", width=2.5, markers=True)
    figure.line("proven rule (theory)", theory, colour="rose", dash="dot", shown=fits(theory, height))
    text = "No period is closed yet."
    if closed:
        text = f"{plural(total, 'row')} in {plural(closed, 'closed period')}, {known_number(total / closed)} a period on average."
    return Section(
        key="labels",
        title="Rows labelled",
        text=text + (" The last point is the open period." if order is not None else ""),
        alt="Rows asked for and received in each period.",
        figure=figure,
        columns=("Period", "Asked for", "Came", "Theory"),
        rows=[
            (name, _amount(a), _amount(c), _amount(t))
            for name, a, c, t in zip(names, asked, received, theory, strict=True)
        ],
    )


def drift_section(ledger: Sequence[LedgerRow]) -> Section:
    """Return the risk that drift added in each period, with its upper bound."""
    names, epsilon = period_names(ledger), _epsilon(ledger)
    rho = [(row.report.rho, row.report.rho_upper) if row.report.measures == "rho" else (None, None) for row in ledger]
    middle = np.array([math.nan if low is None else 0.5 * low**2 for low, _ in rho])
    upper = np.array([math.nan if high is None else 0.5 * high**2 for _, high in rho])
    figure = ReportFigure(
        periods=names, axis="risk added by drift", top=_top([highest(middle), highest(epsilon)], highest(upper))
    )
    figure.band("upper bound", middle, upper, colour="slate")
    figure.line("estimated drift", middle, colour="slate", width=1.5)
    figure.line("the target", epsilon, colour="bad", dash="dash", width=1.5)
    statuses = [row.report.status for row in ledger]
    for word, colour, symbol in STATES:
        places = [value if now == word else math.nan for value, now in zip(middle, statuses, strict=True)]
        figure.marks(word, places, colour=colour, symbol=symbol, note=[f"status {status}" for status in statuses])
    alarms = [name for name, now in zip(names, statuses, strict=True) if now == "drift"]
    where = f" Drift was reported in {', '.join(alarms[-5:])}." if alarms else ""
    return Section(
        key="drift",
        title="Drift",
        text="The excess risk that an unchanged model gains in a period; above the dashed line, one period without an update "
        f"misses the target.{where}",
        alt="Estimated drift in each period with its upper bound.",
        figure=figure,
        columns=("Period", "Drift", "Upper bound", "Status"),
        rows=[
            (name, _cell(a), _cell(b), now or "–")
            for name, a, b, now in zip(names, middle, upper, statuses, strict=True)
        ],
    )


def risk_section(ledger: Sequence[LedgerRow]) -> Section:
    """Return the expected and the measured excess risk of each period beside its certificate."""
    names, epsilon = period_names(ledger), _epsilon(ledger)
    bound = np.array([row.report.risk_bound for row in ledger])
    found = [row.report.certificate for row in ledger]
    certificate = np.array([math.nan if one is None else one for one in found])
    top = _top([highest(bound[np.isfinite(bound)]), highest(epsilon)], highest(certificate))
    figure = ReportFigure(periods=names, axis="excess risk", top=top)
    audits = [row.report.audit for row in ledger]
    single = [(math.nan, math.nan) if one is None else (one.measured, one.error) for one in audits]
    mean, error = np.array([(math.nan,) * 2 if one is None else (one.mean, one.mean_error) for one in audits]).T
    figure.band(
        "measured ± two standard errors", np.maximum(mean - 2.0 * error, 0.0), mean + 2.0 * error, colour="slate"
    )
    figure.line("measured, mean of the last periods", mean, colour="slate")
    figure.line("expected", bound, colour="own", width=2.5, markers=True)
    figure.line("certificate", certificate, colour="teal", dash="dot")
    figure.line("the target", epsilon, colour="bad", dash="dash", width=1.5)
    kept = sum(row.report.outcome.promised for row in ledger)
    last = next((one for one in reversed(audits) if one is not None), None)
    measured = "" if last is None else f" {capitalized(last.sentence)}."
    return Section(
        key="risk",
        title="Expected and measured risk, and certificate",
        text=f"The model was expected to be within the target in {kept} of {plural(len(ledger), 'period')}.{measured} "
        "The certificate is an "
        "upper bound computed from the rows; it is above the true risk as often as its level says, and mostly far above it.",
        alt="Expected and measured excess risk of each period, the certificate and the target.",
        figure=figure,
        columns=("Period", "Expected", "Measured", "Measured mean", "Certificate", "Target", "Outcome"),
        rows=[
            (name, _cell(b), _pair(*s), _pair(m, r), _cell(c), _cell(e), row.report.outcome.sentence)
            for name, b, s, m, r, c, e, row in zip(
                names, bound, single, mean, error, certificate, epsilon, ledger, strict=True
            )
        ],
    )


def served_section(ledger: Sequence[LedgerRow]) -> Section | None:
    """Return the prior loss of each period: of the previous model on its new rows; None where it was never measured."""
    if all(row.served is None for row in ledger):
        return None
    names = period_names(ledger)
    loss = np.array([math.nan if row.served is None else row.served.loss for row in ledger])
    error = np.array([math.nan if row.served is None else row.served.error for row in ledger])
    right = [None if row.served is None else row.served.accuracy for row in ledger]
    figure = ReportFigure(periods=names, axis="loss on new rows", from_zero=False)
    figure.band("two standard errors", loss - 2.0 * error, loss + 2.0 * error, colour="own")
    figure.line("previous model", loss, colour="own", width=2.5, markers=True)
    last = next(row.served for row in reversed(ledger) if row.served is not None)
    share = "" if last.accuracy is None else f", accuracy {last.accuracy:.0%}"
    return Section(
        key="served",
        title="Prior loss",
        text="The loss of the previous model on the rows of a period, before they are used for training. "
        f"In the last period: {known_number(last.loss)} on {plural(last.rows, 'row')}{share}.",
        alt="Loss of the previous model on the new rows of each period, with its standard error.",
        figure=figure,
        columns=("Period", "Loss", "Standard error", "Accuracy"),
        rows=[
            (name, _cell(a), _cell(b), "–" if c is None else f"{c:.0%}")
            for name, a, b, c in zip(names, loss, error, right, strict=True)
        ],
    )


def money_section(ledger: Sequence[LedgerRow], total: Money, plan: Plan | None) -> Section:
    """Return what was spent so far, what the plan spends, and the budget."""
    names = list(period_names(ledger))
    spent, so_far = [], Money(total.amount * 0, total.currency)
    for row in ledger:
        so_far += row.report.cost or Money(total.amount * 0, total.currency)
        spent.append(float(so_far))
    ahead = [math.nan] * len(names)
    if plan is not None:
        if ahead:
            ahead[-1] = spent[-1]
        for place, cost in enumerate(plan.costs):
            so_far += cost
            ahead.append(float(so_far))
            name = str(plan.first_period + place)
            names.append(name if name not in names else f"period {name}")
    spent += [math.nan] * (len(names) - len(spent))
    currency = f" ({total.currency})" if total.currency else ""
    figure = ReportFigure(periods=tuple(names), axis=f"spent so far{currency}", digits=",.2~f")
    figure.line("spent", spent, colour="own", width=2.5, markers=True)
    figure.line("planned", ahead, colour="plum", dash="dash")
    figure.line("budget", [float(total)] * len(names), colour="bad", dash="dot", width=1.5)
    planned = "" if plan is None else f" Plan: {plan.reason}."
    return Section(
        key="money",
        title="Money",
        text=f"Budget: {total}.{planned}",
        alt="Money spent after each period, planned spending, and the budget.",
        figure=figure,
        columns=("Period", "Spent", "Planned"),
        rows=[(name, _amount(a), _amount(b)) for name, a, b in zip(names, spent, ahead, strict=True)],
    )


def _epsilon(ledger: Sequence[LedgerRow]) -> FloatArray:
    return np.array([row.report.epsilon for row in ledger])


def _cell(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "–"


def _pair(value: float | None, error: float | None) -> str:
    """Return a measured number with its standard error."""
    if value is None or error is None or not math.isfinite(value):
        return "–"
    return f"{value:.3g} ± {error:.2g}"


def _amount(value: float) -> str:
    return f"{value:,.10g}" if math.isfinite(value) else "–"


def _top(shown: list[float], cut: float) -> float:
    """Return the top of the axis: all of ``shown`` fits, and what is more than ten times as high is cut."""
    height = max(*shown, 1e-12)
    return 1.15 * max(height, min(cut, 10.0 * height))
