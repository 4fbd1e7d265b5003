"""Text, tables, JSON and CSV of a plan, and its report page."""

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from driftpace.cli.output import Stopwatch
from driftpace.cli.plan_answer import EXHAUSTED, SKIP, Answer
from driftpace.formatting import plural
from driftpace.planning import LargestRun, MeanGap, price
from driftpace.records import Plan

if TYPE_CHECKING:
    from driftpace.report.plan import TextTable


NAMES = {
    "exact": "this plan",
    "up front": "all up front",
    "every 2 periods": "every second period",
    "every 5 periods": "every five periods",
    "every period": "the same every period",
    "the risk rule": "the risk rule, without a budget",
}


def summary(answer: Answer) -> list[tuple[str, str]]:
    """Return the answer in a few labelled lines."""
    found = [
        ("Task", asked(answer)),
        ("Drift", world(answer)),
        ("Next", now(answer)),
        ("Cost", cost(answer.plan)),
        ("Target", target(answer.plan)),
        ("Optimality", proof(answer)),
        ("Budget", money(answer)),
    ]
    return [(name, text) for name, text in found if text]


def asked(answer: Answer) -> str:
    """Return the task."""
    plan = answer.plan
    horizon = plural(plan.horizon, "period")
    goal = f"a risk of at most {number(plan.epsilon)}"
    since = f", from period {plan.first_period} on" if plan.first_period != 1 else ""
    return {
        None: f"{goal} over {horizon}{since}, for {plan.budget}",
        "budget": f"the least money for {goal} over {horizon}{since}",
        "epsilon": f"the lowest risk that {plan.budget} can hold over {horizon}{since}",
        "horizon": f"for how long {plan.budget} can hold {goal}{since}",
    }[answer.solved]


def world(answer: Answer) -> str:
    """Return the assumptions about the drift."""
    outlook = answer.problem.outlook
    source = f"as estimated by {answer.world.name}: " if answer.world.name else ""
    how = {
        "worst": "at worst straight away from the model",
        "walk": "in any direction",
        "printed": "as the paper adds it up",
    }
    return (
        f"{source}the best model moves by {number(outlook.rho)} a period, {how[outlook.steps]}; "
        f"the model at hand is {number(outlook.start)} away from it"
    )


def now(answer: Answer) -> str:
    """Return what to do in the first period, as the exit code does."""
    plan = answer.plan
    first = plan.first_period
    if answer.code == EXHAUSTED:
        return f"nothing can be bought: one sample costs {price(answer.problem.cost, 1)}, and there is {plan.budget}"
    if answer.code == SKIP:
        later = next((first + index for index, samples in enumerate(plan.samples) if samples), None)
        return f"buy nothing in period {first}" + (f"; the first order is in period {later}" if later else "")
    return f"buy {plural(plan.samples[0], 'sample')} in period {first}, for {plan.costs[0]}"


def cost(plan: Plan) -> str:
    """Return what is spent and what is left."""
    orders = sum(samples > 0 for samples in plan.samples)
    if not orders:
        return f"nothing is spent of {plan.budget}"
    left = f"; {plan.left} of {plan.budget} left" if plan.left.amount > 0 else ""
    return f"{plan.spent} for {plural(sum(plan.samples), 'sample')} in {plural(orders, 'order')}{left}"


def target(plan: Plan) -> str:
    """Return whether the target is met, and if not, where and by how much it is missed."""
    if plan.holds:
        where = f"all {plural(plan.horizon, 'period')}" if plan.horizon > 1 else "the one period"
        return f"held in {where}: the risk is at most {number(plan.largest_risk)}"
    missed = sum(gap > 0.0 for gap in plan.gaps)
    where = f"in {missed} of {plural(plan.horizon, 'period')}" if plan.horizon > 1 else "in the one period"
    mean = math.fsum(plan.gaps) / plan.horizon
    return f"missed {where}, by {number(max(plan.gaps))} at most and {number(mean)} on average over all periods"


def proof(answer: Answer) -> str:
    """Return how close the plan is to the optimum."""
    plan = answer.plan
    if plan.holds and not any(plan.samples):
        return "the target is met in every period without any samples"
    if plan.value <= 0.0 or not answer.pays_an_order:
        return plan.reason
    if plan.proven_gap <= 1e-9:
        return f"no plan for {plan.budget} has a smaller {plan.goal} than this one, {number(plan.value)}"
    return (
        f"no plan for {plan.budget} can have a {plan.goal} below {number(plan.lower)}; "
        f"this one has {number(plan.value)}, within {100.0 * plan.proven_gap:.2g} % of the best"
    )


def money(answer: Answer) -> str:
    """Return the best target of the budget, and the budget that meets the target."""
    plan = answer.plan
    said = []
    if answer.could_hold is not None:
        even = "even " if plan.holds else ""
        said.append(f"{plan.budget} could {even}hold {number(answer.could_hold.epsilon)} in every period")
    if answer.enough is not None:
        said.append(f"holding {number(plan.epsilon)} in every period takes {answer.enough.spent}")
    if answer.hopeless:
        said.append(f"no money was found to hold {number(plan.epsilon)} in every period")
    return "; ".join(said)


