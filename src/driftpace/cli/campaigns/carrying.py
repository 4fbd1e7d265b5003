"""``driftpace export`` and ``import``: a campaign as one file."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.shared.options import DryRun, Name, Storage, Who


def export(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist yet.")],
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Write a campaign to one file, to keep it or to carry it elsewhere.

    The file has the whole log, the rows that were kept, and a checksum.

    Example: driftpace export churn churn.driftpace
    """
    from driftpace.cli.shared.printing import print_answer, print_note
    from driftpace.cli.shared.reading import campaign_at
    from driftpace.errors import ParameterError

    if file.exists():
        raise ParameterError(f"FILE must be a new file; {str(file)!r} exists.")
    if not file.absolute().parent.is_dir():
        raise ParameterError(f"FILE must be in a folder that exists; got {str(file)!r}.")
    with campaign_at(storage, name) as campaign:
        entries = campaign.status().entries
        if not dry_run:
            from driftpace.campaign.carrying import export_campaign

            export_campaign(campaign, file)
    print_answer(f"{name}: {'would go' if dry_run else 'went'} to {file}, with {entries:,} entries of its log.", [])
    if dry_run:
        print_note("Nothing was written.")


def import_campaign(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that driftpace export wrote.")],
    called: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for it here.", show_default=False)
    ] = None,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Read a campaign from a file that export wrote.

    Where all rows were kept, everything is computed again and must come out the same.

    Example: driftpace import churn.driftpace --as churn-copy
    """
    from driftpace.campaign.carrying import import_campaign as carry_in
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.printing import print_answer, print_note
    from driftpace.cli.shared.reading import opened
    from driftpace.errors import ParameterError

    if not file.is_file():
        what = "is a folder" if file.is_dir() else "does not exist"
        raise ParameterError(f"FILE must be a file that driftpace export wrote; {str(file)!r} {what}.")
    with opened(storage, create=not dry_run) as store:
        campaign = carry_in(file, storage=store, name=called, who=who_am_i(who), dry_run=dry_run)
        todo = "" if dry_run else f" {campaign.status().todo}"
    print_answer(f"{campaign.name}: {'would be' if dry_run else 'is'} in {store.url}.{todo}", [])
    if dry_run:
        print_note("Nothing was written.")
