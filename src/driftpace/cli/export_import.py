"""``driftpace export`` and ``import``: a campaign as one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import DryRun, Name, Shown, Storage, Who
from driftpace.cli.output import Form

if TYPE_CHECKING:
    from driftpace.campaign import Campaign, FleetCampaign


def export(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")],
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Export a campaign to a file.

    The file holds the whole log, the stored rows and a checksum.

    Example: driftpace export churn churn.driftpace
    """
    from driftpace.cli.files import printable, require_new_place
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import opened_any
    from driftpace.errors import ParameterError
    from driftpace.formatting import plural

    if file.exists():
        raise ParameterError(f"FILE must be a new file; {str(file)!r} exists.")
    require_new_place(file)
    with opened_any(storage, name) as campaign:
        entries = campaign.status().entries
        if not dry_run:
            from driftpace.campaign.export_import import export_campaign

            export_campaign(campaign, file)
    verb = "would be exported" if dry_run else "exported"
    print_result(
        form,
        f"{name}: {verb} to {file}, with {plural(entries, 'log entry', 'log entries')}.",
        {"name": name, "entries": entries, "file": printable(str(file))},
        dry_run=dry_run,
    )


def import_campaign(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that driftpace export wrote.")],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Import under another name.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Import a campaign from an exported file.

    Where all rows were stored, the campaign is recomputed from them and must match.

    Example: driftpace import churn.driftpace --as churn-copy
    """
    from driftpace.campaign import export_import
    from driftpace.cli.files import printable, why_unreadable
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import find_campaign, opened
    from driftpace.errors import ParameterError
    from driftpace.storage import MemoryStore

    if not file.is_file():
        problem = why_unreadable(file) or "is a pipe"
        raise ParameterError(f"FILE must be a file that driftpace export wrote; {str(file)!r} {problem}.")
    if dry_run:
        campaign = export_import.import_campaign(file, storage=MemoryStore(), name=name)
        where, existing = find_campaign(storage, campaign.name)
        if existing is not None:
            raise ParameterError(f"--as must not be taken; a campaign named {campaign.name!r} exists.")
        values = _status(campaign)
    else:
        with opened(storage, create=True) as store:
            campaign = export_import.import_campaign(file, storage=store, name=name, who=user_name(who))
            values, where = _status(campaign), store.url
    print_result(
        form,
        f"{campaign.name}: {'would be imported' if dry_run else 'imported'} into {where}. {values['todo']}",
        {**values, "storage": where, "file": printable(str(file))},
        dry_run=dry_run,
    )


def _status(campaign: "Campaign | FleetCampaign") -> dict[str, Any]:
    """Return the status as JSON values."""
    from driftpace.campaign import FleetCampaign
    from driftpace.campaign.fleet.serialization import status_json as fleet_json
    from driftpace.campaign.serialization import status_json

    if isinstance(campaign, FleetCampaign):
        return fleet_json(campaign.status(), segments=False)
    return status_json(campaign.status())