def number(value: float) -> str:
    """Write a risk with the four digits that matter.

    >>> number(0.0178309), number(0.1), number(51234.5), number(math.inf)
    ('0.01783', '0.1', '51,234', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite"
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e7 else f"{value:.4g}"


MOST_ROWS = 60
NONE = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """A table: ``missed`` are the rows where the target is missed, ``judged`` whether the last column says that."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    note: str = ""
    missed: frozenset[int] = frozenset()
    judged: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A period that buys, or all periods on end that do not: the money left after them, the highest risk and gap among them."""

    first: int
    last: int
    samples: int
    cost: Decimal
    left: Decimal
    risk: float
    gap: float

    @property
    def name(self) -> str:
        """Which periods these are."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def stretches(plan: Plan) -> list[Stretch]:
    """Return the plan with what is skipped on end folded into one."""
    found: list[Stretch] = []
    left = plan.budget.amount
    for index, (samples, cost) in enumerate(zip(plan.samples, plan.costs, strict=True)):
        left -= cost.amount
        period, risk, gap = plan.first_period + index, plan.risks[index], plan.gaps[index]
        first = period
        if samples == 0 and found and found[-1].samples == 0:
            before = found.pop()
            first, risk, gap = before.first, max(before.risk, risk), max(before.gap, gap)
        found.append(
            Stretch(first=first, last=period, samples=samples, cost=cost.amount, left=left, risk=risk, gap=gap)
        )
    return found


def periods(plan: Plan) -> Grid:
    """Return a row for each period that buys, and one for those between."""
    found = stretches(plan)
    shown = found if len(found) <= MOST_ROWS else found[: MOST_ROWS - 10]
    money = _Writer([amount for each in found for amount in (each.cost, each.left)])
    rows = tuple(
        (
            each.name,
            f"{each.samples:,}" if each.samples else "nothing",
            money(each.cost) if each.samples else NONE,
            money(each.left),
            number(each.risk),
            number(each.gap) if each.gap > 0.0 else NONE,
        )
        for each in shown
    )
    rest = len(found) - len(shown)
    return Grid(
        heads=("period", "samples", _in("cost", plan), _in("left", plan), "risk at most", "above target by"),
        rows=rows,
        note=f"... and {plural(rest, 'row')} more, to period {found[-1].last}; --format csv prints every period."
        if rest
        else "",
        missed=frozenset(index for index, each in enumerate(shown) if each.gap > 0.0),
        judged=True,
    )


def compared(answer: Answer) -> Grid | None:
    """Return the plan beside those that anyone would try first; None where they were not asked for."""
    if not answer.baselines:
        return None
    plans = (answer.plan, *answer.baselines)
    money = _Writer([plan.spent.amount for plan in plans])
    run = isinstance(answer.problem.gap, LargestRun)
    over = [plan for plan in answer.baselines if plan.budget < plan.spent]
    alone = [
        plan for plan in answer.baselines if answer.problem.adjacent and _alone(plan, answer.problem.bought_before)
    ]
    return Grid(
        title="Other plans",
        heads=(
            "",
            "samples",
            _in("cost", answer.plan),
            "mean gap",
            *(["largest run"] if run else []),
            "largest risk",
            "periods missed",
        ),
        rows=tuple(
            (
                NAMES.get(plan.method, plan.method),
                f"{sum(plan.samples):,}",
                money(plan.spent.amount),
                number(MeanGap()(np.array(plan.gaps))),
                *([number(LargestRun()(np.array(plan.gaps)))] if run else []),
                number(plan.largest_risk),
                f"{sum(gap > 0.0 for gap in plan.gaps):,}" if not plan.holds else NONE,
            )
            for plan in plans
        ),
        note=" ".join(
            f"{what}: {', '.join(NAMES.get(plan.method, plan.method) for plan in plans)}."
            for what, plans in ((f"Above the budget of {answer.plan.budget}", over), ("Against --adjacent", alone))
            if plans
        ),
        missed=frozenset(index for index, plan in enumerate(plans) if not plan.holds),
        judged=True,
    )


def traded(answer: Answer) -> Grid | None:
    """Return which target each of several budgets holds; None where that was not asked for."""
    if not answer.curve:
        return None
    money = _Writer([point.budget.amount for point in answer.curve])
    return Grid(
        title="What other budgets hold in every period",
        heads=(_in("money", answer.plan), "a risk of", "no plan holds less than"),
        rows=tuple((money(point.budget.amount), number(point.epsilon), number(point.lower)) for point in answer.curve),
    )


