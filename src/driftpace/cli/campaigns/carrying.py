"""``driftpace export`` and ``import``: a campaign as one file."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.shared.options import DryRun, Form, Name, Shown, Storage, Who


def export(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist yet.")],
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Write a campaign to one file, to keep it or to carry it elsewhere.

    The file has the whole log, the rows that were kept, and a checksum.

    Example: driftpace export churn churn.driftpace
    """
    from driftpace.cli.shared.answering import print_done
    from driftpace.cli.shared.printing import plural
    from driftpace.cli.shared.reading import campaign_at
    from driftpace.cli.shared.tables import readable
    from driftpace.errors import ParameterError

    if str(file) == "-":
        raise ParameterError("FILE must be a file with a name, for stdout has the answer; got '-'.")
    if file.exists():
        raise ParameterError(f"FILE must be a new file; {str(file)!r} exists.")
    if not file.absolute().parent.is_dir():
        raise ParameterError(f"FILE must be in a folder that exists; got {str(file)!r}.")
    with campaign_at(storage, name) as campaign:
        entries = campaign.status().entries
        if not dry_run:
            from driftpace.campaign.export_import import export_campaign

            export_campaign(campaign, file)
    print_done(
        form,
        f"{name}: {'would go' if dry_run else 'went'} to {file}, with {plural(entries, 'entry', 'entries')} of its log.",
        {"name": name, "entries": entries, "file": readable(str(file))},
        dry_run=dry_run,
    )


def import_campaign(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that driftpace export wrote.")],
    called: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for it here.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Read a campaign from a file that export wrote.

    Where all rows were kept, everything is computed again and must come out the same.

    Example: driftpace import churn.driftpace --as churn-copy
    """
    from driftpace.campaign.export_import import import_campaign as carry_in
    from driftpace.campaign.serialization import status_json
    from driftpace.cli.shared.answering import print_done
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.reading import found_at, opened
    from driftpace.cli.shared.tables import not_readable, readable
    from driftpace.errors import ParameterError
    from driftpace.storage import MemoryStore

    if not file.is_file():
        what = not_readable(file) or "is a pipe"
        raise ParameterError(f"FILE must be a file that driftpace export wrote; {str(file)!r} {what}.")
    if dry_run:
        campaign = carry_in(file, storage=MemoryStore(), name=called)
        where, taken = found_at(storage, campaign.name)
        if taken is not None:
            raise ParameterError(f"--as must be a name that is free; got {campaign.name!r}, which exists.")
        status = campaign.status()
    else:
        with opened(storage, create=True) as store:
            status = carry_in(file, storage=store, name=called, who=who_am_i(who)).status()
            where = store.url
    print_done(
        form,
        f"{status.name}: {'would be' if dry_run else 'is'} in {where}. {status.todo}",
        {**status_json(status), "storage": where, "file": readable(str(file))},
        dry_run=dry_run,
    )
