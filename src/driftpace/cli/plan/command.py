"""``driftpace plan``: when to buy how many samples for the money, said as a table, as numbers for machines and as a picture."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import ListForm, Storage, campaign_names

_ASKED, _COST, _WORLD, _SHOWN = (
    "What is asked",
    "What samples cost",
    "The world, where there is no NAME",
    "What is shown",
)


class Goal(StrEnum):
    """What is made small where the money does not hold the target."""

    MEAN = "mean"
    LARGEST = "largest"
    RUN = "run"


class Unknown(StrEnum):
    """What can be left out, and is then solved for."""

    EPSILON = "epsilon"
    BUDGET = "budget"
    HORIZON = "horizon"


def plan(
    state: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A campaign, or the file of a saved tracker, which knows the world and the target.",
            autocompletion=campaign_names,
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="All the money there is.", rich_help_panel=_ASKED)
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="How many periods it has to last.", rich_help_panel=_ASKED)
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="The target: how much worse than the best is accepted. Default: that of NAME.", rich_help_panel=_ASKED
        ),
    ] = None,
    solve: Annotated[
        Unknown | None,
        typer.Option(help="Which of the three to solve for. Default: the one left out.", rich_help_panel=_ASKED),
    ] = None,
    gap: Annotated[
        Goal | None,
        typer.Option(
            help="What to make small where the target cannot be held: the mean gap above it (the default), the largest gap, "
            "or the largest run of gaps.",
            rich_help_panel=_ASKED,
        ),
    ] = None,
    adjacent: Annotated[
        bool,
        typer.Option(
            "--adjacent", help="Buy only beside a period that buys too, as in the paper.", rich_help_panel=_ASKED
        ),
    ] = False,
    accuracy: Annotated[
        float,
        typer.Option(help="How near to the best a plan must be proven to be: 0.01 is 1 %.", rich_help_panel=_ASKED),
    ] = 0.01,
    fixed: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="What an order costs, however small. Default: 0.", rich_help_panel=_COST),
    ] = None,
    per_sample: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="What each sample costs. Default: 1.", rich_help_panel=_COST)
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FROM:AMOUNT",
            help="Another price from that sample of an order on, as 101:1.50; may be repeated.",
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
    noise: Annotated[
        float | None, typer.Option(help="Variance of what no model explains.", rich_help_panel=_WORLD)
    ] = None,
    features: Annotated[
        int | None, typer.Option(help="Number of coefficients.", max=10**6, rich_help_panel=_WORLD)
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(help="How far the best model moves in a period; a step costs rho²/2.", rich_help_panel=_WORLD),
    ] = None,
    start: Annotated[
        float | None,
        typer.Option(
            help="How far the first model is from the best. Default: 3 standard deviations.", rich_help_panel=_WORLD
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Add what simpler plans would do for the money.", rich_help_panel=_SHOWN)
    ] = False,
    curve: Annotated[
        bool, typer.Option("--curve", help="Add which target less or more money would hold.", rich_help_panel=_SHOWN)
    ] = False,
    form: Annotated[ListForm, typer.Option("--format", help="What to print.", rich_help_panel=_SHOWN)] = ListForm.TABLE,
    json: Annotated[bool, typer.Option("--json", help="Short for --format json.", rich_help_panel=_SHOWN)] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for plan.html, the picture, and plan.json.", rich_help_panel=_SHOWN)
    ] = None,
    storage: Storage = None,
) -> None:
    """Plan purchases: what do I get for this budget, and when do I spend it?

    Give two of --budget, --horizon and --epsilon, and the third is solved for; give all three, and the money comes as near to
    the target as it can. A campaign with a budget of its own needs none of them: what is left of it is planned.

    Exit code: 0 buy now, 10 buy nothing in the first period, 20 the money buys nothing though the target is missed, 2 refused.

    Example: driftpace plan churn --budget 5000 --horizon 12 --fixed 50 --per-sample 2
    """
    from driftpace.cli.output import Stopwatch
    from driftpace.cli.plan.asking import Wanted, World, costs, one_form, place_for_picture

    stopwatch = Stopwatch()
    shown = one_form(form.value, json)
    place_for_picture(out)
    world = World.of(state, storage=storage, noise=noise, features=features, rho=rho, start=start)
    cost = costs(world, fixed=fixed, per_sample=per_sample, tiers=tier or [], minimum=minimum, currency=currency)
    wanted = Wanted.of(epsilon=epsilon, budget=budget, horizon=horizon, solve=solve, goal=gap, world=world)

    from driftpace.cli.plan.answer import work_out
    from driftpace.cli.plan.telling import as_json, tell, waiting

    with waiting("Planning (the first plan on a machine takes some seconds longer)"):
        answer = work_out(wanted, world, cost, adjacent=adjacent, accuracy=accuracy, compare=compare, curve=curve)
    written = {}
    if out is not None:
        from driftpace.cli.plan.picture import write_picture

        out.mkdir(parents=True, exist_ok=True)
        written = {"numbers": out / "plan.json", "picture": write_picture(answer, out / "plan.html")}
        written["numbers"].write_text(as_json(answer) + "\n", encoding="utf-8")
    tell(answer, written, shown, stopwatch)
    raise typer.Exit(answer.code)
