"""A backtest as text: the summary table, and the sentences that reports and the command line share."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.backtest.breach import breach_lines
from driftpace.backtest.check_result import TableCheck
from driftpace.backtest.check_text import check_lines
from driftpace.backtest.judgement import (
    StrategyJudgement,
    find_strategy,
    judge,
    kept_after_learning,
    shows_money,
    total_labels,
)
from driftpace.backtest.promise import promise, promise_kept
from driftpace.backtest.result import BacktestResult, CandidateChoices, Strategy
from driftpace.backtest.yardstick import JUDGED_AFTER
from driftpace.formatting import NOT_MEASURED, count, loss, money, number, plural, ratio, share
from driftpace.metrics import get_metric
from driftpace.records import Assumption, Verdict
from driftpace.typing import FloatArray

_HEADS = ("", "labels", "a period", "cost", "risk/target", "target", "test loss")


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryRow:
    """One strategy in numbers, averaged over runs; ``metrics`` are those on test rows.

    ``labels`` are bought in all periods together, ``cost`` is their
    price, ``risk_over_target`` the mean excess risk over the mean target, ``periods_above`` how many periods were above the target
    for sure.
    """

    name: str
    title: str
    labels: float
    labels_per_period: float
    cost: float
    risk_over_target: float
    periods_above: int
    kept: bool
    test_loss: float
    metrics: dict[str, float]


def summary(result: BacktestResult) -> tuple[SummaryRow, ...]:
    """Return one row for each strategy, in the order of the result."""
    return tuple(_summary_row(result, strategy) for strategy in result.strategies)


def render(result: BacktestResult | TableCheck) -> str:
    """Return the summary as plain text, one line for each strategy; costs are shown where a label has a price.

    A missed target comes first, with where and why. Baselines that could not run follow with the reason, and how often driftpace
    ordered. Of a checked table, return the page that ``driftpace check`` prints.

    >>> print(render(TableCheck(name="sales", rows=0, columns=(), problems=("it has no rows.",))))
    sales: 0 rows, 0 columns.
    Problem    It has no rows.
    Target     none: no other column holds numbers or classes
    Next       driftpace check FILE --period COLUMN
    """
    if isinstance(result, TableCheck):
        size = f"{plural(result.rows, 'row')}, {plural(len(result.columns), 'column')}"
        page = "\n".join(f"{label:<10} {text}" for label, text in check_lines(result))
        return f"{result.name}: {size}.\n{page}"
    missed, orders = breach_lines(result), orders_text(result)
    table = render_table(result) + (f"\nOrders of driftpace: {orders}." if orders else "")
    if not missed:
        return table
    judgement = judge(result, result.strategies[0])
    lines = [("Result", f"{MISSED}: {judgement_text(judgement)}"), *missed]
    return "\n".join(f"{label:<10} {text}" for label, text in lines) + f"\n\n{table}"


def render_table(result: BacktestResult) -> str:
    """Return the table of strategies, and the baselines that could not run."""
    shown = shown_metrics(result)
    lines = [[*_HEADS, *(get_metric(name).title for name in shown)]]
    for row, strategy in zip(summary(result), result.strategies, strict=True):
        line = [
            row.title,
            f"{row.labels:,.0f}",
            f"{row.labels_per_period:,.1f}",
            money(row.cost, result.currency),
            ratio(row.risk_over_target),
            outcome(result, strategy),
            loss(row.test_loss),
        ]
        lines.append(line + [_metric_text(name, row.metrics[name]) for name in shown])
    if not shows_money(result):
        for line in lines:
            del line[_HEADS.index("cost")]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    table = "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return table + "".join(f"\n{one.title}: not run. {one.reason}" for one in result.skipped)


_SHOWN = ("accuracy", "macro_f1", "auc", "deviance_explained", "r2", "mae", "rmse", "pinball", "share_below")


def shown_metrics(result: BacktestResult) -> tuple[str, ...]:
    """Return the metrics that tables show: those of all strategies; of classes the deviance is not among them."""
    of_all = [name for name in _SHOWN if all(name in one.metrics for one in result.strategies)]
    return tuple(name for name in of_all if name != "deviance_explained" or "accuracy" not in of_all)


def _metric_text(name: str, value: float) -> str:
    if math.isnan(value):
        return NOT_MEASURED
    return f"{value:.3f}" if get_metric(name).most == 1.0 else loss(value)


def _summary_row(result: BacktestResult, strategy: Strategy) -> SummaryRow:
    judged = promise(strategy.excess_risk, np.array(result.epsilon))
    labels = float(strategy.samples.sum(axis=1).mean())
    return SummaryRow(
        name=strategy.name,
        title=strategy.title,
        labels=labels,
        labels_per_period=labels / len(result.periods),
        cost=labels * result.price,
        risk_over_target=judged.mean / float(np.mean(result.epsilon)),
        periods_above=judged.periods_above,
        kept=judge(result, strategy).kept
        if result.metric is not None
        else promise_kept(strategy.excess_risk, np.array(result.epsilon), result.confidence),
        test_loss=float(strategy.test_loss.mean()),
        metrics={name: _mean_known(values) for name, values in strategy.metrics.items()},
    )


def _mean_known(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


MET, MISSED = "met", "missed"
COMMON = 0.05
"""An assumption that fails in fewer periods and runs than this is a reason to look, not an alarm."""
MAIN_BASELINES = ("from_scratch", "best_constant", "paper")
PHRASES = {
    "up_front": "buying everything up front",
    "even": "spreading the labels evenly",
    "from_scratch": "re-fitting from scratch each period",
    "first_model": "keeping the first model",
    "paper": "the paper's rule",
    "best_constant": "the best constant size in hindsight",
}


def labels_text(result: BacktestResult, value: float) -> str:
    """Write a number of labels, with what they cost where a price was given."""
    text = plural(value, "label")
    return f"{text} ({money(value * result.price, result.currency)})" if shows_money(result) else text


def count_orders(result: BacktestResult) -> tuple[float, float] | None:
    """Return the mean number of orders in a period and the share of periods with one; None where there is none to count.

    The first period, which has an initial sample besides, and periods without an order do not count.
    """
    later = result.ledger.orders[:, 1:]
    placed = later[later > 0.0]
    return (float(placed.mean()), float((placed == 1.0).mean())) if placed.size else None


def orders_text(result: BacktestResult) -> str:
    """Return how many orders a period had, and how many periods had one; nothing where there is none to count."""
    counted = count_orders(result)
    if counted is None:
        return ""
    return f"{number(counted[0])} a period after the first, only one in {share(counted[1])} of periods"


def relative_target(target: float, least: float) -> str:
    """Return how large a target is relative to the best loss of a model of its kind.

    >>> relative_target(0.02, 0.35), relative_target(0.5, 0.1)
    ('5.7 % of its loss of 0.35', '5 times its loss of 0.1')
    """
    times = target / least
    if times >= 2.0:
        return f"{number(times)} times its loss of {loss(least)}"
    return (
        f"{100.0 * times:.2g} % of its loss of {loss(least)}"
        if times < 0.1
        else f"{share(times)} of its loss of {loss(least)}"
    )


def target_text(result: BacktestResult) -> str:
    """Return the target in words."""
    finite = [value for value in result.epsilon if math.isfinite(value)]
    best = [value for value in result.best_loss if math.isfinite(value)]
    least = math.fsum(best) / len(best) if best else math.nan
    if result.metric is not None:
        spec, value = get_metric(result.metric[0]), result.metric[1]
        goal = f"{spec.title} at {'least' if spec.higher else 'most'} {value:g}"
    elif result.tolerance is not None:
        about = f" ({loss(least)} on average)" if best else ""
        goal = f"within {share(result.tolerance)} of the best achievable loss{about}"
    elif not finite:
        goal = "a target that was never set"
    else:
        moving = "" if min(finite) == max(finite) else f" to {number(max(finite))}"
        goal = f"at most {number(min(finite))}{moving} worse than the best model of its kind"
        middle = math.fsum(finite) / len(finite)
        if 0.0 < middle < 1000.0 * least:  # a number alone says little: of how much is it?
            goal += f" ({relative_target(middle, least)})"
    return goal if result.confidence is None else f"{goal}, in {share(result.confidence)} of periods"


def judgement_text(judgement: StrategyJudgement) -> str:
    """Return the measured number that decides whether the target was met, and the target."""
    if not judgement.periods:
        return "nothing was measured"
    missing = f"; not measured in {plural(judgement.missing, 'period')}" if judgement.missing else ""
    if judgement.in_mean:
        return f"{_mean_text(judgement)}{missing}"
    return f"within the target in {share(judgement.measured)} of periods and runs (target {share(judgement.asked)}){missing}"


def _mean_text(judgement: StrategyJudgement) -> str:
    """Return what was met or missed: the mean, or the target in single periods, which one run cannot show."""
    if judgement.metric is not None:
        worse = f"; {count(judgement.above)} of {plural(judgement.periods, 'period')} clearly worse"
        return (
            f"{get_metric(judgement.metric).title} {number(judgement.measured)} on the test rows (target {judgement.asked:g})"
            + (worse if judgement.runs > 1 else ", in one run")
        )
    above = f"{count(judgement.above)} of {plural(judgement.periods, 'period')} clearly above"
    numbers = f"{number(judgement.measured)} measured on average (target {number(judgement.asked)})"
    if judgement.measured > judgement.asked:
        periods = "" if judgement.runs < 2 else f"; {above}"
        return f"the mean is above the target: {numbers}{periods}"
    if judgement.runs < 2:
        return f"{numbers}, in one run"
    return f"{numbers}; {above}" if judgement.kept else f"{numbers}, but {above}, and one in ten is allowed"


def assumption_status(each: Assumption, often: float) -> tuple[str, str]:
    """Return "good", "warn" or "bad", and how often the worst verdict occurred; a rare failure is a warning only.

    >>> assumption_status(Assumption(name="pool", verdict=Verdict.FAIL, sentence="It had too few rows."), 0.002)
    ('warn', 'fails in 0.2 % of periods and runs')
    """
    tone = {Verdict.PASS: "good", Verdict.WARN: "warn", Verdict.FAIL: "bad"}[each.verdict]
    word = {Verdict.PASS: "holds", Verdict.WARN: "doubtful", Verdict.FAIL: "fails"}[each.verdict]
    if each.verdict is Verdict.FAIL and often < COMMON:
        tone = "warn"
    return tone, f"{word} in {share(often)} of periods and runs"


def compare_labels(own: float, other: float) -> str:
    """Compare two numbers of labels, the first being ours.

    >>> compare_labels(50.0, 100.0), compare_labels(150.0, 100.0), compare_labels(100.0, 100.0), compare_labels(0.0, 0.0)
    ('50 % fewer', '50 % more', 'the same', 'the same')
    """
    if not (math.isfinite(own) and math.isfinite(other)):
        return NOT_MEASURED
    if round(own) == round(other):
        return "the same"
    if other == 0.0:
        return f"{count(own)} more"
    if own > 3.0 * other:
        return f"{number(own / other)} times as many"
    return f"{share(abs(own / other - 1.0))} {'fewer' if own < other else 'more'}"


def outcome(result: BacktestResult, strategy: Strategy) -> str:
    """Return "met", "missed", or for the yardstick "after period 3"."""
    if judge(result, strategy).kept:
        return MET
    return f"after period {JUDGED_AFTER}" if kept_after_learning(result, strategy) else MISSED


def outcome_text(result: BacktestResult, strategy: Strategy) -> str:
    """Return whether a strategy met the target, as a phrase."""
    status = outcome(result, strategy)
    phrases = {MET: "met the target", MISSED: "missed the target"}
    return phrases.get(status, f"met the target only {status}")


def cheaper_strategies(result: BacktestResult) -> list[Strategy]:
    """Return the baselines that met the target in all periods with fewer labels than driftpace, the cheapest first."""
    own = total_labels(result.strategies[0])
    cheaper = [each for each in result.strategies[1:] if total_labels(each) < own and outcome(result, each) == MET]
    return sorted(cheaper, key=total_labels)


def alternatives(result: BacktestResult) -> list[str]:
    """Return what other strategies would have cost and whether they met the target: the main ones, and all cheaper ones.

    Without main ones, all are named. Baselines that could not run are named too.
    """
    cheaper = cheaper_strategies(result)
    baselines = result.strategies[1:]
    named = [each for each in baselines if each.name in MAIN_BASELINES or each in cheaper] or baselines
    phrases = [
        f"{labels_text(result, total_labels(each))} by {PHRASES.get(each.name, each.title)} ({outcome_text(result, each)})"
        for each in named
    ]
    phrases += [f"{one.title} could not run" for one in result.skipped if one.name in MAIN_BASELINES]
    return phrases or ["no baseline was replayed"]


def headline(result: BacktestResult) -> str:
    """Return the result in short: whether the target was met, how many labels, and what other strategies would have taken."""
    own = result.strategies[0]
    judgement = judge(result, own)
    target = target_text(result)
    bought = (
        f"driftpace asked for {labels_text(result, total_labels(own))} over {plural(len(result.periods), 'period')}"
    )
    for name in ("from_scratch", "best_constant"):  # the first of them is what a reader has in mind
        other = find_strategy(result, name)
        if other is not None:
            taken = f"{PHRASES[name]} would have taken {labels_text(result, total_labels(other))}"
            bought += f"; {taken} and {outcome_text(result, other)}"
            break
    cheaper = [each for each in cheaper_strategies(result) if each.name != "from_scratch"]
    bought += "." + "".join(
        f" {each.title} met the target with {labels_text(result, total_labels(each))}." for each in cheaper
    )
    if not judgement.periods:
        return f"{bought} Whether the target, {target}, was met was not measured."
    measured = (
        f"{number(judgement.measured)} on average"
        if judgement.in_mean
        else f"in {share(judgement.measured)} of periods"
    )
    if judgement.kept:
        return f"{bought} The target, {target}, was {MET}: {measured}."
    return f"The target, {target}, was {MISSED}: {measured}. {bought}"


def choices_text(choices: CandidateChoices, most: int = 3) -> str:
    """Return the candidates that were chosen most often, with the share of runs and periods that chose them.

    >>> import numpy as np
    >>> choices_text(CandidateChoices(candidates=("l2=0", "l2=1"), chosen=np.array([[0.0, 1.0, 1.0, 1.0]])))
    'l2=1 in 75 % of runs and periods, l2=0 in 25 %'
    """
    shares = [float((choices.chosen == index).mean()) for index in range(len(choices.candidates))]
    order = sorted((index for index, often in enumerate(shares) if often > 0.0), key=lambda index: -shares[index])
    words = [f"{choices.candidates[index]} in {share(shares[index])}" for index in order[:most]]
    words[0] += " of runs and periods"
    return ", ".join(words)
