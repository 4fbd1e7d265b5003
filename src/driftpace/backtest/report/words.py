"""Numbers and findings as people read them: plain words first, symbols second. Nothing here is HTML."""

import math
from collections.abc import Iterable

from driftpace.backtest.records import BacktestResult, Choices, Strategy
from driftpace.backtest.report.facts import Judgement, judge, kept_late, labels, named, shows_money
from driftpace.backtest.yardstick import JUDGED_AFTER
from driftpace.records import Assumption, Verdict

NOT_MEASURED = "–"
KEPT, BROKEN = "kept", "broken"
COMMON = 0.05
"""An assumption that fails in fewer periods and runs than this is a reason to look, not an alarm."""
WAYS = {
    "from_scratch": "re-fitting from scratch each period",
    "best_constant": "the best constant size in hindsight",
    "paper": "the paper's rule",
}


def count(value: float) -> str:
    """Write a number of things.

    >>> count(1519.6), count(0.0), count(math.nan), count(math.inf)
    ('1,520', '0', '–', '∞')
    """
    if math.isnan(value):
        return NOT_MEASURED
    return ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:,.0f}"


def number(value: float) -> str:
    """Write a measured number with three digits that matter.

    >>> number(0.014287), number(12.3), number(0.0), number(1e-7), number(51234.0), number(2.3e16)
    ('0.0143', '12.3', '0', '1e-07', '51,234', '2.3e+16')
    """
    if not math.isfinite(value) or 1000.0 <= abs(value) < 1e7:
        return count(value)
    return f"{value:.3g}"


def loss(value: float) -> str:
    """Write a loss: one digit more, since losses are compared with each other.

    >>> loss(0.10028), loss(math.nan)
    ('0.1003', '–')
    """
    return f"{value:.4g}" if math.isfinite(value) and abs(value) < 1000.0 else number(value)


def ratio(value: float) -> str:
    """Write how many times one number is another.

    >>> ratio(0.4567), ratio(2.3e16)
    ('0.46', '2.3e+16')
    """
    return f"{value:.2f}" if math.isfinite(value) and abs(value) < 1000.0 else number(value)


def span(values: Iterable[float]) -> str:
    """Write the least and the most of what was measured.

    >>> span([1026, 880]), span([7.0, math.nan]), span([])
    ('880 to 1,026', '7', '–')
    """
    found = [value for value in values if not math.isnan(value)]
    if not found:
        return NOT_MEASURED
    least, most = count(min(found)), count(max(found))
    return least if least == most else f"{least} to {most}"


def share(value: float) -> str:
    """Write a fraction in per cent, never rounding something down to nothing.

    >>> share(0.18), share(0.0036), share(1.0), share(0.9996), share(0.0)
    ('18 %', '0.4 %', '100 %', 'nearly 100 %', '0 %')
    """
    if math.isnan(value):
        return NOT_MEASURED
    percent = 100.0 * value
    if 0.0 < percent < 0.05:
        return "under 0.1 %"
    if 99.5 <= percent < 100.0:
        return "nearly 100 %"
    return f"{percent:.1f} %" if percent < 1.0 and percent > 0.0 else f"{percent:.0f} %"


def money(value: float, currency: str) -> str:
    """Write an amount: a sign goes in front, a word behind.

    >>> money(3040.0, "€"), money(3040.0, "EUR"), money(12.5, ""), money(-5.0, "$")
    ('€3,040', '3,040 EUR', '12.50', '−$5.00')
    """
    if math.isnan(value):
        return NOT_MEASURED
    amount = count(abs(value)) if abs(value) >= 100.0 or value == 0.0 else f"{abs(value):,.2f}"
    sign = "−" if value < 0.0 else ""
    currency = currency.strip()
    if not currency:
        return f"{sign}{amount}"
    return f"{sign}{amount} {currency}" if currency[-1].isalnum() else f"{sign}{currency}{amount}"


def plural(value: float, one: str, many: str = "") -> str:
    """Write a count with its noun.

    >>> plural(1, "run"), plural(1520, "label"), plural(0, "entry", "entries")
    ('1 run', '1,520 labels', '0 entries')
    """
    return f"{count(value)} {one if round(value) == 1 else many or one + 's'}" if math.isfinite(value) else count(value)


def bill(result: BacktestResult, value: float) -> str:
    """Write a number of labels, with what they cost where a price was given."""
    text = plural(value, "label")
    return f"{text} ({money(value * result.price, result.currency)})" if shows_money(result) else text


