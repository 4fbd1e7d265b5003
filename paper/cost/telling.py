"""The numbers of the cost experiment beside the paper's words, and which of its claims hold."""

from paper.cost.courses import Method
from paper.cost.setting import COST, TOTAL
from paper.cost.taken import Taken
from paper.over_runs import measured, paired
from paper.records import Claim, Comparison, Sensitivity

SIMILAR = 1.25
"""Two test losses are called similar when one is at most this many times the other."""
SURE = 3.0
"""A difference is called one when it is at least this many standard errors."""

All = dict[tuple[Method, int], Taken]


def comparisons_of(taken: All) -> tuple[Comparison, ...]:
    """Return each number as the paper has it in words, as in the paper, and by default."""
    plan, rule, every, front, default, free = (
        taken[method, TOTAL] for method in ("plan", "rule", "every five", "up front", "default", "default, no budget")
    )
    note = "+- is the standard error over runs of the mean over periods"
    return (
        Comparison(
            what=f"test loss with a budget of {TOTAL}, the plan",
            paper="similar to the rule, better than the other two",
            as_in_paper=measured(plan.loss, note=note),
            practical=measured(default.loss, note=note),
        ),
        Comparison(
            what="test loss of the rule without a budget",
            paper=None,
            as_in_paper=measured(rule.loss, note=note),
            practical=measured(free.loss, note=note),
        ),
        Comparison(
            what="test loss, every five periods",
            paper=None,
            as_in_paper=measured(every.loss, note=note),
            practical=None,
        ),
        Comparison(
            what="test loss, all up front",
            paper="can grow large quickly",
            as_in_paper=measured(front.loss, note=note),
            practical=None,
        ),
        Comparison(
            what="excess risk of the plan",
            paper=None,
            as_in_paper=measured(plan.risk, note=note),
            practical=measured(default.risk, note=note),
        ),
        Comparison(
            what="spent by the plan",
            paper="within the budget",
            as_in_paper=measured(plan.spent),
            practical=measured(default.spent),
            note="The default spends no more than its target needs.",
        ),
        Comparison(
            what="spent by the rule without a budget",
            paper="does not satisfy the budget",
            as_in_paper=measured(rule.spent),
            practical=measured(free.spent),
        ),
        Comparison(
            what="share of periods in which the plan buys nothing",
            paper="some",
            as_in_paper=measured(plan.empty),
            practical=measured(default.empty),
        ),
        Comparison(
            what="samples a period, the plan",
            paper=None,
            as_in_paper=measured(plan.bought),
            practical=measured(default.bought),
        ),
    )


def claims_of(taken: All) -> tuple[Claim, ...]:
    """Return what the paper says of its two figures, judged by these runs."""
    plan, rule, every, front, default = (
        taken[method, TOTAL] for method in ("plan", "rule", "every five", "up front", "default")
    )
    from_front, from_every = paired(front.loss, plan.loss), paired(every.loss, plan.loss)
    from_rule, times = paired(plan.loss, rule.loss), float(plan.loss.mean() / rule.loss.mean())
    grown = paired(front.losses[:, 4], front.losses[:, 0])
    return (
        Claim(
            says="The optimal cost plan keeps within its budget.",
            holds=bool((plan.spent <= TOTAL).all()),
            measured=(
                f"In {int((plan.spent <= TOTAL).sum())} of {len(plan.spent)} runs; at most {plan.spent.max():.0f} "
                f"of {TOTAL} spent."
            ),
        ),
        Claim(
            says="The rule without a budget does not satisfy it.",
            holds=bool((rule.spent > TOTAL).all()),
            measured=f"It spends {rule.spent.mean():.0f} on average, {rule.spent.min():.0f} at least.",
        ),
        Claim(
            says="The plan has a smaller test loss than taking all samples up front.",
            holds=from_front.z > SURE,
            measured=f"Smaller by {from_front}, {front.loss.mean() / plan.loss.mean():.1f} times smaller.",
        ),
        Claim(
            says="The plan has a smaller test loss than taking samples every five periods.",
            holds=from_every.z > SURE,
            measured=f"Smaller by {from_every}, {every.loss.mean() / plan.loss.mean():.1f} times smaller.",
        ),
        Claim(
            says="The plan has a test loss similar to that of the rule without a budget.",
            holds=times <= SIMILAR,
            measured=(
                f"{times:.2f} times that of the rule (similar: at most {SIMILAR:g} times), larger by {from_rule}, "
                f"with {TOTAL / rule.spent.mean():.0%} of "
                "the rule's money; the table of budgets says from where on it is similar."
            ),
        ),
        Claim(
            says="At some time instants the plan takes no samples.",
            holds=bool((plan.empty > 0).all()),
            measured=(
                f"{plan.empty.mean():.0%} of the periods are empty, {plan.empty.min():.0%} at least in a run. By "
                "default "
                f"{default.empty.mean():.0%} are: an order of a few rows is enough there in every period."
            ),
        ),
        Claim(
            says="When no samples are taken after the first period the test loss grows large quickly.",
            holds=grown.z > SURE,
            measured=(
                f"Four periods after the only order it is {front.losses[:, 4].mean():.2f}, from "
                f"{front.losses[:, 0].mean():.3f}: up by {grown}."
            ),
        ),
    )


