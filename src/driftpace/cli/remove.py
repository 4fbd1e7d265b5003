"""``driftpace remove``: delete a campaign."""

from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Name, Shown, Storage
from driftpace.cli.output import Form


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
