"""``driftpace backup``, ``restore`` and ``upgrade``: the whole store."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Shown, Storage, Who, campaign_names
from driftpace.cli.output import Form


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")],
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Back up a store to one file, while others go on working with it.

    The file is a SQLite store of the moment at which the backup began, of a PostgreSQL database too: check it with driftpace doctor
    --storage FILE. Copying the file of a store with cp instead may lose what its -wal file holds.

    Example: driftpace backup 2026-11-19.backup
    """
    import tempfile

    from driftpace.cli.files import printable, require_new_place
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import place_of
    from driftpace.errors import ParameterError
    from driftpace.formatting import plural
    from driftpace.storage.backup import back_up

    if file.exists():
        raise ParameterError(f"FILE must be a new file; {str(file)!r} exists.")
    require_new_place(file)
    if dry_run:
        with tempfile.TemporaryDirectory() as folder:
            made = back_up(place_of(storage), Path(folder) / "copy")
    else:
        made = back_up(place_of(storage), file)
    what = f"{plural(made.campaigns, 'campaign')}, {plural(made.entries, 'log entry', 'log entries')}"
    print_result(
        form,
        f"Backup {'would be written' if dry_run else 'written'} to {file}: {what}.",
        {"file": printable(str(file)), "campaigns": made.campaigns, "entries": made.entries, "version": made.version},
        dry_run=dry_run,
    )


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that driftpace backup wrote.")],
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Restore a backup as a new store.

    The store is a SQLite file that does not exist, or a PostgreSQL database without campaigns.

    Example: driftpace restore 2026-11-19.backup --storage driftpace.db
    """
    from driftpace.cli.files import printable, why_unreadable
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import place_of, public_place
    from driftpace.errors import ParameterError
    from driftpace.formatting import plural
    from driftpace.storage import backup as backups
    from driftpace.storage.registry import is_postgres, sqlite_path

    if not file.is_file():
        problem = why_unreadable(file) or "is a pipe"
        raise ParameterError(f"FILE must be a file that driftpace backup wrote; {str(file)!r} {problem}.")
    place = place_of(storage)
    if dry_run:
        made = backups.read_backup(file)
        if not is_postgres(place):
            backups.require_no_store(sqlite_path(place))
    else:
        made = backups.restore(file, place)
    what = f"{plural(made.campaigns, 'campaign')}, {plural(made.entries, 'log entry', 'log entries')}"
    print_result(
        form,
        f"Backup {'would be restored' if dry_run else 'restored'} to {public_place(place)}: {what}.",
        {"file": printable(str(file)), "campaigns": made.campaigns, "entries": made.entries, "version": made.version},
        dry_run=dry_run,
    )


def upgrade(
    campaign: Annotated[
        str | None,
        typer.Option(
            "--campaign",
            metavar="NAME",
            help="Change one campaign over to the method of this version; the difference on its history is shown.",
            autocompletion=campaign_names,
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--backup", metavar="FILE", help="Where to write the backup. Default: beside the store.", show_default=False
        ),
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Upgrade a store of an older version, with a backup first.

    With --dry-run a copy is upgraded and checked.

    Example: driftpace upgrade --dry-run
    """
    from driftpace.campaign.upgrade import upgrade_store
    from driftpace.cli.files import printable
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import place_of
    from driftpace.formatting import plural

    if campaign is not None:
        _change_method(campaign, form, dry_run=dry_run, who=user_name(who), storage=storage)
        return
    done = upgrade_store(place_of(storage), backup=file, who=user_name(who), dry_run=dry_run)
    if done.before == done.after:
        first = f"The store has version {done.after} already; nothing to do."
    else:
        verb = "would be upgraded" if dry_run else "upgraded"
        first = f"Store {verb} from version {done.before} to {done.after}: {plural(len(done.campaigns), 'campaign')}."
    lines = [] if done.backup is None else [f"Backup: {done.backup.path}"]
    lines += [f"{name}: {sentence}" for name, sentence in done.problems.items()]
    lines += [
        f"{name}: driftpace upgrade --campaign {name} changes over to a newer method." for name in done.older_method
    ]
    print_result(
        form,
        "\n".join([first, *lines]),
        {
            "before": done.before,
            "after": done.after,
            "campaigns": list(done.campaigns),
            "older_method": list(done.older_method),
            "problems": done.problems,
            "backup": None if done.backup is None else printable(str(done.backup.path)),
        },
        dry_run=dry_run,
    )
    if done.problems:
        raise typer.Exit(30)


def _change_method(name: str, form: Form, *, dry_run: bool, who: str, storage: str | None) -> None:
    """Show what a newer method would have answered, and change over."""
    from driftpace.campaign.method_change import compare_methods
    from driftpace.campaign.upgrade import change_method, method_number
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import opened, require_campaign
    from driftpace.errors import StateFileError
    from driftpace.formatting import plural
    from driftpace.storage.codec import METHOD

    with opened(storage) as store:
        require_campaign(store, name)
        number = method_number(store, name)
        try:
            changes = compare_methods(store, name) if number != METHOD else ()
            note = ""
        except StateFileError:
            changes, note = (), " Its rows were not kept, so its history cannot be computed by the new method."
        change_method(store, name, who=who, dry_run=dry_run)
    differing = [change for change in changes if change.differs]
    if number == METHOD:
        first = f"{name}: has the method of this version, {METHOD}, already; nothing to do."
    else:
        verb = "would change over" if dry_run else "changed over"
        first = f"{name}: {verb} from method {number} to {METHOD}.{note}"
        if changes:
            first += f" {len(differing):,} of {plural(len(changes), 'period')} would have been answered differently."
    lines = [
        f"  period {change.period}: {change.asked:,} rows ordered, {change.asked_now:,} now; expected excess loss "
        f"{change.risk_bound:.3g}, {change.risk_bound_now:.3g} now"
        for change in differing
    ]
    fields = ("period", "asked", "asked_now", "risk_bound", "risk_bound_now")
    print_result(
        form,
        "\n".join([first, *lines]),
        {
            "name": name,
            "from": number,
            "to": METHOD,
            "periods": [{field: getattr(change, field) for field in fields} for change in changes],
        },
        dry_run=dry_run,
    )