def sensitivity_of(taken: All, budgets: tuple[int, ...], few: int) -> tuple[Sensitivity, ...]:
    """Return how the outcome answers to the budget, and to the planner where the paper's was run."""
    tables = [_by_budget(taken, budgets, few)]
    if ("relaxed plan", TOTAL) in taken:
        tables.append(_by_planner(taken, few))
    return tuple(tables)


def _by_budget(taken: All, budgets: tuple[int, ...], few: int) -> Sensitivity:
    rule = taken["rule", TOTAL].first(few)
    rows, near, dense = [], [], []
    for total in budgets:
        plan, default, every, front = (
            taken[method, total].first(few) for method in ("plan", "default", "every five", "up front")
        )
        times = float(plan.loss.mean() / rule.loss.mean())
        if times <= SIMILAR:
            near.append(total)
        if plan.empty.mean() > 0:
            dense.append(total)
        rows.append(
            (
                str(total),
                f"{plan.risk.mean():.3f}",
                f"{times:.2f}",
                f"{plan.empty.mean():.0%}",
                f"{plan.spent.max():.0f}",
                f"{every.risk.mean():.3f}",
                f"{front.risk.mean():.2f}",
                f"{default.risk.mean():.3f}",
                f"{default.spent.mean():.0f}",
            )
        )
    similar = f"from {near[0]} on" if near else "at none of them"
    empty = ", ".join(map(str, dense)) if dense else "none of them"
    both = sorted(set(near) & set(dense))
    return Sensitivity(
        title=f"Other budgets, first {few} runs",
        columns=(
            "budget",
            "plan: excess risk",
            "test loss, times the rule's",
            "empty periods",
            "most spent",
            "every five: excess risk",
            "up front: excess risk",
            "default: excess risk",
            "default: spent",
        ),
        rows=tuple(rows),
        reading=(
            f"The rule without a budget has an excess risk of {rule.risk.mean():.3f} for {rule.spent.mean():.0f}. "
            "The plan's test loss is similar "
            f"(at most {SIMILAR:g} times) {similar}, and periods are left empty at {empty}: "
            + (
                f"both at {', '.join(map(str, both))}."
                if both
                else (
                    "no budget tried here gives both at once, since one period without samples adds about rho^2/2 "
                    "= 0.5 to the risk."
                )
            )
        ),
    )


def _by_planner(taken: All, few: int) -> Sensitivity:
    exact, relaxed = taken["plan", TOTAL].first(few), taken["relaxed plan", TOTAL].first(few)
    off = paired(relaxed.loss, exact.loss)
    return Sensitivity(
        title=f"The exact planner and the paper's relaxation by IPOPT, budget {TOTAL}, first {few} runs",
        columns=("planner", "excess risk", "samples a period", "empty periods", "most spent"),
        rows=tuple(
            (
                name,
                f"{it.risk.mean():.3f}",
                f"{it.bought.mean():.2f}",
                f"{it.empty.mean():.0%}",
                f"{it.spent.max():.0f}",
            )
            for name, it in (("exact", exact), ("relaxed, rounded", relaxed))
        ),
        reading=(
            f"Test loss of the relaxation less that of the exact plan: {off}. In the relaxation a small order costs only a part "
            f"of {COST.fixed} (theory I25), so it spreads small orders over the periods and leaves fewer of them empty."
        ),
    )
