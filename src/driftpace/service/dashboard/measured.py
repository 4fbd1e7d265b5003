"""Figures of what is known: the promise of each closed period, what was measured, and the drift."""

from collections.abc import Sequence

from driftpace.campaign.records import LedgerRow
from driftpace.service.dashboard.drawing import Chart, highest
from driftpace.service.dashboard.figures import LATEST, Figure, finite, left_out, panel
from driftpace.service.dashboard.formats import named, number, plural, tabled


def promise(ledger: Sequence[LedgerRow]) -> Figure | None:
    """Return what was promised in each period, and what the model served on rows it had not seen."""
    if not ledger:
        return None
    shown = ledger[-LATEST:]
    periods = [(row.report.period, row.key) for row in ledger]
    names = named(periods)[-LATEST:]
    bounds = [finite(row.report.risk_bound) for row in shown]
    certificates = [finite(row.report.certificate) for row in shown]
    targets = [finite(row.report.epsilon) for row in shown]
    top = highest(bounds, certificates, targets)
    usual = highest(bounds[1:] or bounds, targets, certificates[1:] or certificates)
    top = min(top, 2.5 * usual)  # the first period, of which nothing was known, does not flatten the rest

    def risk(chart: Chart) -> None:
        chart.line(certificates, "slate", look="dash")
        chart.line(bounds, "own")
        if len(set(targets)) == 1 and targets[0] is not None:
            chart.across(targets[0], "bad")
        else:
            chart.line(targets, "bad", dots=False, look="limit-line")

    panels = [
        panel(
            "promise-risk",
            "above the best",
            names,
            top,
            risk,
            (
                ("own line", "promised, in the mean"),
                ("slate dash", "certificate, a safe limit"),
                ("bad limit-line", "target"),
            ),
        )
    ]
    losses = [None if row.served is None else finite(row.served.loss) for row in shown]
    errors = [None if row.served is None else finite(row.served.error) for row in shown]
    if any(one is not None for one in losses):
        both = [(loss or 0.0) + 2.0 * (error or 0.0) for loss, error in zip(losses, errors, strict=True)]

        def served(chart: Chart) -> None:
            chart.errors(losses, errors, "teal")

        panels.append(
            panel(
                "promise-loss",
                "loss",
                names,
                highest(both),
                served,
                (("teal dotkey", "measured loss of the model on fresh rows, ± 2 standard errors"),),
            )
        )
    kept = sum(row.report.outcome.promised for row in ledger)
    last = ledger[-1].report
    sentence = (
        f"The target was promised in {kept} of {plural(len(ledger), 'closed period')}. "
        f"The last promise is {_bound(last.risk_bound)}, and the target is {number(last.epsilon)}."
    )
    classes = any(row.served is not None and row.served.accuracy is not None for row in ledger)
    columns = ("Period", "Outcome", "Promised", "Certificate", "Target", "Measured loss", "± 2 errors")
    rows = []
    for name, row in zip(tabled(periods), ledger, strict=True):
        done = row.served
        cells = [
            name,
            "✓ promised" if row.report.outcome.promised else f"✗ {row.report.outcome.sentence}",
            number(row.report.risk_bound),
            number(row.report.certificate),
            number(row.report.epsilon),
            number(None if done is None else done.loss),
            number(None if done is None else 2.0 * done.error),
        ]
        if classes:
            cells.append("–" if done is None or done.accuracy is None else f"{100.0 * done.accuracy:.0f} %")
        rows.append(tuple(cells))
    return Figure(
        key="promise",
        title="Promised and measured",
        sentence=sentence,
        panels=tuple(panels),
        columns=(*columns, "Right") if classes else columns,
        rows=tuple(rows),
        first=len(ledger) - len(shown),
        note=left_out(len(ledger)),
    )


def _bound(risk: float) -> str:
    return f"{number(risk)} above the best" if finite(risk) is not None else "no number at all"


def drift(ledger: Sequence[LedgerRow]) -> Figure | None:
    """Return how far the best model moved, with its band."""
    known = [row for row in ledger if row.report.rho is not None]
    if not known:
        return None
    shown = known[-LATEST:]
    periods = [(row.report.period, row.key) for row in known]
    names = named(periods)[-LATEST:]
    values = [finite(row.report.rho) for row in shown]
    uppers = [finite(row.report.rho_upper) for row in shown]

    def draw(chart: Chart) -> None:
        chart.band(values, uppers, "own")
        chart.line(uppers, "own", dots=False, look="thin")
        chart.line(values, "own")

    top = min(highest(values, uppers), 4.0 * highest(values) or highest(uppers))
    last = known[-1].report
    status = {"stable": "agree with that", "warning": "may not agree with that", "drift": "say it moved more than that"}
    agree = "" if last.status is None else f" The last rows {status.get(last.status, last.status)}."
    far = "from the last model" if last.measures == "distance" else "in a period"
    return Figure(
        key="drift",
        title="Drift",
        sentence=f"The best model moves by about {number(last.rho)} {far}, at most {number(last.rho_upper)}.{agree}",
        panels=(
            panel(
                "drift",
                "movement",
                names,
                top,
                draw,
                (("own line", "drift as estimated"), ("own bandkey", "up to its upper end")),
            ),
        ),
        columns=("Period", "Drift", "Upper end", "Rows say"),
        rows=tuple(
            (
                name,
                number(row.report.rho),
                number(row.report.rho_upper),
                row.report.status or "–",
            )
            for name, row in zip(tabled(periods), known, strict=True)
        ),
        first=len(known) - len(shown),
        note=left_out(len(known)),
    )
