"""``driftpace override``, ``approve`` and ``forget``: decisions about an order, with their reason for the log."""

from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Name, Reason, Shown, Storage, Who
from driftpace.cli.output import Form


def override(
    name: Name,
    samples: Annotated[
        int, typer.Argument(metavar="ROWS", help="How many rows the whole period shall have.", min=0, max=10**9)
    ],
    reason: Reason,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Replace the number of rows to label by your own.

    It applies until the period is closed; driftpace approve restores the computed order.

    Example: driftpace override churn 40 --reason "half the team is on holiday"
    """
    from driftpace.cli.options import user_name
    from driftpace.cli.order_text import print_order
    from driftpace.cli.stores import opened_campaign

    with opened_campaign(storage, name) as campaign:
        order = campaign.override(samples, reason=reason, who=user_name(who), dry_run=dry_run)
    print_order(order, form, dry_run=dry_run)


def approve(
    name: Name,
    reason: Reason = "",
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Approve the computed order.

    This ends an override.

    Example: driftpace approve churn
    """
    from driftpace.cli.options import user_name
    from driftpace.cli.order_text import print_order
    from driftpace.cli.stores import opened_campaign

    with opened_campaign(storage, name) as campaign:
        order = campaign.approve(reason=reason, who=user_name(who), dry_run=dry_run)
    print_order(order, form, dry_run=dry_run)


def forget(
    name: Name,
    reason: Reason,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Discard the rows received so far in the open period.

    Use it for a delivery with wrong labels. Rows of closed periods stay: the model has been fitted to them.

    Example: driftpace forget churn --reason "Monday's labels were swapped"
    """
    from driftpace.cli.options import user_name
    from driftpace.cli.order_text import print_order
    from driftpace.cli.stores import opened_campaign
    from driftpace.formatting import plural

    with opened_campaign(storage, name) as campaign:
        before = campaign.status().order
        order = campaign.forget(reason=reason, who=user_name(who), dry_run=dry_run)
    rows = "No rows" if before is None or not before.received else plural(before.received, "row")
    print_order(order, form, dry_run=dry_run, prefix=f"{rows} discarded. ")
