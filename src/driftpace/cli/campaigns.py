"""``driftpace list`` and ``remove``: the campaigns of a store."""

from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Name, Shown, ShownList, Storage
from driftpace.cli.output import Form, ListForm
from driftpace.cli.stores import MAX_COUNT

_CSV_COLUMNS = (
    "name",
    "period",
    "key",
    "stage",
    "missing",
    "received",
    "rows",
    "failed",
    "exhausted",
    "cost",
    "spent",
    "committed",
    "money_left",
    "todo",
    "target",
    "entries",
    "created_at",
    "updated_at",
    "description",
    "delay",
    "archived",
)


def list_campaigns(
    search: Annotated[
        str, typer.Option(help="Only names that contain this text, ignoring case.", show_default=False)
    ] = "",
    limit: Annotated[int | None, typer.Option(help="Maximum number of campaigns.", min=1, show_default=False)] = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="Those that are archived, which are left out otherwise.")
    ] = False,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """List the campaigns of a store and their next steps.

    Example: driftpace list --search churn
    """
    print_campaigns(
        storage, search=search, limit=None if limit is None else min(limit, MAX_COUNT), form=form, archived=archived
    )


def print_campaigns(
    storage: str | None, *, search: str, limit: int | None, form: ListForm, archived: bool = False
) -> None:
    """Print the campaigns by name, or those that are archived."""
    from driftpace.cli.output import flat, print_csv, print_json, print_table
    from driftpace.cli.stores import opened_to_read

    with opened_to_read(storage) as store:
        heads = store.heads(search=search, limit=limit, archived=archived)
    if form is ListForm.TABLE:
        if not heads:
            none = f"No {'archived ' if archived else ''}campaign has {search!r} in its name."
            none = "No campaign is archived." if archived and not search else none
            print(none if search or archived else "No campaigns yet: create one with driftpace init NAME.")
            return
        rows = [
            (
                head.name,
                str(head.summary["period"]),
                "!" if head.summary["failed"] or head.summary.get("exhausted") else "",
                head.summary["todo"],
                head.summary["money_left"] or "-",
                head.updated_at[:16].replace("T", " "),
            )
            for head in heads
        ]
        print_table(("campaign", "period", "", "next step", "money left", "updated (UTC)"), rows, right=(1, 4))
        return
    from driftpace.campaign.serialization import head_json

    records = [head_json(head) for head in heads]
    if form is ListForm.JSON:
        print_json(records)
        return
    print_csv(_CSV_COLUMNS, [[cells.get(name) for name in _CSV_COLUMNS] for cells in map(flat, records)])


def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the removal.")] = False,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Remove a campaign with its log and rows.

    This cannot be undone; driftpace export keeps a copy.

    Example: driftpace remove churn --yes
    """
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import opened, require_campaign
    from driftpace.errors import ParameterError
    from driftpace.formatting import plural

    with opened(storage) as store:
        head = require_campaign(store, name)
        entries = plural(head.seq, "log entry", "log entries")
        if not yes and not dry_run:
            raise ParameterError(
                f"--yes must be given to remove {name!r} with {entries} permanently (driftpace export keeps a copy)."
            )
        if not dry_run:
            store.remove(name)
    print_result(
        form,
        f"{name}: {'would be removed' if dry_run else 'removed'} from {store.url}, with {entries}.",
        {"name": name, "entries": head.seq, "storage": store.url},
        dry_run=dry_run,
    )
