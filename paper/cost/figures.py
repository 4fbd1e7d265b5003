"""The two figures of the paper, and two more: a single run, and larger budgets."""

import numpy as np

from paper.cost.study import EPSILON, NOISE, PERIODS, TOTAL, Method, Taken
from paper.records import Figure, Role, Series
from paper.runs import curve

NAMES: dict[Method, tuple[str, Role]] = {
    "plan": ("optimal cost plan", "paper"),
    "default": ("default method, same budget", "practical"),
    "rule": ("the rule, no budget", "second"),
    "every five": ("every five periods", "third"),
    "up front": ("all up front", "other"),
}
N = np.arange(1.0, PERIODS + 1.0)


def figures_of(taken: dict[tuple[Method, int], Taken], budgets: tuple[int, ...], few: int) -> tuple[Figure, ...]:
    """Return every figure of the experiment."""
    return (_losses(taken), _samples(taken), _one_run(taken), _budgets(taken, budgets, few))


def _losses(taken: dict[tuple[Method, int], Taken]) -> Figure:
    curves = [curve(label, role, N, taken[method, TOTAL].losses) for method, (label, role) in NAMES.items()]
    best = Series(label="best possible", role="truth", x=N, y=np.full(PERIODS, 0.5 * NOISE))
    target = Series(label="best possible + target", role="target", x=N, y=np.full(PERIODS, 0.5 * NOISE + EPSILON))
    return Figure(
        key="cost_test_loss",
        title=f"Test loss with {TOTAL} to spend",
        caption=(
            "All up front: the model is never updated and its loss grows. Every five periods: it is good after an "
            "order and the loss grows in between. "
            "The plan spreads the money; the rule without a budget is lower because it spends about twice as much."
        ),
        alt=(
            "Test loss over 25 periods on a logarithmic axis: up front rises steeply, every five periods is a sawtooth, "
            "the plan lies between it and the rule."
        ),
        x_label="period n",
        y_label="test loss",
        series=(*curves, target, best),
        paper="Test Loss for synthetic regression with cost approach",
        log_y=True,
    )


def _samples(taken: dict[tuple[Method, int], Taken]) -> Figure:
    shown: tuple[Method, ...] = ("plan", "default", "rule")
    return Figure(
        key="cost_samples",
        title="Samples bought, mean over runs",
        caption=(
            "The rule without a budget settles at a steady number; the plan buys what the money allows, more in "
            "some periods than in others."
        ),
        alt=(
            "Number of samples over 25 periods, mean over runs, for the plan, the default method with the same "
            "budget and the rule without one."
        ),
        x_label="period n",
        y_label="samples K_n",
        series=tuple(
            curve(*NAMES[method], N, taken[method, TOTAL].samples, steps=True, band=False) for method in shown
        ),
        paper="Cost Choice of K_n for synthetic regression",
    )


def _one_run(taken: dict[tuple[Method, int], Taken]) -> Figure:
    shown: tuple[Method, ...] = ("plan", "default", "rule")
    return Figure(
        key="cost_samples_one_run",
        title="Samples bought in the first run",
        caption="A single run shows that the plan buys nothing in some periods, which a mean over runs hides.",
        alt="Points: the number of samples in each period of one run; those of the plan lie at zero in some periods.",
        x_label="period n",
        y_label="samples K_n",
        series=tuple(
            Series(label=NAMES[method][0], role=NAMES[method][1], x=N, y=taken[method, TOTAL].samples[0], marks=True)
            for method in shown
        ),
    )


def _budgets(taken: dict[tuple[Method, int], Taken], budgets: tuple[int, ...], few: int) -> Figure:
    money = np.array(budgets, dtype=np.float64)
    shown: tuple[Method, ...] = ("plan", "default", "every five", "up front")
    rule = taken["rule", TOTAL].first(few)
    curves = []
    for method in shown:
        label, role = NAMES[method]
        by_budget = np.stack([taken[method, total].first(few).loss for total in budgets], axis=1)
        curves.append(curve(label, role, money, by_budget))
    held = Series(label=NAMES["rule"][0], role="second", x=money, y=np.full(money.size, rule.loss.mean()))
    return Figure(
        key="cost_budget",
        title="What more money brings",
        caption=(
            f"Mean test loss of {few} runs for each budget. The plan approaches the rule as the budget nears "
            "what the rule spends "
            f"({rule.spent.mean():.0f}); money spent at the wrong time hardly helps."
        ),
        alt=(
            "Test loss against the budget: the plan falls towards the rule, up front and every five periods stay "
            "where they are."
        ),
        x_label="budget",
        y_label="test loss",
        series=(*curves, held),
        log_y=True,
    )
