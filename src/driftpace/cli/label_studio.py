"""Rows to Label Studio and labels back: the tasks of an order, and what people have labelled of it so far."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign
    from driftpace.campaign.records import Order, Receipt
    from driftpace.cli.ask_rows import Wanted
    from driftpace.cli.printing import Line
    from driftpace.labelling import LabelStudio
    from driftpace.tables import Drawn

TOKEN = "LABEL_STUDIO_API_KEY"
"""Where the token of the account is looked for: never on the command line, which others can see."""


def studio_at(url: str) -> "LabelStudio":
    """Return a client of that server, under the token of the environment."""
    from driftpace.labelling import LabelStudio

    token = os.environ.get(TOKEN, "")
    if not token.strip():
        raise ParameterError(f"{TOKEN} must hold the token of your account at {url!r:.80}; it is not set.")
    return LabelStudio(url, token)


def put_tasks(
    campaign: "Campaign", order: "Order", rows: Mapping[str, Sequence[Any]], drawn: "Drawn", wanted: "Wanted"
) -> list["Line"]:
    """Write the rows as tasks to a file, or make them tasks of a project; those that are there are not made twice."""
    from driftpace.labelling import to_tasks

    tasks = to_tasks(rows, drawn.ids, campaign=campaign.name, period=order.key or order.period)
    lines = []
    if wanted.shape == "label-studio" and wanted.out is not None:
        with wanted.out.open("x", encoding="utf-8", newline="\n") as file:
            json.dump(tasks, file, ensure_ascii=False, default=str, indent=1)
            file.write("\n")
        lines.append(("Written", f"{wanted.out}, {len(tasks):,} tasks to import into Label Studio"))
    if wanted.label_studio is not None and wanted.project is not None:
        with studio_at(wanted.label_studio) as studio:
            made = studio.import_tasks(wanted.project, tasks)
        before = f"; {made.already:,} were there" if made.already else ""
        lines.append(("Tasks", f"{made.created:,} made in project {wanted.project} of {wanted.label_studio}{before}"))
    return lines


def tell_labelled(campaign: "Campaign", url: str, project: int, how: dict[str, Any]) -> "Receipt":
    """Tell what people have labelled so far of the rows drawn for the open period; rows told before are left out."""
    from driftpace.cli.tables import read
    from driftpace.tables import ROW_ID

    definition = campaign.definition
    with studio_at(url) as studio:
        found = studio.labelled(project, target=definition.target).rows
    drawn = set(campaign.drawn())
    rows = [row for row in found if not drawn or row[ROW_ID] in drawn]
    if not rows:
        if how["final"]:
            return campaign.tell(**{name: value for name, value in how.items() if name != "again"})
        raise ParameterError(
            f"--project must have rows that somebody labelled for this period; project {project} has none yet."
        )
    data = json.dumps(rows, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
    columns = read(definition, "label-studio.json", data, owner="tell")
    delivery = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return campaign.tell_table(columns, delivery=delivery, source=f"Label Studio, project {project}", **how)
