"""``driftpace budget``: more money for a campaign, and more periods for it to last."""

from typing import Annotated

import typer

from driftpace.cli.shared.options import DryRun, Form, Name, Shown, Storage, Who

Price = Annotated[str | None, typer.Option(metavar="MONEY", help="Another price from now on.", show_default=False)]


def budget(
    name: Name,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the log.", show_default=False)],
    add: Annotated[
        str,
        typer.Option(metavar="MONEY", help="How much more there is; less where it begins with -.", show_default=False),
    ] = "0",
    periods: Annotated[int, typer.Option(help="For how many more periods.", min=0, max=10_000)] = 0,
    fixed: Price = None,
    per_sample: Price = None,
    currency: Annotated[
        str | None, typer.Option(help="Where there was no budget before: of which currency.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Add money to the budget of a campaign, and periods that it has to last for.

    What was spent stays spent, and an open order is made anew. A campaign without a budget has one from now on.

    Example: driftpace budget churn --add 500 --periods 12 --reason "next year"
    """
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.printing import print_answer, print_json, print_note
    from driftpace.cli.shared.reading import campaign_at

    prices = {"fixed": fixed, "per_sample": per_sample, "currency": currency}
    given = {one: value for one, value in prices.items() if value is not None}
    with campaign_at(storage, name) as campaign:
        status = campaign.add_money(add, periods=periods, reason=reason, who=who_am_i(who), dry_run=dry_run, **given)
        total = campaign.definition.budget
    if form is Form.JSON:
        from driftpace.campaign.serialization import status_json

        print_json(status_json(status))
    else:
        left = f"{status.to_plan} left for period {status.period} and those after it"
        horizon = "" if dry_run or total is None else f", {total['horizon'] - status.period + 1} in all"
        print_answer(f"{name}: {left}{horizon}.", [("Now", status.todo)])
    if dry_run:
        print_note("Nothing was written.")
