"""``driftpace report``: an HTML report of a campaign."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Name, Shown, Storage
from driftpace.cli.output import Form


def report(
    name: Name,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The report. Default: NAME.html.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Write an HTML report of a campaign: order, drift, accuracy and budget.

    The report is one self-contained file. An existing file of that name is overwritten.

    Example: driftpace report churn --out churn.html
    """
    from driftpace.cli.files import printable, require_output, require_plotly
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import opened_campaign

    place = Path(f"{name}.html") if out is None else out
    require_output(place, (".html", ".htm"))
    require_plotly("The report", "use another command")
    with opened_campaign(storage, name) as campaign:
        from driftpace.report import campaign_report

        page = campaign_report(campaign)
    if not dry_run:
        from driftpace.report import write_page

        write_page(page, place)
    print_result(
        form,
        f"{name}: report {'would be written' if dry_run else 'written'} to {place}.",
        {"name": name, "file": printable(str(place))},
        dry_run=dry_run,
    )
