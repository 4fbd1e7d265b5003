"""The figures of a backtest's report, each with its sentence."""

import numpy as np

from driftpace.backtest.breach import audit_text, audited_cells
from driftpace.backtest.judgement import period_means, period_quantiles, total_labels
from driftpace.backtest.result import BacktestResult, Strategy
from driftpace.backtest.text import target_text
from driftpace.formatting import count, loss, number, plural, share, span
from driftpace.report.figures import ReportFigure, fits, highest
from driftpace.report.page import Section
from driftpace.typing import FloatArray

LOOKS = {  # colour, dash; a strategy keeps its look in every figure
    "driftpace": ("own", "solid"),
    "up_front": ("rust", "dash"),
    "even": ("teal", "dot"),
    "from_scratch": ("plum", "dashdot"),
    "first_model": ("olive", "dash"),
    "paper": ("rose", "dot"),
    "best_constant": ("slate", "dashdot"),
}
SHOWN_FIRST = ("driftpace", "up_front", "from_scratch")
STATES = (("stable", "good", "circle"), ("warning", "warn", "triangle-up"), ("drift", "bad", "diamond"))


def samples_section(result: BacktestResult) -> Section:
    """Return the labels of each period, with the available rows as context."""
    own = result.strategies[0].samples
    low, middle, high = (period_quantiles(own, level) for level in (0.1, 0.5, 0.9))
    theory = period_quantiles(result.ledger.samples_theory, 0.5)
    height = max(highest(high), 1.0)
    figure = ReportFigure(periods=result.periods, axis="labels in the period", digits=",.0f")
    figure.band("variation over runs (10–90 %)", low, high, colour="own")
    figure.line("labels (median)", middle, colour="own", width=2.5, markers=True)
    figure.line("rows available", result.pool, colour="slate", dash="dot", shown=fits(result.pool, height))
    figure.line("proven rule (theory)", theory, colour="rose", dash="dash", shown=fits(theory, height))
    most = int(np.nanargmax(middle)) if np.isfinite(middle).any() else 0
    text = (
        f"The median run took {span(middle)} labels a period, most in {result.periods[most]}; on average "
        f"{number(total_labels(result.strategies[0]) / len(result.periods))} a period, out of "
        f"{span(result.pool)} available rows."
    )
    rows = [
        (name, count(middle[i]), f"{count(low[i])}–{count(high[i])}", count(result.pool[i]), count(theory[i]))
        for i, name in enumerate(result.periods)
    ]
    return Section(
        key="samples",
        title="Labels per period",
        text=text,
        alt="Labels in each period: median over runs and the band of the middle 80 % of runs.",
        figure=figure,
        columns=("Period", "Labels", "10–90 %", "Rows available", "Theory"),
        rows=rows,
    )


def drift_section(result: BacktestResult) -> Section:
    """Return the risk that drift added in each period, and the status that the tracker reported."""
    ledger = result.ledger
    middle, upper = period_quantiles(ledger.drift, 0.5), period_quantiles(ledger.drift_upper, 0.5)
    statuses = [_majority_status(column[~np.isnan(column)]) for column in ledger.status.T]
    figure = ReportFigure(
        periods=result.periods,
        axis="risk added by drift",
        top=_top([highest(middle), highest(result.epsilon)], highest(upper)),
    )
    figure.band("upper bound", middle, upper, colour="slate")
    figure.line("estimated drift (median)", middle, colour="slate", width=1.5)
    figure.line("the target", result.epsilon, colour="bad", dash="dash", width=1.5)
    for state, (word, colour, symbol) in enumerate(STATES):
        places = [value if now[0] == state else np.nan for value, now in zip(middle, statuses, strict=True)]
        notes = [f"reported by {share(now[1])} of runs" for now in statuses]
        figure.marks(word, places, colour=colour, symbol=symbol, note=notes)
    tally = [sum(now[0] == state for now in statuses) for state in range(3)]
    alarms = [name for name, now in zip(result.periods, statuses, strict=True) if now[0] == 2]
    where = f" Drift was reported in {_listed(alarms)}." if alarms else ""
    if not sum(tally):
        summary = "No run reported a status."
    elif tally[0] == sum(tally):
        summary = "Most runs reported every period as stable."
    else:
        others = f"{count(tally[1])} as a warning and {count(tally[2])} as drift"
        summary = f"Most runs reported {plural(tally[0], 'period')} as stable, {others}.{where}"
    text = (
        "The excess risk that an unchanged model would have gained in the period; above the dashed line, one period without "
        f"an update would miss the target. {summary}"
    )
    rows = [
        (name, number(middle[i]), number(upper[i]), _status_text(statuses[i])) for i, name in enumerate(result.periods)
    ]
    return Section(
        key="drift",
        title="Drift",
        text=text,
        alt="Estimated drift in each period with its upper bound, marked stable, warning or drift.",
        figure=figure,
        columns=("Period", "Drift", "Upper bound", "Status"),
        rows=rows,
    )


