"""``driftpace list``: the campaigns of a store."""

from typing import Annotated

import typer

from driftpace.cli.shared.options import ListForm, ShownList, Storage
from driftpace.cli.shared.reading import MOST


def list_campaigns(
    search: Annotated[str, typer.Option(help="Only names that contain this, in any case.", show_default=False)] = "",
    last: Annotated[int | None, typer.Option("--limit", help="At most so many.", min=1, show_default=False)] = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """List the campaigns of a store, with what each waits for.

    Example: driftpace list --search churn
    """
    show(storage, search=search, limit=None if last is None else min(last, MOST), form=form)


def show(storage: str | None, *, search: str, limit: int | None, form: ListForm) -> None:
    """Print the campaigns by name."""
    from driftpace.cli.shared.printing import flat, print_csv, print_json, print_table
    from driftpace.cli.shared.reading import glanced

    with glanced(storage) as store:
        heads = store.heads(search=search, limit=limit)
    if form is ListForm.TABLE:
        if not heads:
            print(
                f"No campaign has {search!r} in its name."
                if search
                else "No campaigns yet: driftpace init NAME begins one."
            )
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
        print_table(("campaign", "period", "", "to do", "money left", "changed (UTC)"), rows, right=(1, 4))
        return
    from driftpace.campaign.serialization import head_json

    found = [head_json(head) for head in heads]
    if form is ListForm.JSON:
        print_json(found)
        return
    cells = [flat(one) for one in found]
    names = (
        "name",
        "period",
        "key",
        "stage",
        "missing",
        "came",
        "rows",
        "failed",
        "exhausted",
        "cost",
        "spent",
        "committed",
        "money_left",
        "todo",
        "target",
    )
    shown = (*names, "entries", "created_at", "updated_at", "description")
    print_csv(shown, [[one.get(name) for name in shown] for one in cells])
