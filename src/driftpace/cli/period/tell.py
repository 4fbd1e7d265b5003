"""``driftpace tell``: take in labelled rows, and report when they closed the period."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.shared.options import STUDIO, DryRun, Form, Key, Name, Project, Shown, Storage, Who

if TYPE_CHECKING:
    from driftpace.campaign import Campaign
    from driftpace.campaign.records import Receipt


def tell(
    name: Name,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="Labelled rows: CSV, Parquet, JSON, JSON lines, Arrow or an export of Label Studio; - reads stdin.",
        ),
    ] = None,
    key: Key = None,
    close: Annotated[
        bool, typer.Option("--close", help="Close the period with what came, even if rows are missing.")
    ] = False,
    part: Annotated[bool, typer.Option("--part", help="Leave the period open, even if nothing is missing.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Count a file that was told before once more.")] = False,
    label_studio: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Fetch what was labelled in this Label Studio.", rich_help_panel=STUDIO),
    ] = None,
    project: Project = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Take in a file of labelled rows; when they are enough, fit the model and report.

    The columns are those of the campaign; rows without a label are left out and counted. The same file told twice is noticed
    and not counted twice. Without a file, --close closes the period.

    Example: driftpace tell churn tasks.csv
    """
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.reading import campaign_at
    from driftpace.errors import ParameterError

    if close and part:
        raise ParameterError("--close must be left out beside --part; got both.")
    if file is not None and label_studio is not None:
        raise ParameterError("FILE must be left out beside --label-studio; got both.")
    if (label_studio is None) != (project is None):
        raise ParameterError("--label-studio must come with --project, the number of the project; got one of the two.")
    if file is None and label_studio is None and not close:
        raise ParameterError("FILE must be a file of labelled rows, or --close must be given; got neither.")
    with campaign_at(storage, name) as campaign:
        how: dict[str, Any] = {
            "key": key,
            "final": True if close else False if part else None,
            "again": again,
            "who": who_am_i(who),
            "dry_run": dry_run,
        }
        if label_studio is not None and project is not None:
            from driftpace.cli.period.label_studio import tell_labelled

            receipt, source = tell_labelled(campaign, label_studio, project, how), f"Label Studio, project {project}"
        elif file is None:
            del how["again"]
            receipt, source = campaign.tell(**how), ""
        else:
            receipt, source = _tell_file(campaign, file, how), "stdin" if file == "-" else Path(file).name
    _print(receipt, source, form, dry_run=dry_run)


def _tell_file(campaign: "Campaign", file: str, how: dict[str, Any]) -> "Receipt":
    """Tell the rows of a file; they are known again, whatever file holds them."""
    from driftpace.cli.shared.tables import content_of, read

    name, data = content_of(file, owner="tell")
    columns = read(campaign.definition, name, data, owner="tell")
    return campaign.tell_table(columns, source=name, **how)


def _print(receipt: "Receipt", source: str, form: Form, *, dry_run: bool) -> None:
    from driftpace.cli.period.words import report_lines, sentence, taken
    from driftpace.cli.shared.printing import print_answer, print_json, print_note

    if form is Form.JSON:
        from driftpace.campaign.serialization import receipt_json

        print_json(receipt_json(receipt))
    else:
        lines = []
        if receipt.report is not None:
            lines = report_lines(receipt.report, receipt.order.key)
        elif not receipt.order.closed:
            lines = [("Now", sentence(receipt.order)), ("Why", receipt.order.request.reason)]
        others = [("Others", one.sentence) for one in receipt.others]
        print_answer(f"{receipt.order.campaign}: {taken(receipt, source)}", [*others, *lines])
    if dry_run:
        print_note("Nothing was written.")
