"""``driftpace tell``: add labelled rows, and report when they closed the period."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import STUDIO, Address, DryRun, Engine, Key, Name, Project, Sheet, Shown, Storage, Who
from driftpace.cli.output import Form

if TYPE_CHECKING:
    from driftpace.campaign import Campaign
    from driftpace.campaign.records import Receipt


def tell(
    name: Name,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="Labelled rows: CSV, Parquet, JSON, JSON Lines, Arrow, Excel or a Label Studio export; - reads stdin.",
        ),
    ] = None,
    key: Key = None,
    close: Annotated[
        bool, typer.Option("--close", help="Close the period with the rows received, even if some are missing.")
    ] = False,
    part: Annotated[bool, typer.Option("--part", help="Keep the period open, even if no rows are missing.")] = False,
    sheet: Sheet = None,
    again: Annotated[bool, typer.Option("--again", help="Count a file again that was added before.")] = False,
    accept_others: Annotated[
        bool, typer.Option("--accept-others", help="Take rows that were not drawn for the period too.")
    ] = False,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEGMENT",
            help="Take the rows of a segment whose numbers are far larger or smaller than before; can be repeated.",
        ),
    ] = None,
    balance: Annotated[
        bool, typer.Option("--balance", help="Weight the rows of the period so that they look like their pool.")
    ] = False,
    label_studio: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Fetch the labels from this Label Studio.", rich_help_panel=STUDIO),
    ] = None,
    project: Project = None,
    executor: Engine = None,
    address: Address = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Add labelled rows; once there are enough, fit the model and close the period.

    The columns are those of the campaign. Rows without a label are skipped and counted, and a file that was added before is not
    counted twice. Rows of a closed period, by --key or because they were drawn for it, are added to it and the periods since are
    fitted again. Without a file, --close closes the period.

    Example: driftpace tell churn tasks.csv
    """
    from driftpace.campaign.refusals import refusals_noted
    from driftpace.cli.fleet import has_segments, refuse_for_one_model, refuse_options
    from driftpace.cli.fleet import tell as tell_segments
    from driftpace.cli.options import open_engine, user_name
    from driftpace.cli.stores import opened_campaign
    from driftpace.errors import ParameterError
    from driftpace.progress import Progress

    if close and part:
        raise ParameterError("--close must not be used with --part; got both.")
    if file is not None and label_studio is not None:
        raise ParameterError("FILE must not be used with --label-studio; got both.")
    if (label_studio is None) != (project is None):
        raise ParameterError("--label-studio and --project must be given together; got one of them.")
    if file is None and label_studio is None and not close:
        raise ParameterError("FILE must be a file of labelled rows, or --close must be given; got neither.")
    if has_segments(storage, name):
        refuse_options(name, accept_others=accept_others, balance=balance, label_studio=label_studio)
        final = True if close else False if part else None
        tell_segments(
            name,
            file,
            key=key,
            final=final,
            sheet=sheet,
            again=again,
            accept=accept or [],
            form=form,
            dry_run=dry_run,
            who=who,
            storage=storage,
            executor=open_engine(executor, address, owner="tell"),
        )
        return
    if accept:
        raise ParameterError(f"--accept is for campaigns of segments; {name!r} has one model.")
    refuse_for_one_model(name, executor=executor, address=address)
    with opened_campaign(storage, name) as campaign, Progress():
        options: dict[str, Any] = {
            "key": key,
            "final": True if close else False if part else None,
            "again": again,
            "accept_others": accept_others,
            "balance": balance,
            "who": user_name(who),
            "dry_run": dry_run,
        }
        if label_studio is not None and project is not None:
            from driftpace.cli.label_studio import tell_labelled

            source = f"Label Studio, project {project}"
            with refusals_noted(campaign, source=source, who=options["who"], dry_run=dry_run):
                receipt = tell_labelled(campaign, label_studio, project, options)
        elif file is None:
            del options["again"], options["accept_others"], options["balance"]
            receipt, source = campaign.tell(**options), ""
        else:
            source = "stdin" if file == "-" else Path(file).name
            with refusals_noted(campaign, source=source, who=options["who"], dry_run=dry_run):
                receipt = _tell_file(campaign, file, sheet, options)
    _print(receipt, source, form, dry_run=dry_run)


def _tell_file(campaign: "Campaign", file: str, sheet: str | None, options: dict[str, Any]) -> "Receipt":
    from driftpace.cli.files import read_bytes, read_rows

    name, data = read_bytes(file)
    return campaign.tell_table(read_rows(campaign, name, data, sheet=sheet), source=name, **options)


def _print(receipt: "Receipt", source: str, form: Form, *, dry_run: bool) -> None:
    from driftpace.campaign.text import receipt_lines, receipt_sentence
    from driftpace.cli.output import NOTHING_WRITTEN, print_answer, print_json, print_note

    if form is Form.JSON:
        from driftpace.campaign.serialization import receipt_json

        print_json(receipt_json(receipt))
    else:
        print_answer(f"{receipt.order.campaign}: {receipt_sentence(receipt, source)}", receipt_lines(receipt))
    if dry_run:
        print_note(NOTHING_WRITTEN)
