"""``driftpace ledger``: the closed periods of a campaign, predicted and measured."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import Name, ShownList, Storage
from driftpace.cli.output import ListForm

if TYPE_CHECKING:
    from driftpace.campaign.records import LedgerRow

_HEADS = (
    "period",
    "key",
    "rows",
    "cost",
    "target",
    "expected",
    "upper bound",
    "prior loss",
    "prior accuracy",
    "outcome",
)


def ledger(
    name: Name,
    last: Annotated[int | None, typer.Option(help="Only the last N periods.", min=1, show_default=False)] = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Show the closed periods: predicted and measured loss.

    target is the excess loss allowed, expected the excess loss of the fitted model, upper bound its certificate; prior loss and
    prior accuracy are those of the previous model on the new rows, before it was updated.

    Example: driftpace ledger churn --last 12 --format csv
    """
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import opened_campaign

    with opened_campaign(storage, name) as campaign:
        rows = campaign.ledger()[-(last or 0) :]
    if form is ListForm.TABLE:
        if not rows:
            print("No period is closed yet.")
            return
        print_table(_HEADS, [_cells(row) for row in rows], right=(0, 2, 3, 4, 5, 6, 7, 8))
        return
    if form is ListForm.CSV:
        columns = rows.columns()
        print_csv(list(columns), [[_finite(cell) for cell in line] for line in zip(*columns.values(), strict=True)])
        return
    from driftpace.campaign.serialization import ledger_json

    print_json([ledger_json(row) for row in rows])


def _cells(row: "LedgerRow") -> list[str]:
    from driftpace.formatting import known_number

    report, served = row.report, row.served
    return [
        str(report.period),
        row.key or "",
        f"{report.samples:,}",
        "" if report.cost is None else str(report.cost),
        known_number(report.epsilon),
        known_number(report.risk_bound),
        "" if report.certificate is None else known_number(report.certificate),
        "" if served is None else f"{served.loss:.3g} ± {served.error:.2g}",
        "" if served is None or served.accuracy is None else f"{served.accuracy:.0%}",
        report.outcome.sentence,
    ]


def _finite(cell: Any) -> Any:
    """Return a cell for a spreadsheet: None where the number is not finite."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
