"""``driftpace plan``: when to buy how many samples within a budget."""

import csv
import io
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from enum import StrEnum
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftpace.cli.options import Storage, campaign_names
from driftpace.cli.output import ListForm

if TYPE_CHECKING:
    from driftpace.cli.output import Line
    from driftpace.cli.plan_text import Grid
    from driftpace.planning import PlanAnalysis
    from driftpace.records import Plan

_TASK, _PRICES, _DATA, _OUTPUT = (
    "Problem",
    "Prices",
    "Data, without NAME",
    "Output",
)


class Goal(StrEnum):
    """What is minimised where the budget does not meet the target."""

    MEAN = "mean"
    LARGEST = "largest"
    RUN = "run"


class Unknown(StrEnum):
    """What can be left out and is then solved for."""

    EPSILON = "epsilon"
    BUDGET = "budget"
    HORIZON = "horizon"


def plan(
    state: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A campaign, or the file of a saved tracker, with its data and target.",
            autocompletion=campaign_names,
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="The total budget.", rich_help_panel=_TASK)
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="How many periods it must last.", rich_help_panel=_TASK)] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="The target: the excess loss allowed over the best model. Default: that of NAME.",
            rich_help_panel=_TASK,
        ),
    ] = None,
    solve: Annotated[
        Unknown | None,
        typer.Option(help="What to solve for. Default: the one of the three left out.", rich_help_panel=_TASK),
    ] = None,
    gap: Annotated[
        Goal | None,
        typer.Option(
            help="What to minimise where the target cannot be met: the mean gap above it (the default), the largest gap, "
            "or the largest run of gaps.",
            rich_help_panel=_TASK,
        ),
    ] = None,
    adjacent: Annotated[
        bool,
        typer.Option(
            "--adjacent", help="Buy only next to a period that buys too, as in the paper.", rich_help_panel=_TASK
        ),
    ] = False,
    accuracy: Annotated[
        float,
        typer.Option(help="Proven relative gap to the optimal plan: 0.01 is 1 %.", rich_help_panel=_TASK),
    ] = 0.01,
    fixed: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="Fixed price of an order. Default: 0.", rich_help_panel=_PRICES),
    ] = None,
    per_sample: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="Price of a sample. Default: 1.", rich_help_panel=_PRICES)
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FROM:AMOUNT",
            help="Price from that sample of an order on, such as 101:1.50; may be repeated.",
            rich_help_panel=_PRICES,
        ),
    ] = None,
    minimum: Annotated[
        int | None,
        typer.Option(help="The smallest order: fewer samples are billed as this many.", rich_help_panel=_PRICES),
    ] = None,
    currency: Annotated[
        str | None, typer.Option(help="Currency of all amounts, such as EUR.", rich_help_panel=_PRICES)
    ] = None,
    noise: Annotated[float | None, typer.Option(help="Noise variance.", rich_help_panel=_DATA)] = None,
    features: Annotated[
        int | None, typer.Option(help="Number of coefficients.", max=10**6, rich_help_panel=_DATA)
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(help="Distance the best model moves in a period; a step costs rho²/2.", rich_help_panel=_DATA),
    ] = None,
    start: Annotated[
        float | None,
        typer.Option(
            help="Distance of the first model from the best one. Default: 3 standard deviations.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare with simpler plans.", rich_help_panel=_OUTPUT)
    ] = False,
    curve: Annotated[
        bool,
        typer.Option("--curve", help="Show which target smaller and larger budgets meet.", rich_help_panel=_OUTPUT),
    ] = False,
    form: Annotated[
        ListForm, typer.Option("--format", help="Output format.", rich_help_panel=_OUTPUT)
    ] = ListForm.TABLE,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.", rich_help_panel=_OUTPUT)] = False,
    out: Annotated[
        Path | None, typer.Option(help="Directory for plan.html, the figures, and plan.json.", rich_help_panel=_OUTPUT)
    ] = None,
    storage: Storage = None,
) -> None:
    """Plan purchases: what does a budget buy, and when to spend it?

    Give two of --budget, --horizon and --epsilon to solve for the third; give all three to come as close to the target as the
    budget allows. For a campaign with a budget, none is needed: what is left of it is planned.

    Exit code: 0 buy now, 10 buy nothing in the first period, 20 the budget buys nothing although the target is missed, 2 error.

    Example: driftpace plan churn --budget 5000 --horizon 12 --fixed 50 --per-sample 2
    """
    from driftpace.cli.output import Stopwatch
    from driftpace.cli.plan_inputs import PlanSource, PlanTask, costs, output_form, require_report

    stopwatch = Stopwatch()
    output = output_form(form.value, json)
    require_report(out)
    source = PlanSource.of(state, storage=storage, noise=noise, features=features, rho=rho, start=start)
    cost = costs(source, fixed=fixed, per_sample=per_sample, tiers=tier or [], minimum=minimum, currency=currency)
    task = PlanTask.of(epsilon=epsilon, budget=budget, horizon=horizon, solve=solve, goal=gap, source=source)

    from driftpace.cli.plan_text import exit_code, write_plan_page
    from driftpace.planning import analyse_plan

    with _spinner("Planning (the first plan on a machine takes some seconds longer)"):
        analysis = analyse_plan(
            source.outlook,
            cost=cost,
            epsilon=task.epsilon,
            budget=task.budget,
            horizon=task.horizon,
            gap=task.goal or "mean",
            adjacent=adjacent,
            bought_before=source.bought_before,
            first_period=source.first_period,
            accuracy=accuracy,
            baselines=compare,
            curve=curve,
        )
    analysis = replace(analysis, plan=replace(analysis.plan, delay_price=source.delay_price))
    written = {}
    if out is not None:
        from driftpace.storage.atomic_file import write_text

        out.mkdir(parents=True, exist_ok=True)
        written = {
            "numbers": out / "plan.json",
            "report": write_plan_page(analysis, out / "plan.html", source=source.name),
        }
        write_text(written["numbers"], plan_json(analysis, source.name) + "\n")
    _print(analysis, source.name, written, output)
    print(stopwatch.sentence(), file=sys.stdout if output == "table" else sys.stderr)
    raise typer.Exit(exit_code(analysis))


