"""Which figures the report shows, and the sentence beside each."""

import numpy as np

from driftpace.backtest.records import BacktestResult, Strategy
from driftpace.backtest.report.facts import by_period, labels, quantile
from driftpace.backtest.report.figures import Figure, fits, highest
from driftpace.backtest.report.sections import Section
from driftpace.backtest.report.words import asked, count, loss, number, plural, share, span
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


def samples(result: BacktestResult) -> Section:
    """Show labels asked for in each period, with the rows there were as context."""
    own = result.strategies[0].samples
    low, middle, high = (quantile(own, level) for level in (0.1, 0.5, 0.9))
    theory = quantile(result.ledger.samples_theory, 0.5)
    height = max(highest(high), 1.0)
    figure = Figure(periods=result.periods, axis="labels in the period", digits=",.0f")
    figure.band("from run to run (10–90 %)", low, high, colour="own")
    figure.line("labels asked for (median)", middle, colour="own", width=2.5, markers=True)
    figure.line("rows available", result.pool, colour="slate", dash="dot", shown=fits(result.pool, height))
    figure.line("asked by theory alone", theory, colour="rose", dash="dash", shown=fits(theory, height))
    most = int(np.nanargmax(middle)) if np.isfinite(middle).any() else 0
    text = (
        f"In the middle run a period took {span(middle)} labels, most in {result.periods[most]}; on average "
        f"{number(labels(result.strategies[0]) / len(result.periods))} a period, out of "
        f"{span(result.pool)} rows that a period had to give."
    )
    rows = [
        (name, count(middle[i]), f"{count(low[i])}–{count(high[i])}", count(result.pool[i]), count(theory[i]))
        for i, name in enumerate(result.periods)
    ]
    return Section(
        key="samples",
        title="Labels per period",
        text=text,
        alt="Labels asked for in each period: median over runs and the band that holds the middle 80 % of runs.",
        figure=figure,
        columns=("Period", "Labels", "10–90 %", "Rows available", "Theory"),
        rows=rows,
    )


def drift(result: BacktestResult) -> Section:
    """Show what standing still would have cost in each period, and what the tracker called it."""
    ledger = result.ledger
    middle, upper = quantile(ledger.drift, 0.5), quantile(ledger.drift_upper, 0.5)
    said = [_said(column[~np.isnan(column)]) for column in ledger.status.T]
    figure = Figure(
        periods=result.periods,
        axis="risk added by drift",
        top=_top([highest(middle), highest(result.epsilon)], highest(upper)),
    )
    figure.band("up to what it may be", middle, upper, colour="slate")
    figure.line("estimated drift (median)", middle, colour="slate", width=1.5)
    figure.line("the target", result.epsilon, colour="bad", dash="dash", width=1.5)
    for state, (word, colour, symbol) in enumerate(STATES):
        places = [value if now[0] == state else np.nan for value, now in zip(middle, said, strict=True)]
        notes = [f"said by {share(now[1])} of runs" for now in said]
        figure.marks(word, places, colour=colour, symbol=symbol, note=notes)
    tally = [sum(now[0] == state for now in said) for state in range(3)]
    alarms = [name for name, now in zip(result.periods, said, strict=True) if now[0] == 2]
    where = f" Drift was said aloud in {_listed(alarms)}." if alarms else ""
    if not sum(tally):
        called = "No run said whether it was stable."
    elif tally[0] == sum(tally):
        called = "Most runs called every period stable."
    else:
        others = f"{count(tally[1])} a warning and {count(tally[2])} drift"
        called = f"Most runs called {plural(tally[0], 'period')} stable, {others}.{where}"
    text = (
        "How much worse a model left alone would have become in that period; above the dashed line, standing still for one "
        f"period would break the promise. {called}"
    )
    rows = [(name, number(middle[i]), number(upper[i]), _called(said[i])) for i, name in enumerate(result.periods)]
    return Section(
        key="drift",
        title="How fast the world moved",
        text=text,
        alt="Estimated drift in each period with its upper bound, marked stable, warning or drift.",
        figure=figure,
        columns=("Period", "Drift", "At most", "Said"),
        rows=rows,
    )


