"""``driftpace remove``: a campaign goes for good."""

from typing import Annotated

import typer

from driftpace.cli.shared.options import DryRun, Form, Name, Shown, Storage


def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, remove it for good.")] = False,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Remove a campaign with everything that belongs to it.

    There is no way back; driftpace export keeps a copy.

    Example: driftpace remove churn --yes
    """
    from driftpace.cli.shared.answering import print_done
    from driftpace.cli.shared.printing import plural
    from driftpace.cli.shared.reading import opened, require_known
    from driftpace.errors import ParameterError

    with opened(storage) as store:
        head = require_known(store, name)
        entries = plural(head.seq, "entry", "entries")
        if not yes and not dry_run:
            raise ParameterError(
                f"--yes must be given to remove {name!r} with {entries} for good; got nothing (export keeps a copy)."
            )
        if not dry_run:
            store.remove(name)
    print_done(
        form,
        f"{name}: {'would be' if dry_run else 'is'} removed from {store.url}, with {entries}.",
        {"name": name, "entries": head.seq, "storage": store.url},
        dry_run=dry_run,
    )
