"""``driftpace override``, ``approve`` and ``forget``: what a person decides about an order, with the reason, for the log."""

from typing import TYPE_CHECKING, Annotated

import typer

from driftpace.cli.shared.options import DryRun, Form, Name, Shown, Storage, Who
from driftpace.cli.shared.printing import plural

if TYPE_CHECKING:
    from driftpace.campaign.records import Order

Why = Annotated[str, typer.Option("--reason", help="Why, for the log.", show_default=False)]


def override(
    name: Name,
    samples: Annotated[
        int, typer.Argument(metavar="ROWS", help="How many rows the whole period is to have.", min=0, max=10**9)
    ],
    reason: Why,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Put a number of your own in the place of the order, with the reason.

    It stands until the period is closed; driftpace approve goes back to the order as it was made.

    Example: driftpace override churn 40 --reason "half the team is on holiday"
    """
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.reading import campaign_at

    with campaign_at(storage, name) as campaign:
        order = campaign.override(samples, reason=reason, who=who_am_i(who), dry_run=dry_run)
    _print(order, form, dry_run=dry_run)


def approve(
    name: Name,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the log.", show_default=False)] = "",
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Agree with the order as it was made.

    An override of it is over.

    Example: driftpace approve churn
    """
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.reading import campaign_at

    with campaign_at(storage, name) as campaign:
        order = campaign.approve(reason=reason, who=who_am_i(who), dry_run=dry_run)
    _print(order, form, dry_run=dry_run)


def forget(
    name: Name,
    reason: Why,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Take back the rows told so far in the open period.

    Such as a delivery that proved bad. Rows of closed periods stay: the model has learnt from them.

    Example: driftpace forget churn --reason "the labels of Monday were swapped"
    """
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.reading import campaign_at

    with campaign_at(storage, name) as campaign:
        before = campaign.status().order
        order = campaign.forget(reason=reason, who=who_am_i(who), dry_run=dry_run)
    rows = "No rows were there to be" if before is None or not before.came else f"{plural(before.came, 'row')} were"
    _print(order, form, dry_run=dry_run, first=f"{rows} taken back. ")


def _print(order: "Order", form: Form, *, dry_run: bool, first: str = "") -> None:
    from driftpace.cli.period.words import order_lines, sentence
    from driftpace.cli.shared.printing import print_answer, print_json, print_note

    if form is Form.JSON:
        from driftpace.campaign.serialization import order_json

        print_json(order_json(order))
    else:
        print_answer(f"{order.campaign}: {first}{sentence(order)}", order_lines(order))
    if dry_run:
        print_note("Nothing was written.")
