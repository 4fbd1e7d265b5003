"""``driftpace override``, ``approve``, ``forget``, ``amend``, ``retrain``, ``budget``: decisions, with their reason for the log."""

from collections.abc import Iterable
from pathlib import Path
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
    from driftpace.cli.output import print_order
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
    from driftpace.cli.output import print_order
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
    from driftpace.cli.output import print_order
    from driftpace.cli.stores import opened_campaign
    from driftpace.formatting import plural

    with opened_campaign(storage, name) as campaign:
        before = campaign.status().order
        order = campaign.forget(reason=reason, who=user_name(who), dry_run=dry_run)
    rows = "No rows" if before is None or not before.received else plural(before.received, "row")
    print_order(order, form, dry_run=dry_run, prefix=f"{rows} discarded. ")


def amend(
    name: Name,
    reason: Reason,
    unknown_category: Annotated[
        list[str] | None,
        typer.Option(
            "--unknown-category",
            metavar="COLUMN=CATEGORY",
            help="Treat any unlisted category of the column as this listed one; may be repeated.",
            show_default=False,
        ),
    ] = None,
    new_class: Annotated[
        list[str] | None,
        typer.Option(
            "--new-class", metavar="CLASS", help="Add a class of the target; may be repeated.", show_default=False
        ),
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Map unlisted categories of a column to a listed one, or add a class of the target.

    Without a mapping, unlisted categories count as other, or as the first category of the column. A class can be added where there
    are several; labels of a class that is not listed are refused. Earlier rows are not changed.

    Example: driftpace amend churn --unknown-category plan=basic --reason "plans change"
    """
    from driftpace.campaign.serialization import status_json
    from driftpace.campaign.text import describe_mapping
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change
    from driftpace.cli.stores import opened_campaign

    with opened_campaign(storage, name) as campaign:
        before = campaign.definition
        mapping, added = parse_mapping(unknown_category or (), before.categories), new_class or []
        status = campaign.amend(
            unknown_categories=mapping, new_classes=added, reason=reason, who=user_name(who), dry_run=dry_run
        )
    changed = bool(added) or any(before.unknown_categories.get(one) != category for one, category in mapping.items())
    first = f"{name}: {'from now on' if changed else 'already set:'} {describe_mapping(mapping, added)}."
    print_change(form, first, [("Next", status.todo)], status_json(status), written=changed and not dry_run)


def retrain(
    name: Name,
    reason: Reason,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A model that was trained elsewhere, in place of one that is trained here.",
            show_default=False,
        ),
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Train the base model of a campaign again, on the rows labelled so far.

    No label is bought for it; older rows count less. The head goes on, or begins anew on a model from elsewhere, and an open
    order without rows is computed again. driftpace undo takes it back.

    Example: driftpace retrain churn --reason "would gain 0.012"
    """
    from driftpace.campaign.serialization import status_json
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change
    from driftpace.cli.stores import opened_campaign
    from driftpace.progress import Progress

    with opened_campaign(storage, name) as campaign, Progress():
        status = campaign.retrain(model, reason=reason, who=user_name(who), dry_run=dry_run)
    what = "the base was replaced" if model is not None else "the base was trained again"
    print_change(form, f"{name}: {what}.", [("Next", status.todo)], status_json(status), written=not dry_run)


def parse_mapping(options: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Return the category for each column; where a text has several =, the split that gives a known column.

    >>> parse_mapping(["city=Milan", "a=b=c"], ["city", "a=b"])
    {'city': 'Milan', 'a=b': 'c'}
    """
    from driftpace.errors import ParameterError

    known = set(columns)
    mapping: dict[str, str] = {}
    for text in options:
        places = [place for place, char in enumerate(text) if char == "="]
        if not places:
            raise ParameterError(f"--unknown-category must be COLUMN=CATEGORY, such as city=Milan; got {text!r:.80}.")
        place = next((place for place in places if text[:place] in known), places[0])
        column, category = text[:place], text[place + 1 :]
        if mapping.setdefault(column, category) != category:
            raise ParameterError(
                f"--unknown-category must give one category for each column; got {mapping[column]!r:.80} and "
                f"{category!r:.80} for {column!r:.80}."
            )
    return mapping


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
    order_price: Annotated[
        str | None,
        typer.Option(metavar="MONEY", help="New price of an order, where segments share a budget.", show_default=False),
    ] = None,
    currency: Annotated[
        str | None, typer.Option(help="Currency, where the campaign has no budget yet.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Add money or periods to the budget of a campaign.

    An open order is recomputed. A campaign without a budget gets one. Segments of a campaign share one budget.

    Example: driftpace budget churn --add 500 --periods 12 --reason "next year"
    """
    from driftpace.campaign.serialization import status_json
    from driftpace.cli.fleet import budget as fund_segments
    from driftpace.cli.fleet import has_segments
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change
    from driftpace.cli.stores import opened_campaign

    options = {"fixed": fixed, "per_sample": per_sample, "order_price": order_price, "currency": currency}
    prices = {option: value for option, value in options.items() if value is not None}
    if has_segments(storage, name):
        fund_segments(
            name,
            add=add,
            periods=periods,
            prices=prices,
            reason=reason,
            form=form,
            dry_run=dry_run,
            who=who,
            storage=storage,
        )
        return
    with opened_campaign(storage, name) as campaign:
        status = campaign.add_money(add, periods=periods, reason=reason, who=user_name(who), dry_run=dry_run, **prices)
        total = campaign.definition.budget
    left = f"{status.to_plan} left for period {status.period} and later"
    horizon = "" if dry_run or total is None else f", {total['horizon'] - status.period + 1} periods in total"
    print_change(form, f"{name}: {left}{horizon}.", [("Next", status.todo)], status_json(status), written=not dry_run)
