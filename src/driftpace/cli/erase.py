"""``driftpace erase`` and ``archive``: the content of rows of persons and old periods, and campaigns that are over."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Name, Reason, Shown, Storage, Who
from driftpace.cli.output import Form
from driftpace.errors import ParameterError


def erase(
    name: Name,
    reason: Reason,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="ID", help="Id of a row; can be repeated.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE", help="A text file with an id in each line.", show_default=False),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="All rows of the periods before this key or number.", show_default=False),
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS", help="All rows of periods closed more than so many days ago.", min=0, show_default=False
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the erasure.")] = False,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Erase the rows of persons by their ids, or of old periods.

    Their content goes, and the log stays verifiable. This cannot be undone. Periods up to the last one that lost rows cannot
    change any more: late rows for them do not count. Backups and exports made before still have the rows. The reason
    is kept, and must not name a person.

    Example: driftpace erase churn --id C00417 --reason "request of 19 November" --yes
    """
    from driftpace.campaign.serialization import erasure_json
    from driftpace.campaign.text import erasure_lines, erasure_sentence
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change
    from driftpace.cli.stores import opened_campaign

    given = [value is not None for value in (before, older_than)] + [bool(ids) or file is not None]
    if sum(given) != 1:
        raise ParameterError("one of --id or --ids, --before and --older-than must say what to erase.")
    named = [*(ids or ()), *([] if file is None else _ids_in(file))] or None
    with opened_campaign(storage, name) as campaign:
        planned = campaign.erase(
            named, before=before, older_than=older_than, reason=reason, who=user_name(who), dry_run=True
        )
        if planned.entry is not None and not yes and not dry_run:
            raise ParameterError(
                f"--yes must be given to erase permanently; it would be: {erasure_sentence(planned)} --dry-run shows more."
            )
        erasure = planned
        if not dry_run:
            erasure = campaign.erase(
                named, before=before, older_than=older_than, reason=reason, who=user_name(who), dry_run=False
            )
    print_change(
        form,
        f"{name}: {erasure_sentence(erasure)}",
        erasure_lines(erasure),
        erasure_json(erasure),
        written=not dry_run and erasure.entry is not None,
    )


def _ids_in(file: Path) -> list[str]:
    from driftpace.cli.files import printable

    try:
        ids = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ParameterError(
            f"--ids must be a text file with an id in each line; {printable(str(file))!r}: {why}."
        ) from None
    if not ids:
        raise ParameterError(f"--ids must be a text file with an id in each line; {printable(str(file))!r} has none.")
    return ids


def archive(
    name: Name,
    reason: Reason = "",
    undo: Annotated[bool, typer.Option("--undo", help="Open an archived campaign again.")] = False,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Archive a campaign that is over, or open it again.

    An archived campaign can be read, changes are refused, and lists leave it out. The open period stays as it is; --undo opens
    the campaign again. Rows of an archived campaign can be erased.

    Example: driftpace archive churn --reason "replaced by churn-2027"
    """
    from driftpace.campaign.fleet.records import FleetStatus
    from driftpace.campaign.fleet.serialization import status_json as fleet_json
    from driftpace.campaign.serialization import status_json
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change
    from driftpace.cli.stores import opened_any

    with opened_any(storage, name) as campaign:
        before = campaign.status()
        change = campaign.unarchive if undo else campaign.archive
        status = change(reason=reason, who=user_name(who), dry_run=dry_run)
    values = fleet_json(status, segments=False) if isinstance(status, FleetStatus) else status_json(status)
    same = before.archived is not undo
    what = "opened again" if undo else "archived"
    first = f"{name}: is {'not archived' if undo else 'archived'} already." if same else f"{name}: {what}."
    print_change(form, first, [("Next", status.todo)], values, written=not dry_run and not same)
