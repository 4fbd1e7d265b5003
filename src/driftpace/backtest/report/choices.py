"""Which candidate the tracker chose in each period, where it chose among several."""

import numpy as np

from driftpace.backtest.records import BacktestResult
from driftpace.backtest.report.figures import Figure
from driftpace.backtest.report.sections import Section
from driftpace.backtest.report.words import share

COLOURS = ("own", "rust", "teal", "plum", "olive", "rose", "slate")
DASHES = ("solid", "dash", "dot", "dashdot")


def choices(result: BacktestResult) -> Section | None:
    """Show the share of runs that chose each candidate; those never chosen are in the table alone."""
    chosen = result.choices
    if chosen is None:
        return None
    labels = chosen.candidates
    shares = np.array([(chosen.chosen == index).mean(axis=0) for index in range(len(labels))])
    whole = shares.mean(axis=1)
    figure = Figure(periods=result.periods, axis="share of runs", top=1.05, digits=".0%")
    order = np.argsort(-whole, kind="stable")
    for place, index in enumerate(order):
        if whole[index] > 0.0:
            colour, dash = COLOURS[place % len(COLOURS)], DASHES[(place // len(COLOURS)) % len(DASHES)]
            figure.line(
                labels[index], shares[index], colour=colour, dash=dash, markers=True, width=2.5 if place == 0 else 1.8
            )
    never = [label for label, often in zip(labels, whole, strict=True) if often == 0.0]
    text = (
        f"In every period cross-validation compares {len(labels)} candidates by their loss, without a penalty, on rows that a fit "
        f"did not see. Most often chosen: {labels[order[0]]}, by {share(whole[order[0]])} of runs and periods"
        + (f"; never chosen: {', '.join(never)}." if never else ".")
        + " The promise is about the loss of the chosen candidate, its penalty included; excess risks here are without it."
    )
    return Section(
        key="choices",
        title="Which model was chosen",
        text=text,
        alt="The share of runs that chose each candidate, period by period.",
        figure=figure,
        columns=("Period", *labels),
        rows=[(name, *(share(value) for value in shares[:, i])) for i, name in enumerate(result.periods)],
    )