def ledger_section(result: BacktestResult) -> Section:
    """Return the predicted, the measured and the true risk of each period."""
    risk = result.strategies[0].excess_risk
    low, mean, high = period_quantiles(risk, 0.1), period_means(risk), period_quantiles(risk, 0.9)
    bound, certificate = (
        period_quantiles(result.ledger.risk_bound, 0.5),
        period_quantiles(result.ledger.certificate, 0.5),
    )
    top = _top([highest(mean), highest(result.epsilon)], highest(high, certificate, bound))
    figure = ReportFigure(periods=result.periods, axis="excess risk", top=top)
    figure.band("variation over runs (10–90 %)", low, high, colour="own")
    figure.line("true (mean)", mean, colour="own", width=2.5, markers=True)
    audited, error = period_means(result.ledger.measured), _period_errors(result.ledger.measured)
    pooled = period_means(result.ledger.measured_mean)
    figure.line("measured from labels (mean of the last periods)", pooled, colour="slate", width=1.5)
    figure.line("predicted (risk bound)", bound, colour="plum", dash="dashdot")
    figure.line(f"certificate ({share(result.certificate_level)})", certificate, colour="teal", dash="dot")
    figure.line("the target", result.epsilon, colour="bad", dash="dash", width=1.5)
    pairs = ~np.isnan(risk) & ~np.isnan(result.ledger.certificate)
    covered = float((risk <= result.ledger.certificate)[pairs].mean()) if pairs.any() else np.nan
    beyond = int(np.sum(certificate > top))
    held = (
        f"The certificate was above the true risk in {share(covered)} of runs and periods; its level is "
        f"{share(result.certificate_level)}."
        if pairs.any()
        else "There is no certificate."
    )
    text = (
        f"Target: {target_text(result)}. The thick line is the true mean, the band its variation over runs. {held}"
        + _audited_text(result)
        + (f" In {plural(beyond, 'period')} the certificate is too high for this figure." if beyond else "")
    )
    rows = [
        (
            name,
            number(mean[i]),
            number(bound[i]),
            f"{number(audited[i])} ± {error[i]:.2g}" if np.isfinite(audited[i]) else "–",
            number(certificate[i]),
            number(result.epsilon[i]),
        )
        for i, name in enumerate(result.periods)
    ]
    return Section(
        key="ledger",
        title="Predicted, measured and true risk",
        text=text,
        alt="True excess risk in each period beside the prediction, the measurement, the certificate and the target.",
        figure=figure,
        columns=("Period", "True", "Predicted", "Measured from labels", "Certificate", "Target"),
        rows=rows,
    )


def _audited_text(result: BacktestResult) -> str:
    """Return how well the tracker measured the true risk from its labels."""
    cells, ledger = audited_cells(result), result.ledger
    if not cells.any():
        return ""
    off = np.abs(ledger.measured - result.strategies[0].excess_risk)[cells]
    within = float((off <= 2.0 * ledger.measured_error[cells]).mean())
    return (
        f" The tracker's own measurement: {audit_text(result)}; the true risk was within two of its standard errors in "
        f"{share(within)} of runs and periods."
    )


def _period_errors(array: FloatArray) -> FloatArray:
    """Return the standard error over runs of the mean of each period; NaN with fewer than two runs."""
    known = [column[~np.isnan(column)] for column in array.T]
    return np.array([values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan for values in known])


def loss_section(result: BacktestResult) -> Section:
    """Return the loss on test rows of every strategy."""
    means = [period_means(each.test_loss) for each in result.strategies]
    return _comparison(
        result,
        means,
        key="loss",
        title="Test loss",
        axis="test loss (lower is better)",
        better="lower",
    )


def auc_section(result: BacktestResult) -> Section | None:
    """Return the AUC of every strategy, None for regression."""
    means = [period_means(each.auc) for each in result.strategies if each.auc is not None]
    if not result.classification or len(means) < len(result.strategies):
        return None
    return _comparison(
        result,
        means,
        key="auc",
        title="AUC",
        axis="AUC (higher is better)",
        better="higher",
    )