def _spinner(text: str) -> AbstractContextManager[object]:
    """Show a spinner at a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def plan_json(analysis: "PlanAnalysis", source: str) -> str:
    """Return the plan, its alternatives, the simple plans and the curve; without times, so that it is reproducible."""
    outlook = analysis.problem.outlook
    body = analysis.plan.to_dict() | {
        "solved_for": analysis.solved_for,
        "outlook": {"source": source or None, "rho": outlook.rho, "start": outlook.start, "steps": outlook.steps},
        "tightest_epsilon": None if analysis.tightest is None else analysis.tightest.epsilon,
        "sufficient_budget": None if analysis.cheapest is None else analysis.cheapest.to_dict()["spent"],
        "baselines": [other.to_dict() for other in analysis.baselines],
        "trade_off": [point.to_dict() for point in analysis.curve],
    }
    return dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def plan_csv(plan: "Plan") -> str:
    """Return one line for each period, with a header."""
    rows = plan.to_dict()["periods"]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _print(analysis: "PlanAnalysis", source: str, written: Mapping[str, Path], output: str) -> None:
    """Print the plan; in JSON and CSV, the names of the files go to stderr."""
    files = [(what.capitalize(), str(path)) for what, path in written.items()]
    if output != "table":
        print(plan_json(analysis, source) if output == "json" else plan_csv(analysis.plan))
        for label, path in files:
            print(f"{label}: {path}", file=sys.stderr)
        return
    from driftpace.cli.plan_text import comparison_table, curve_table, period_table, summary_lines

    optional = (comparison_table(analysis), curve_table(analysis))
    grids = [period_table(analysis.plan), *(grid for grid in optional if grid is not None)]
    lines = [*summary_lines(analysis, source), *files]
    if sys.stdout.isatty():
        _print_rich(grids, lines)
    else:
        print("\n\n".join(_plain_text(grid) for grid in grids))
        print("\n" + "\n".join(f"{label:<10} {text}" for label, text in lines) + "\n")


def _plain_text(grid: "Grid") -> str:
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


def _print_rich(grids: list["Grid"], lines: list["Line"]) -> None:
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
    summary = Table.grid(padding=(0, 2))
    for label, text in lines:
        summary.add_row(Text(label, style="bold"), Text(text))
    console.print(summary)
    console.print()
