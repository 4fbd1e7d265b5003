"""The figures of a campaign's page: labels, drift, promised against measured, the model in use, money; each with its sentence."""

import math
from collections.abc import Sequence

import numpy as np

from driftpace.campaign.records import LedgerRow, Order
from driftpace.cli.output import number, plural
from driftpace.records import Money, Plan
from driftpace.report.figures import Figure, fits, highest
from driftpace.report.page import Section
from driftpace.typing import FloatArray

STATES = (("stable", "good", "circle"), ("warning", "warn", "triangle-up"), ("drift", "bad", "diamond"))


def names_of(ledger: Sequence[LedgerRow]) -> tuple[str, ...]:
    """Return what each closed period is called below a figure, all different."""
    keys = [row.key for row in ledger]
    return tuple(str(row.report.period) if row.key is None or keys.count(row.key) > 1 else row.key for row in ledger)


def labels(ledger: Sequence[LedgerRow], order: Order | None) -> Section:
    """Show the rows of each period, and those of the open one."""
    names = names_of(ledger)
    came = [float(row.report.samples) for row in ledger]
    asked = [float(row.report.asked) for row in ledger]
    theory = [float(row.report.samples_theory) for row in ledger]
    total, closed = int(sum(came)), len(names)
    if order is not None:
        now = order.key or str(order.period)
        names = (*names, now if now not in names else f"{now} (now)")
        came, asked = [*came, float(order.received) if order.received else math.nan], [*asked, float(order.samples)]
        theory = [*theory, float(order.request.samples_theory)]
    height = max(highest(came, asked), 1.0)
    figure = Figure(periods=names, axis="rows in the period", digits=",.0f")
    figure.line("asked for", asked, colour="plum", dash="dash")
    figure.line("received", came, colour="own", width=2.5, markers=True)
    figure.line("asked by theory alone", theory, colour="rose", dash="dot", shown=fits(theory, height))
    text = "No period is closed yet."
    if closed:
        text = f"{plural(total, 'row')} came in {plural(closed, 'closed period')}, {number(total / closed)} a period on average."
    return Section(
        key="labels",
        title="Rows labelled",
        text=text + (" The last point is the open period." if order is not None else ""),
        alt="Rows that were asked for and that came, in each period.",
        figure=figure,
        columns=("Period", "Asked for", "Came", "Theory"),
        rows=[
            (name, _amount(a), _amount(c), _amount(t)) for name, a, c, t in zip(names, asked, came, theory, strict=True)
        ],
    )


def drift(ledger: Sequence[LedgerRow]) -> Section:
    """Show what standing still would have cost in each period, with its band."""
    names, epsilon = names_of(ledger), _epsilon(ledger)
    rho = [(row.report.rho, row.report.rho_upper) if row.report.measures == "rho" else (None, None) for row in ledger]
    middle = np.array([math.nan if low is None else 0.5 * low**2 for low, _ in rho])
    upper = np.array([math.nan if high is None else 0.5 * high**2 for _, high in rho])
    figure = Figure(
        periods=names, axis="risk added by drift", top=_top([highest(middle), highest(epsilon)], highest(upper))
    )
    figure.band("up to what it may be", middle, upper, colour="slate")
    figure.line("estimated drift", middle, colour="slate", width=1.5)
    figure.line("the target", epsilon, colour="bad", dash="dash", width=1.5)
    said = [row.report.status for row in ledger]
    for word, colour, symbol in STATES:
        places = [value if now == word else math.nan for value, now in zip(middle, said, strict=True)]
        figure.marks(word, places, colour=colour, symbol=symbol, note=[f"said {now}" for now in said])
    alarms = [name for name, now in zip(names, said, strict=True) if now == "drift"]
    where = f" Drift was said aloud in {', '.join(alarms[-5:])}." if alarms else ""
    return Section(
        key="drift",
        title="How fast the world moves",
        text="How much worse a model left alone becomes in a period; above the dashed line, standing still for one period "
        f"breaks the promise.{where}",
        alt="Estimated drift in each period with its upper end.",
        figure=figure,
        columns=("Period", "Drift", "At most", "Said"),
        rows=[
            (name, _cell(a), _cell(b), now or "–") for name, a, b, now in zip(names, middle, upper, said, strict=True)
        ],
    )