def relative(target: float, least: float) -> str:
    """Say how large a target is beside the best loss that any model of its kind has.

    >>> relative(0.02, 0.35), relative(0.5, 0.1)
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


def asked(result: BacktestResult) -> str:
    """Say what was asked for: the target, in words."""
    finite = [value for value in result.epsilon if math.isfinite(value)]
    best = [value for value in result.best_loss if math.isfinite(value)]
    least = math.fsum(best) / len(best) if best else math.nan
    if result.tolerance is not None:
        about = f" ({loss(least)} on average)" if best else ""
        goal = f"within {share(result.tolerance)} of the best achievable loss{about}"
    elif not finite:
        goal = "an excess risk that was never set"
    else:
        moving = "" if min(finite) == max(finite) else f" to {number(max(finite))}"
        goal = f"at most {number(min(finite))}{moving} worse than the best model of its kind"
        middle = math.fsum(finite) / len(finite)
        if 0.0 < middle < 1000.0 * least:  # a number alone says little: of how much is it?
            goal += f" ({relative(middle, least)})"
    return goal if result.confidence is None else f"{goal}, in {share(result.confidence)} of periods"


def verdict(found: Judgement) -> str:
    """Say by which number the promise was kept or not."""
    if not found.periods:
        return "nothing was measured"
    missing = f"; not measured in {plural(found.missing, 'period')}" if found.missing else ""
    if found.in_mean:
        return (
            f"{number(found.measured)} measured on average, {number(found.asked)} promised; "
            f"{count(found.above)} of {plural(found.periods, 'period')} clearly above{missing}"
        )
    return f"within the target in {share(found.measured)} of periods and runs, {share(found.asked)} promised{missing}"


def standing(each: Assumption, often: float) -> tuple[str, str]:
    """Return "good", "warn" or "bad", and how often the worst verdict came; a rare failure is no alarm.

    >>> standing(Assumption(name="pool", verdict=Verdict.FAIL, sentence="It had too few rows."), 0.002)
    ('warn', 'fails in 0.2 % of periods and runs')
    """
    tone = {Verdict.PASS: "good", Verdict.WARN: "warn", Verdict.FAIL: "bad"}[each.verdict]
    word = {Verdict.PASS: "holds", Verdict.WARN: "doubtful", Verdict.FAIL: "fails"}[each.verdict]
    if each.verdict is Verdict.FAIL and often < COMMON:
        tone = "warn"
    return tone, f"{word} in {share(often)} of periods and runs"


def against(own: float, other: float) -> str:
    """Compare two numbers of labels, the first being ours.

    >>> against(50.0, 100.0), against(150.0, 100.0), against(100.0, 100.0), against(0.0, 0.0)
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
    """Say in one or three words whether a way of buying labels kept the promise."""
    if judge(strategy, result.epsilon, result.confidence).kept:
        return KEPT
    return f"after period {JUDGED_AFTER}" if kept_late(result, strategy) else BROKEN


def shortfall(result: BacktestResult, strategy: Strategy) -> str:
    """Say how a way of buying labels fell short of the promise; nothing where it did not."""
    found = outcome(result, strategy)
    if found == KEPT:
        return ""
    return "broke the promise" if found == BROKEN else f"kept the promise only {found}"


def otherwise(result: BacktestResult) -> str:
    """Say what the same would have cost in other ways, for those that were replayed."""
    parts = []
    for name, way in WAYS.items():
        strategy = named(result, name)
        if strategy is not None:
            fell = shortfall(result, strategy)
            parts.append(f"{bill(result, labels(strategy))} by {way}{f' ({fell})' if fell else ''}")
    parts += [f"{one.title} could not run" for one in result.skipped if one.name in WAYS]
    return "; ".join(parts) or "no baseline was replayed"


def answer(result: BacktestResult) -> str:
    """Answer in short: how many labels, what it would have cost otherwise, was the promise kept."""
    own = result.strategies[0]
    kept = judge(own, result.epsilon, result.confidence)
    text = f"driftpace asked for {bill(result, labels(own))} over {plural(len(result.periods), 'period')}"
    for name in ("from_scratch", "best_constant"):  # the first of them is what a reader has in mind
        other = named(result, name)
        if other is not None:
            text += f"; {WAYS[name]} would have taken {bill(result, labels(other))}"
            text += " and broken the promise" if outcome(result, other) == BROKEN else ""
            break
    if not kept.periods:
        return f"{text}. Whether the promise, {asked(result)}, was kept was not measured."
    measured = f"{number(kept.measured)} on average" if kept.in_mean else f"in {share(kept.measured)} of periods"
    return f"{text}. The promise, {asked(result)}, was {KEPT if kept.kept else BROKEN}: {measured}."


def chosen(choices: Choices, most: int = 3) -> str:
    """Return the candidates that were chosen most often, with the share of runs and periods that chose them.

    >>> import numpy as np
    >>> chosen(Choices(candidates=("l2=0", "l2=1"), chosen=np.array([[0.0, 1.0, 1.0, 1.0]])))
    'l2=1 in 75 % of runs and periods, l2=0 in 25 %'
    """
    shares = [float((choices.chosen == index).mean()) for index in range(len(choices.candidates))]
    order = sorted((index for index, often in enumerate(shares) if often > 0.0), key=lambda index: -shares[index])
    words = [f"{choices.candidates[index]} in {share(shares[index])}" for index in order[:most]]
    words[0] += " of runs and periods"
    return ", ".join(words)
