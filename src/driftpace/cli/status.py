"""``driftpace status``: the state of a campaign, and the next step."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import Shown, Storage, campaign_names
from driftpace.cli.output import Form

if TYPE_CHECKING:
    from driftpace.campaign.records import Lateness
    from driftpace.campaign.status import StatusSnapshot
    from driftpace.cli.output import Line
    from driftpace.storage.base import Refusal


def status(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The campaign. Default: all campaigns.", autocompletion=campaign_names),
    ] = None,
    form: Shown = Form.TABLE,
    storage: Storage = None,
) -> None:
    """Show the state of a campaign and the next step.

    Example: driftpace status churn
    """
    if name is None:
        from driftpace.cli.campaigns import print_campaigns
        from driftpace.cli.output import ListForm

        print_campaigns(storage, search="", limit=None, form=ListForm(form.value))
        return
    from driftpace.cli.fleet import has_segments
    from driftpace.cli.fleet import status as print_segments

    if has_segments(storage, name):
        print_segments(name, form, storage)
        return
    if form is Form.JSON:
        from driftpace.campaign.serialization import status_json
        from driftpace.cli.output import print_json
        from driftpace.cli.stores import opened_campaign

        with opened_campaign(storage, name) as campaign:
            print_json(status_json(campaign.status()))
        return
    from driftpace.cli.output import print_answer

    snapshot, lateness, refused = _snapshot(storage, name)
    print_answer(f"{name}: {snapshot.head.summary['todo']}", status_lines(snapshot, lateness, refused))


def status_lines(
    snapshot: "StatusSnapshot", lateness: "Lateness | None" = None, refused: "Sequence[Refusal]" = ()
) -> list["Line"]:
    """Return the details of a campaign's state."""
    from driftpace.campaign.text import (
        annotator_lines,
        base_lines,
        check_lines,
        lateness_lines,
        measured_check,
        measured_lines,
        order_lines,
        report_lines,
    )
    from driftpace.formatting import plural

    summary = snapshot.head.summary
    lines: list[Line] = [("About", summary["description"])] if summary["description"] else []
    lines.append(("Target", summary["target"]))
    if snapshot.order is not None:
        lines += order_lines(snapshot.order)
    if snapshot.last is not None:
        last = dict(report_lines(snapshot.last, snapshot.last_key))
        lines += [("Last", last["Closed"]), ("", last["Accuracy"])]
        if snapshot.order is None or measured_check(snapshot.order.request.assumptions) is None:
            check = measured_check(snapshot.last.assumptions)
            lines += measured_lines(snapshot.last.assumptions, snapshot.last.audit)
            lines += check_lines(() if check is None else (check,))
        lines += base_lines(snapshot.last.retrain)
    lines += lateness_lines(lateness)
    lines += annotator_lines(snapshot.annotators, snapshot.order)
    if refused:
        from driftpace.campaign.refusals import refused_sentence

        lines.append(("Refused", refused_sentence(refused)))
    total = f"{plural(summary['period'] - 1, 'period')} closed, {plural(summary['rows'], 'row')}"
    lines.append(("So far", f"{total}{_money(summary)}"))
    lines.append(("Updated", f"{snapshot.head.updated_at}, log entry {snapshot.head.seq}"))
    return lines


def _money(summary: Mapping[str, Any]) -> str:
    """Return what was spent and what is left, with the cost of the rows of the open period."""
    if summary["spent"] is None:
        return ""
    committed = summary.get("committed")
    pending = f", {committed} for the rows of the open period" if committed and summary["received"] else ""
    return f", {summary['spent']} spent{pending}, {summary['money_left']} left"


def _refused(store: Any, name: str) -> "list[Refusal]":
    """Return the refused deliveries that no other followed."""
    refusals = store.refusals(name)
    if not refusals:
        return []
    from driftpace.campaign.refusals import since_last_delivery

    return since_last_delivery(refusals, store.entries(name, kinds=("delivered",)))


def _snapshot(storage: str | None, name: str) -> "tuple[StatusSnapshot, Lateness | None, list[Refusal]]":
    """Return the state of a campaign, which is opened only where that is not known without."""
    from driftpace.campaign.status import StatusSnapshot, may_be_late, read_snapshot
    from driftpace.cli.stores import opened_campaign, opened_to_read, require_campaign

    with opened_to_read(storage) as store:
        snapshot, refused = read_snapshot(store, name), _refused(store, name)
        if snapshot is None:
            require_campaign(store, name)
        elif not may_be_late(store, snapshot.head):
            return snapshot, None, refused
    with opened_campaign(storage, name) as campaign:
        return snapshot or StatusSnapshot.of_campaign(campaign), campaign.lateness(), refused
