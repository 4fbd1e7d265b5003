"""``driftpace status``: where a campaign stands, and what to do now."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.shared.completing import campaign_names
from driftpace.cli.shared.options import Form, Shown, Storage

if TYPE_CHECKING:
    from driftpace.cli.shared.printing import Line
    from driftpace.cli.shared.standing import Standing


def status(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The campaign. Default: all of them.", autocompletion=campaign_names),
    ] = None,
    form: Shown = Form.TABLE,
    storage: Storage = None,
) -> None:
    """Say where a campaign stands and what to do now.

    Example: driftpace status churn
    """
    if name is None:
        from driftpace.cli.campaigns.listing import show
        from driftpace.cli.shared.options import ListForm

        show(storage, search="", limit=None, form=ListForm(form.value))
        return
    if form is Form.JSON:
        from driftpace.campaign.serialization import status_json
        from driftpace.cli.shared.printing import print_json
        from driftpace.cli.shared.reading import campaign_at

        with campaign_at(storage, name) as campaign:
            print_json(status_json(campaign.status()))
        return
    from driftpace.cli.shared.printing import print_answer
    from driftpace.cli.shared.reading import standing_at

    found = standing_at(storage, name) or _slowly(storage, name)
    summary = found.head.summary
    print_answer(f"{name}: {summary['todo']}", lines(found))


def lines(found: "Standing") -> list["Line"]:
    """Return what stands behind the sentence."""
    from driftpace.cli.period.words import order_lines, report_lines
    from driftpace.cli.shared.printing import plural

    summary = found.head.summary
    about = [("About", summary["description"])] if summary["description"] else []
    about.append(("Target", summary["target"]))
    order = found.order
    about += [] if order is None else order_lines(order)
    if found.last is not None:
        said = report_lines(found.last, found.last_key)
        about += [
            (f"{'Last' if head == 'Closed' else ''}", text) for head, text in said if head in ("Closed", "Promise")
        ]
    total = plural(summary["rows"], "row")
    money = (
        "" if summary["spent"] is None else f", for {summary['spent']}{_since(summary)}; {summary['money_left']} left"
    )
    about.append(("So far", f"{plural(summary['period'] - 1, 'period')} closed, {total}{money}"))
    about.append(("Changed", f"{found.head.updated_at}, entry {found.head.seq} of the log"))
    return about


def _since(summary: Mapping[str, Any]) -> str:
    """Return what the rows cost that came since the last period was closed."""
    committed = summary.get("committed")
    return f", and {committed} for those that came since" if committed and summary["came"] else ""


def _slowly(storage: str | None, name: str) -> "Standing":
    """Return where a campaign stands from the campaign itself, wherever it is kept."""
    from driftpace.cli.shared.reading import campaign_at
    from driftpace.cli.shared.standing import Standing

    with campaign_at(storage, name) as campaign:
        now = campaign.status()
        head = campaign.store.head(name)
        assert head is not None
        closed = campaign.store.latest(name, limit=1, kinds=("closed",))
        key = closed[0].body["key"] if closed else None
        return Standing(head=head, order=now.order, last=now.last, last_key=key)