def _alone(plan: Plan, bought_before: bool) -> bool:
    """Tell whether a period buys with none before or after it that does."""
    bought = [bought_before, *(samples > 0 for samples in plan.samples), False]
    return any(
        now and not (before or after) for before, now, after in zip(bought, bought[1:], bought[2:], strict=False)
    )


class _Writer:
    """Writes amounts with as many decimals as the finest of them has, at least two where it has any."""

    def __init__(self, amounts: Iterable[Decimal]) -> None:
        finest = max((-int(amount.normalize().as_tuple().exponent) for amount in amounts), default=0)
        self._decimals = max(finest, 2) if finest > 0 else 0

    def __call__(self, amount: Decimal) -> str:
        return f"{amount:,.{self._decimals}f}"


def _in(what: str, plan: Plan) -> str:
    return f"{what} ({plan.budget.currency})" if plan.budget.currency else what


def tell(answer: Answer, written: Mapping[str, Path], form: str, stopwatch: Stopwatch) -> None:
    """Print the answer; in JSON and CSV, everything else goes to stderr."""
    if form != "table":
        print(as_json(answer) if form == "json" else as_csv(answer))
        for what, path in written.items():
            print(f"{what.capitalize()}: {path}", file=sys.stderr)
        print(stopwatch.sentence(), file=sys.stderr)
        return
    grids = [periods(answer.plan), compared(answer), traded(answer)]
    said = [*summary(answer), *((what.capitalize(), str(path)) for what, path in written.items())]
    shown = [grid for grid in grids if grid is not None]
    if sys.stdout.isatty():
        _show(shown, said)
    else:
        print("\n\n".join(_plain(grid) for grid in shown))
        print("\n" + "\n".join(f"{name:<10} {text}" for name, text in said) + "\n")
    print(stopwatch.sentence())


def as_json(answer: Answer) -> str:
    """Return the plan, what the money could hold and would have to be, the other plans and the curve; no clock in it."""
    outlook = answer.problem.outlook
    body = answer.plan.to_dict() | {
        "solved_for": answer.solved,
        "world": {
            "state": answer.world.name or None,
            "rho": outlook.rho,
            "start": outlook.start,
            "steps": outlook.steps,
        },
        "could_hold": None if answer.could_hold is None else answer.could_hold.epsilon,
        "enough": None if answer.enough is None else answer.enough.to_dict()["spent"],
        "baselines": [other.to_dict() for other in answer.baselines],
        "trade_off": [point.to_dict() for point in answer.curve],
    }
    return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def as_csv(answer: Answer) -> str:
    """Return one line for each period, with a header."""
    rows = answer.plan.to_dict()["periods"]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def waiting(what: str) -> AbstractContextManager[object]:
    """Show a spinner at a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


def _plain(grid: Grid) -> str:
    lines = [grid.heads, *grid.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(grid.heads))]
    body = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*([grid.title] if grid.title else []), *body, *([grid.note] if grid.note else [])])


def _show(grids: list[Grid], said: list[tuple[str, str]]) -> None:
    """Print with lines and colours; what is above the target is red."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for grid in grids:
        table = Table(
            box=box.SIMPLE_HEAD, title=grid.title or None, title_justify="left", title_style="bold", pad_edge=False
        )
        for column, head in enumerate(grid.heads):
            table.add_column(head, justify="left" if column == 0 else "right", overflow="fold")
        for index, row in enumerate(grid.rows):
            *cells, last = (Text(cell) for cell in row)
            last.stylize("red" if index in grid.missed else "green" if grid.judged else "")
            table.add_row(*cells, last)
        console.print(table)
        if grid.note:
            console.print(Text(f"{grid.note}\n"))
    words = Table.grid(padding=(0, 2))
    for name, text in said:
        words.add_row(Text(name, style="bold"), Text(text))
    console.print(words)
    console.print()


def write_picture(answer: Answer, path: Path) -> Path:
    """Write the report and return its path."""
    from driftpace.report import write_page

    return write_page(picture(answer), path)


def picture(answer: Answer) -> str:
    """Return the report as an HTML page."""
    from driftpace.report import PlanPage, plan_report

    return plan_report(
        PlanPage(
            plan=answer.plan,
            task=asked(answer),
            now=now(answer),
            cost=cost(answer.plan),
            target=target(answer.plan),
            money=money(answer),
            facts=(("Task", asked(answer)), ("Drift", world(answer)), ("Optimality", proof(answer))),
            baselines=[(NAMES.get(other.method, other.method), other) for other in answer.baselines],
            comparison=_table(compared(answer)),
            curve=answer.curve,
            curve_table=_table(traded(answer)),
            target_given=answer.solved != "epsilon",
            proven=answer.pays_an_order,
            tightest=answer.could_hold,
            cheapest=answer.enough,
        )
    )


def _table(grid: Grid | None) -> "TextTable | None":
    from driftpace.report.plan import TextTable

    return None if grid is None else TextTable(heads=grid.heads, rows=grid.rows, note=grid.note)
