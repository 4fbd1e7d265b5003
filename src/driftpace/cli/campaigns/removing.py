"""``driftpace remove``: a campaign goes for good."""

from typing import Annotated

import typer

from driftpace.cli.shared.options import DryRun, Name, Storage


def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, remove it for good.")] = False,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Remove a campaign with everything that belongs to it.

    There is no way back; driftpace export keeps a copy.

    Example: driftpace remove churn --yes
    """
    from driftpace.cli.shared.printing import print_answer, print_note
    from driftpace.cli.shared.reading import opened, require_known
    from driftpace.errors import ParameterError

    with opened(storage) as store:
        head = require_known(store, name)
        if not yes and not dry_run:
            raise ParameterError(
                f"--yes must be given to remove {name!r} with {head.seq:,} entries for good; got nothing (export keeps a copy)."
            )
        if not dry_run:
            store.remove(name)
    print_answer(f"{name}: {'would be' if dry_run else 'is'} removed from {store.url}, with {head.seq:,} entries.", [])
    if dry_run:
        print_note("Nothing was written.")
