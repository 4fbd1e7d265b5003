"""The report of an answered plan: its sentences and tables, for :func:`driftpace.report.plan_report`."""

from pathlib import Path

from driftpace.cli.plan.answer import Answer
from driftpace.cli.plan.tables import Grid, compared, traded
from driftpace.cli.plan.words import NAMES, asked, cost, money, now, proof, target, world
from driftpace.report import PlanPage, plan_report, write_page
from driftpace.report.plan import TextTable


def write_picture(answer: Answer, path: Path) -> Path:
    """Write the report and return its path."""
    return write_page(picture(answer), path)


def picture(answer: Answer) -> str:
    """Return the report as an HTML page."""
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


def _table(grid: Grid | None) -> TextTable | None:
    return None if grid is None else TextTable(heads=grid.heads, rows=grid.rows, note=grid.note)