def ledger(result: BacktestResult) -> Section:
    """Show promised against measured: the ledger."""
    risk = result.strategies[0].excess_risk
    low, mean, high = quantile(risk, 0.1), by_period(risk), quantile(risk, 0.9)
    bound, certificate = quantile(result.ledger.risk_bound, 0.5), quantile(result.ledger.certificate, 0.5)
    top = _top([highest(mean), highest(result.epsilon)], highest(high, certificate, bound))
    figure = Figure(periods=result.periods, axis="excess risk", top=top)
    figure.band("from run to run (10–90 %)", low, high, colour="own")
    figure.line("measured (mean)", mean, colour="own", width=2.5, markers=True)
    figure.line("promised beforehand", bound, colour="plum", dash="dashdot")
    figure.line(f"certificate afterwards ({share(result.certificate_level)})", certificate, colour="teal", dash="dot")
    figure.line("the target", result.epsilon, colour="bad", dash="dash", width=1.5)
    pairs = ~np.isnan(risk) & ~np.isnan(result.ledger.certificate)
    covered = float((risk <= result.ledger.certificate)[pairs].mean()) if pairs.any() else np.nan
    beyond = int(np.sum(certificate > top))
    held = (
        f"The certificate was above the truth in {share(covered)} of runs and periods; it is meant to be in "
        f"{share(result.certificate_level)}."
        if pairs.any()
        else "No certificate was given."
    )
    text = (
        f"Asked: {asked(result)}. The thick line is what came out, the band how much it varied from run to run. {held}"
        + (f" In {plural(beyond, 'period')} the certificate is too high for this figure." if beyond else "")
    )
    rows = [
        (name, number(mean[i]), number(bound[i]), number(certificate[i]), number(result.epsilon[i]))
        for i, name in enumerate(result.periods)
    ]
    return Section(
        key="ledger",
        title="The ledger: promised against measured",
        text=text,
        alt="Measured excess risk in each period beside what was promised, the certificate and the target.",
        figure=figure,
        columns=("Period", "Measured", "Promised", "Certificate", "Target"),
        rows=rows,
    )


def fresh_loss(result: BacktestResult) -> Section:
    """Show the loss on rows nobody trained on, for every way of buying labels."""
    means = [by_period(each.test_loss) for each in result.strategies]
    return _compared(
        result,
        means,
        key="loss",
        title="Test loss: on rows nobody trained on",
        axis="test loss (lower is better)",
        better="lower",
    )


def auc(result: BacktestResult) -> Section | None:
    """Show how well the classes are told apart, where there are classes."""
    means = [by_period(each.auc) for each in result.strategies if each.auc is not None]
    if not result.classification or len(means) < len(result.strategies):
        return None
    return _compared(
        result,
        means,
        key="auc",
        title="Telling the classes apart (AUC)",
        axis="AUC (higher is better)",
        better="higher",
    )


def _compared(
    result: BacktestResult, means: list[FloatArray], *, key: str, title: str, axis: str, better: str
) -> Section:
    figure = Figure(periods=result.periods, axis=axis, from_zero=False)
    for strategy, values in zip(result.strategies, means, strict=True):
        colour, dash = LOOKS.get(strategy.name, ("slate", "solid"))
        ours = strategy is result.strategies[0]
        first = strategy.name in SHOWN_FIRST or ours
        figure.line(strategy.title, values, colour=colour, dash=dash, width=3.0 if ours else 1.8, shown=first)
    columns = ("Period", *(strategy.title for strategy in _kept_apart(result)))
    chosen = [means[result.strategies.index(strategy)] for strategy in _kept_apart(result)]
    rows = [(name, *(loss(values[i]) for values in chosen)) for i, name in enumerate(result.periods)]
    return Section(
        key=key,
        title=title,
        text=_beside(result, means, better),
        alt=f"{title} in each period, averaged over runs, one line for each way of buying labels.",
        figure=figure,
        columns=columns,
        rows=rows,
    )


def _kept_apart(result: BacktestResult) -> list[Strategy]:
    """Return the strategies that the figure shows at first: a table of all of them would not fit a phone."""
    return [each for each in result.strategies if each.name in SHOWN_FIRST or each is result.strategies[0]]


def _beside(result: BacktestResult, means: list[FloatArray], better: str) -> str:
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
    return ", ".join(parts) + ". Press a name below to show or hide its line."


def _mean(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def _top(shown: list[float], cut: float) -> float:
    """Return a height that shows all that must be ``shown``; what lies more than three times as high is cut."""
    height = max(*shown, 1e-12)
    return 1.15 * max(height, min(cut, 3.0 * height))


def _said(states: FloatArray) -> tuple[int, float]:
    """Return what at least half of the runs said, or worse, and the share of runs that said so; -1 where nothing was said."""
    if not states.size:
        return -1, np.nan
    state = round(float(np.quantile(states, 0.5, method="higher")))
    return state, float((states == state).mean())


def _called(said: tuple[int, float]) -> str:
    return f"{STATES[said[0]][0]} ({share(said[1])})" if said[0] >= 0 else "–"


def _listed(names: list[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