def promised(ledger: Sequence[LedgerRow]) -> Section:
    """Show what was promised in each period beside what its rows allow to say."""
    names, epsilon = names_of(ledger), _epsilon(ledger)
    bound = np.array([row.report.risk_bound for row in ledger])
    found = [row.report.certificate for row in ledger]
    certificate = np.array([math.nan if one is None else one for one in found])
    top = _top([highest(bound[np.isfinite(bound)]), highest(epsilon)], highest(certificate))
    figure = Figure(periods=names, axis="worse than the best", top=top)
    figure.line("promised", bound, colour="own", width=2.5, markers=True)
    figure.line("certified by the rows", certificate, colour="teal", dash="dot")
    figure.line("the target", epsilon, colour="bad", dash="dash", width=1.5)
    kept = sum(row.report.outcome.promised for row in ledger)
    return Section(
        key="promised",
        title="Promised and measured",
        text=f"The target was promised in {kept} of {plural(len(ledger), 'period')}. The certificate is an upper limit computed "
        "from the rows afterwards; it is above the truth as often as its level says, and so mostly far above it.",
        alt="What was promised in each period, the certificate and the target.",
        figure=figure,
        columns=("Period", "Promised", "Certificate", "Target", "How it came out"),
        rows=[
            (name, _cell(b), _cell(c), _cell(e), row.report.outcome.sentence)
            for name, b, c, e, row in zip(names, bound, certificate, epsilon, ledger, strict=True)
        ],
    )


def served(ledger: Sequence[LedgerRow]) -> Section | None:
    """Show how the model in use did on the fresh rows of each period; None where that was never tried."""
    if all(row.served is None for row in ledger):
        return None
    names = names_of(ledger)
    loss = np.array([math.nan if row.served is None else row.served.loss for row in ledger])
    error = np.array([math.nan if row.served is None else row.served.error for row in ledger])
    right = [None if row.served is None else row.served.accuracy for row in ledger]
    figure = Figure(periods=names, axis="loss on fresh rows", from_zero=False)
    figure.band("two standard errors", loss - 2.0 * error, loss + 2.0 * error, colour="own")
    figure.line("the model of the period before", loss, colour="own", width=2.5, markers=True)
    last = next(row.served for row in reversed(ledger) if row.served is not None)
    share = "" if last.accuracy is None else f", and got {last.accuracy:.0%} right"
    return Section(
        key="served",
        title="The model in use, on fresh rows",
        text="Before a period is learnt from, the model of the period before is tried on its rows: rows it has never seen. "
        f"Last time it had a loss of {number(last.loss)} on {plural(last.rows, 'row')}{share}.",
        alt="Loss of the model in use on the fresh rows of each period, with its error.",
        figure=figure,
        columns=("Period", "Loss", "Standard error", "Right"),
        rows=[
            (name, _cell(a), _cell(b), "–" if c is None else f"{c:.0%}")
            for name, a, b, c in zip(names, loss, error, right, strict=True)
        ],
    )


def money(ledger: Sequence[LedgerRow], total: Money, plan: Plan | None) -> Section:
    """Show what was spent so far against all there is, and what the plan spends from here on."""
    names = list(names_of(ledger))
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
    figure = Figure(periods=tuple(names), axis=f"spent so far{currency}", digits=",.2~f")
    figure.line("spent", spent, colour="own", width=2.5, markers=True)
    figure.line("planned", ahead, colour="plum", dash="dash")
    figure.line("all there is", [float(total)] * len(names), colour="bad", dash="dot", width=1.5)
    planned = "" if plan is None else f" The plan ahead: {plan.reason}."
    return Section(
        key="money",
        title="Money",
        text=f"Of {total} in all.{planned}",
        alt="Money spent after each period, what the plan spends, and all there is.",
        figure=figure,
        columns=("Period", "Spent", "Planned"),
        rows=[(name, _amount(a), _amount(b)) for name, a, b in zip(names, spent, ahead, strict=True)],
    )


def _epsilon(ledger: Sequence[LedgerRow]) -> FloatArray:
    return np.array([row.report.epsilon for row in ledger])


def _cell(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "–"


def _amount(value: float) -> str:
    return f"{value:,.10g}" if math.isfinite(value) else "–"


def _top(shown: list[float], cut: float) -> float:
    """Return a height that shows all that must be ``shown``; what lies more than ten times as high is cut."""
    height = max(*shown, 1e-12)
    return 1.15 * max(height, min(cut, 10.0 * height))
