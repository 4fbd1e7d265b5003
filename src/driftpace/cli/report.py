"""``driftpace report``: a campaign as one page that can be sent around."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Form, Name, Shown, Storage


def report(
    name: Name,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page. Default: NAME.html.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Write one page about a campaign: the order, the drift, the promises, the money.

    The page needs nothing from anywhere: it opens offline, on a phone, in the dark. An older page of that name is replaced.

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
        place.write_text(page, encoding="utf-8", newline="\n")
    print_result(
        form,
        f"{name}: {'would be' if dry_run else 'is'} in {place}.",
        {"name": name, "file": printable(str(place))},
        dry_run=dry_run,
    )
