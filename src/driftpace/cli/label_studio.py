"""Label Studio: create the tasks of an order, and fetch the labels given so far."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign
    from driftpace.campaign.records import Receipt
    from driftpace.cli.output import Line
    from driftpace.labelling import LabelStudio

TOKEN_VARIABLE = "LABEL_STUDIO_API_KEY"
"""The environment variable with the token: the command line is visible to other users."""


def connect(url: str) -> "LabelStudio":
    """Return a client of a server, with the token of the environment."""
    from driftpace.labelling import LabelStudio

    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token.strip():
        raise ParameterError(f"{TOKEN_VARIABLE} must hold your access token for {url!r:.80}; it is not set.")
    return LabelStudio(url, token)


def write_tasks(tasks: list[dict[str, Any]], out: Path) -> "Line":
    """Write tasks to a new file."""
    with out.open("x", encoding="utf-8", newline="\n") as file:
        json.dump(tasks, file, ensure_ascii=False, default=str, indent=1)
        file.write("\n")
    return "Written", f"{out}, {len(tasks):,} tasks to import into Label Studio"


def create_tasks(tasks: list[dict[str, Any]], url: str, project: int) -> "Line":
    """Create tasks in a project; existing ones are not created again."""
    with connect(url) as studio:
        result = studio.import_tasks(project, tasks)
    existing = f"; {result.already:,} existed already" if result.already else ""
    return "Tasks", f"{result.created:,} created in project {project} of {url}{existing}"


def tell_labelled(campaign: "Campaign", url: str, project: int, options: dict[str, Any]) -> "Receipt":
    """Add the labels given so far to the rows drawn, for the open period or a closed one; rows added before are left out.

    A script that polls mostly finds nothing new, or a period that is closed: both are normal results.
    """
    from driftpace.campaign.records import Receipt
    from driftpace.cli.files import read_rows
    from driftpace.tables import ROW_ID

    definition = campaign.definition
    with connect(url) as studio:
        labelled = studio.labelled(project, target=definition.target, annotator=definition.annotator).rows
    drawn, late = set(campaign.drawn()), campaign.outstanding_ids()
    rows = [row for row in labelled if not drawn or row[ROW_ID] in drawn or row[ROW_ID] in late]
    if not options["final"]:
        order = campaign.order(options["key"])
        if order.closed:
            rows = [row for row in rows if row[ROW_ID] in late]
        if not rows:
            return Receipt(rows=0, order=order)
    elif not rows:
        return campaign.tell(
            **{name: value for name, value in options.items() if name not in ("again", "accept_others", "balance")}
        )
    data = json.dumps(rows, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
    columns = read_rows(campaign, "label-studio.json", data, option="--label-studio")
    return campaign.tell_table(columns, source=f"Label Studio, project {project}", **options)
