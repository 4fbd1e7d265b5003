"""``driftpace budget``: add money or periods to a campaign's budget."""

from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Name, Reason, Shown, Storage, Who
from driftpace.cli.output import Form

Price = Annotated[str | None, typer.Option(metavar="MONEY", help="New price from now on.", show_default=False)]


def budget(
    name: Name,
    reason: Reason,
    add: Annotated[
        str,
        typer.Option(metavar="MONEY", help="Money to add; a negative amount takes money away.", show_default=False),
    ] = "0",
    periods: Annotated[int, typer.Option(help="Periods to add.", min=0, max=10_000)] = 0,
    fixed: Price = None,
    per_sample: Price = None,
    currency: Annotated[
        str | None, typer.Option(help="Currency, where the campaign has no budget yet.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Add money or periods to the budget of a campaign.

    An open order is recomputed. A campaign without a budget gets one.

    Example: driftpace budget churn --add 500 --periods 12 --reason "next year"
    """
    from driftpace.cli.options import user_name
    from driftpace.cli.output import NOTHING_WRITTEN, print_answer, print_json, print_note
    from driftpace.cli.stores import opened_campaign

    options = {"fixed": fixed, "per_sample": per_sample, "currency": currency}
    prices = {option: value for option, value in options.items() if value is not None}
    with opened_campaign(storage, name) as campaign:
        status = campaign.add_money(add, periods=periods, reason=reason, who=user_name(who), dry_run=dry_run, **prices)
        total = campaign.definition.budget
    if form is Form.JSON:
        from driftpace.campaign.serialization import status_json

        print_json(status_json(status))
    else:
        left = f"{status.to_plan} left for period {status.period} and later"
        horizon = "" if dry_run or total is None else f", {total['horizon'] - status.period + 1} periods in total"
        print_answer(f"{name}: {left}{horizon}.", [("Next", status.todo)])
    if dry_run:
        print_note(NOTHING_WRITTEN)
