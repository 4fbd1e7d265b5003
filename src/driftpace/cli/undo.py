"""``driftpace undo`` and ``release``: take back what was delivered, decided, drawn or closed, with a reason for the log."""

from typing import TYPE_CHECKING, Annotated

import typer

from driftpace.cli.options import Address, DryRun, Engine, Name, Reason, Shown, Storage, Who
from driftpace.cli.output import Form

if TYPE_CHECKING:
    from driftpace.campaign import Undone


def undo(
    name: Name,
    reason: Reason,
    delivery: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Undo a delivery, by its name or its file.", show_default=False),
    ] = None,
    entry: Annotated[
        int | None,
        typer.Option(
            metavar="SEQ", help="Undo a log entry, by its number in driftpace log.", min=1, show_default=False
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(metavar="N", help="Open the last closed period again, by its number or key.", show_default=False),
    ] = None,
    refund: Annotated[
        bool, typer.Option("--refund", help="The rows were recorded in error and not paid: give their money back.")
    ] = False,
    executor: Engine = None,
    address: Address = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Take back a delivery, a decision, a draw or the closing of a period.

    The log keeps both. Closed periods are fitted again from the first that changed, with the orders that were placed, and the open
    order is recomputed. An undo is itself an entry, which can be undone.

    Example: driftpace undo churn --delivery w46.csv --reason "labels of the wrong week"
    """
    from driftpace.cli.fleet import has_segments, refuse_for_one_model, refuse_options
    from driftpace.cli.fleet import undo as undo_segments
    from driftpace.cli.options import open_engine, user_name
    from driftpace.cli.stores import opened_campaign
    from driftpace.errors import ParameterError

    if sum(value is not None for value in (delivery, entry, period)) != 1:
        raise ParameterError(
            "one of --delivery, --entry and --period must say what to undo; driftpace log lists entries."
        )
    if has_segments(storage, name):
        refuse_options(name, refund=refund)
        undo_segments(
            name,
            entry=entry,
            delivery=delivery,
            period=period,
            reason=reason,
            form=form,
            dry_run=dry_run,
            who=who,
            storage=storage,
            executor=open_engine(executor, address, owner="undo"),
        )
        return
    refuse_for_one_model(name, executor=executor, address=address)
    which = int(period) if period is not None and period.isdecimal() else period
    with opened_campaign(storage, name) as campaign:
        if isinstance(which, int) and any(row.key == period for row in campaign.ledger()):
            which = period
        undone = campaign.undo(
            entry, delivery=delivery, period=which, refund=refund, reason=reason, who=user_name(who), dry_run=dry_run
        )
    _print(name, undone, form, dry_run=dry_run)


def release(
    name: Name,
    reason: Reason,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Release the rows drawn for labelling in the open period.

    Use it for rows drawn from a wrong pool; labels that arrived stay.

    Example: driftpace release churn --reason "drawn from last month's customers"
    """
    from driftpace.cli.options import user_name
    from driftpace.cli.stores import opened_campaign

    with opened_campaign(storage, name) as campaign:
        undone = campaign.release(reason=reason, who=user_name(who), dry_run=dry_run)
    _print(name, undone, form, dry_run=dry_run)


def _print(name: str, undone: "Undone", form: Form, *, dry_run: bool) -> None:
    from driftpace.campaign.log_text import undone_text
    from driftpace.campaign.serialization import undone_json
    from driftpace.campaign.text import undone_lines
    from driftpace.cli.output import print_change

    what = undone_text(undone.kind, rows=undone.rows, period=undone.period)
    print_change(form, f"{name}: {what}.", undone_lines(undone), undone_json(undone), written=not dry_run)
