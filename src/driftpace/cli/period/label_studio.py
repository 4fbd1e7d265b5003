"""Rows to Label Studio and labels back: the tasks of an order, and what people have labelled of it so far."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign
    from driftpace.campaign.records import Order, Receipt
    from driftpace.cli.shared.printing import Line
    from driftpace.labelling import LabelStudio
    from driftpace.tables import DrawnRows

TOKEN = "LABEL_STUDIO_API_KEY"
"""Where the token of the account is looked for: never on the command line, which others can see."""


def studio_at(url: str) -> "LabelStudio":
    """Return a client of that server, under the token of the environment."""
    from driftpace.labelling import LabelStudio

    token = os.environ.get(TOKEN, "")
    if not token.strip():
        raise ParameterError(f"{TOKEN} must hold the token of your account at {url!r:.80}; it is not set.")
    return LabelStudio(url, token)


def tasks_of(
    campaign: "Campaign", order: "Order", rows: Mapping[str, Sequence[Any]], drawn: "DrawnRows"
) -> list[dict[str, Any]]:
    """Return the drawn rows as tasks."""
    from driftpace.labelling import to_tasks

    return to_tasks(rows, drawn.ids, campaign=campaign.name, period=order.period)


def write_tasks(tasks: list[dict[str, Any]], out: Path) -> "Line":
    """Write tasks to a new file."""
    with out.open("x", encoding="utf-8", newline="\n") as file:
        json.dump(tasks, file, ensure_ascii=False, default=str, indent=1)
        file.write("\n")
    return "Written", f"{out}, {len(tasks):,} tasks to import into Label Studio"


def make_tasks(tasks: list[dict[str, Any]], url: str, project: int) -> "Line":
    """Make tasks in a project; those that are there are not made twice."""
    with studio_at(url) as studio:
        made = studio.import_tasks(project, tasks)
    before = f"; {made.already:,} were there" if made.already else ""
    return "Tasks", f"{made.created:,} made in project {project} of {url}{before}"


def tell_labelled(campaign: "Campaign", url: str, project: int, how: dict[str, Any]) -> "Receipt":
    """Tell what people have labelled so far of the rows drawn for the open period; rows told before are left out.

    Whoever looks in every hour mostly finds nothing new, and that is an answer like any other; so is a period that was closed.
    """
    from driftpace.campaign.records import Receipt
    from driftpace.cli.shared.tables import read
    from driftpace.tables import ROW_ID

    definition = campaign.definition
    with studio_at(url) as studio:
        found = studio.labelled(project, target=definition.target).rows
    drawn = set(campaign.drawn())
    rows = [row for row in found if not drawn or row[ROW_ID] in drawn]
    if not how["final"]:
        order = _order_for(campaign, how["key"])
        if order.closed or not rows:
            return Receipt(rows=0, order=order)
    elif not rows:
        return campaign.tell(**{name: value for name, value in how.items() if name != "again"})
    data = json.dumps(rows, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
    columns = read(definition, "label-studio.json", data, owner="tell")
    return campaign.tell_table(columns, source=f"Label Studio, project {project}", **how)


def _order_for(campaign: "Campaign", key: str | None) -> "Order":
    """Return the order that rows are meant for: of that key, or the open one, or the one that was closed last."""
    from driftpace.campaign.orders import not_open, order_of_period, past_order
    from driftpace.campaign.state import from_checkpoint

    store = campaign.store
    found = store.checkpoint(campaign.name)
    assert found is not None
    folded = from_checkpoint(*found)
    order = folded.order
    if order is None or key not in (None, order.key):
        order = (
            order_of_period(store, folded, folded.state.period - 1) if key is None else past_order(store, folded, key)
        )
    if order is None:
        raise not_open(store, folded, key)
    return order