def _comparison(
    result: BacktestResult, means: list[FloatArray], *, key: str, title: str, axis: str, better: str
) -> Section:
    figure = ReportFigure(periods=result.periods, axis=axis, from_zero=False)
    for strategy, values in zip(result.strategies, means, strict=True):
        colour, dash = LOOKS.get(strategy.name, ("slate", "solid"))
        ours = strategy is result.strategies[0]
        first = strategy.name in SHOWN_FIRST or ours
        figure.line(strategy.title, values, colour=colour, dash=dash, width=3.0 if ours else 1.8, shown=first)
    columns = ("Period", *(strategy.title for strategy in _shown_strategies(result)))
    chosen = [means[result.strategies.index(strategy)] for strategy in _shown_strategies(result)]
    rows = [(name, *(loss(values[i]) for values in chosen)) for i, name in enumerate(result.periods)]
    return Section(
        key=key,
        title=title,
        text=_comparison_text(result, means, better),
        alt=f"{title} in each period, averaged over runs, one line for each strategy.",
        figure=figure,
        columns=columns,
        rows=rows,
    )


def _shown_strategies(result: BacktestResult) -> list[Strategy]:
    """Return the strategies that are visible at first: a table of all would not fit a phone."""
    return [each for each in result.strategies if each.name in SHOWN_FIRST or each is result.strategies[0]]


def _comparison_text(result: BacktestResult, means: list[FloatArray], better: str) -> str:
    own = means[0]
    parts = [f"driftpace is at {loss(_mean(own))} on average over the periods"]
    for strategy, values in zip(result.strategies[1:], means[1:], strict=True):
        if strategy.name not in SHOWN_FIRST:
            continue
        both = np.isfinite(own) & np.isfinite(values)
        wins = int(np.sum((own < values if better == "lower" else own > values)[both]))
        name = f"{strategy.title[:1].lower()}{strategy.title[1:]}"
        parts.append(
            f"“{name}” at {loss(_mean(values))} (driftpace {better} in {wins} of {plural(int(both.sum()), 'period')})"
        )
    return ", ".join(parts) + ". Press a name to show or hide its line."


def _mean(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def _top(shown: list[float], cut: float) -> float:
    """Return the top of the axis: all of ``shown`` fits, and what is more than three times as high is cut."""
    height = max(*shown, 1e-12)
    return 1.15 * max(height, min(cut, 3.0 * height))


def _majority_status(states: FloatArray) -> tuple[int, float]:
    """Return the median status over runs, rounded up, and its share of runs; -1 where no run reported one."""
    if not states.size:
        return -1, np.nan
    state = round(float(np.quantile(states, 0.5, method="higher")))
    return state, float((states == state).mean())


def _status_text(said: tuple[int, float]) -> str:
    return f"{STATES[said[0]][0]} ({share(said[1])})" if said[0] >= 0 else "–"


def _listed(names: list[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


COLOURS = ("own", "rust", "teal", "plum", "olive", "rose", "slate")
DASHES = ("solid", "dash", "dot", "dashdot")


def choices_section(result: BacktestResult) -> Section | None:
    """Return the share of runs that chose each candidate; those never chosen are in the table only."""
    chosen = result.choices
    if chosen is None:
        return None
    labels = chosen.candidates
    shares = np.array([(chosen.chosen == index).mean(axis=0) for index in range(len(labels))])
    whole = shares.mean(axis=1)
    figure = ReportFigure(periods=result.periods, axis="share of runs", top=1.05, digits=".0%")
    order = np.argsort(-whole, kind="stable")
    for place, index in enumerate(order):
        if whole[index] > 0.0:
            colour, dash = COLOURS[place % len(COLOURS)], DASHES[(place // len(COLOURS)) % len(DASHES)]
            figure.line(
                labels[index], shares[index], colour=colour, dash=dash, markers=True, width=2.5 if place == 0 else 1.8
            )
    never = [label for label, often in zip(labels, whole, strict=True) if often == 0.0]
    text = (
        f"In every period cross-validation compares {len(labels)} candidates by their loss, without a penalty, on held-out rows. "
        f"Most often chosen: {labels[order[0]]}, by {share(whole[order[0]])} of runs and periods"
        + (f"; never chosen: {', '.join(never)}." if never else ".")
        + " The target is about the loss of the chosen candidate with its penalty; excess risks here are without it."
    )
    return Section(
        key="choices",
        title="Chosen candidates",
        text=text,
        alt="The share of runs that chose each candidate, period by period.",
        figure=figure,
        columns=("Period", *labels),
        rows=[(name, *(share(value) for value in shares[:, i])) for i, name in enumerate(result.periods)],
    )
