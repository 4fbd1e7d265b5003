"""``driftpace plan``: when to buy how many samples within a budget."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import Storage, campaign_names
from driftpace.cli.output import ListForm

_ASKED, _COST, _WORLD, _SHOWN = (
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
        str | None, typer.Option(metavar="AMOUNT", help="The total budget.", rich_help_panel=_ASKED)
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="How many periods it must last.", rich_help_panel=_ASKED)] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="The target: the excess loss allowed over the best model. Default: that of NAME.",
            rich_help_panel=_ASKED,
        ),
    ] = None,
    solve: Annotated[
        Unknown | None,
        typer.Option(help="What to solve for. Default: the one of the three left out.", rich_help_panel=_ASKED),
    ] = None,
    gap: Annotated[
        Goal | None,
        typer.Option(
            help="What to minimise where the target cannot be met: the mean gap above it (the default), the largest gap, "
            "or the largest run of gaps.",
            rich_help_panel=_ASKED,
        ),
    ] = None,
    adjacent: Annotated[
        bool,
        typer.Option(
            "--adjacent", help="Buy only next to a period that buys too, as in the paper.", rich_help_panel=_ASKED
        ),
    ] = False,
    accuracy: Annotated[
        float,
        typer.Option(help="Proven relative gap to the optimal plan: 0.01 is 1 %.", rich_help_panel=_ASKED),
    ] = 0.01,
    fixed: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="Fixed price of an order. Default: 0.", rich_help_panel=_COST),
    ] = None,
    per_sample: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="Price of a sample. Default: 1.", rich_help_panel=_COST)
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FROM:AMOUNT",
            help="Price from that sample of an order on, such as 101:1.50; may be repeated.",
            rich_help_panel=_COST,
        ),
    ] = None,
    minimum: Annotated[
        int | None,
        typer.Option(help="The smallest order: fewer samples are billed as this many.", rich_help_panel=_COST),
    ] = None,
    currency: Annotated[
        str | None, typer.Option(help="Currency of all amounts, such as EUR.", rich_help_panel=_COST)
    ] = None,
    noise: Annotated[float | None, typer.Option(help="Noise variance.", rich_help_panel=_WORLD)] = None,
    features: Annotated[
        int | None, typer.Option(help="Number of coefficients.", max=10**6, rich_help_panel=_WORLD)
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(help="Distance the best model moves in a period; a step costs rho²/2.", rich_help_panel=_WORLD),
    ] = None,
    start: Annotated[
        float | None,
        typer.Option(
            help="Distance of the first model from the best one. Default: 3 standard deviations.",
            rich_help_panel=_WORLD,
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare with simpler plans.", rich_help_panel=_SHOWN)
    ] = False,
    curve: Annotated[
        bool, typer.Option("--curve", help="Show which target smaller and larger budgets meet.", rich_help_panel=_SHOWN)
    ] = False,
    form: Annotated[ListForm, typer.Option("--format", help="Output format.", rich_help_panel=_SHOWN)] = ListForm.TABLE,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.", rich_help_panel=_SHOWN)] = False,
    out: Annotated[
        Path | None, typer.Option(help="Directory for plan.html, the figures, and plan.json.", rich_help_panel=_SHOWN)
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
    from driftpace.cli.plan_inputs import Wanted, World, costs, one_form, place_for_picture

    stopwatch = Stopwatch()
    shown = one_form(form.value, json)
    place_for_picture(out)
    world = World.of(state, storage=storage, noise=noise, features=features, rho=rho, start=start)
    cost = costs(world, fixed=fixed, per_sample=per_sample, tiers=tier or [], minimum=minimum, currency=currency)
    wanted = Wanted.of(epsilon=epsilon, budget=budget, horizon=horizon, solve=solve, goal=gap, world=world)

    from driftpace.cli.plan_answer import work_out
    from driftpace.cli.plan_text import as_json, tell, waiting

    with waiting("Planning (the first plan on a machine takes some seconds longer)"):
        answer = work_out(wanted, world, cost, adjacent=adjacent, accuracy=accuracy, compare=compare, curve=curve)
    written = {}
    if out is not None:
        from driftpace.cli.plan_text import write_picture

        out.mkdir(parents=True, exist_ok=True)
        written = {"numbers": out / "plan.json", "picture": write_picture(answer, out / "plan.html")}
        written["numbers"].write_text(as_json(answer) + "\n", encoding="utf-8")
    tell(answer, written, shown, stopwatch)
    raise typer.Exit(answer.code)
