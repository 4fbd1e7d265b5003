"""``driftpace ledger``: the closed periods of a campaign, promised against measured."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.shared.options import ListForm, Name, ShownList, Storage

if TYPE_CHECKING:
    from driftpace.campaign.records import LedgerRow

_HEADS = ("period", "key", "rows", "cost", "target", "promised", "at most", "loss before", "right before", "")


def ledger(
    name: Name,
    last: Annotated[int | None, typer.Option(help="Only the last so many periods.", min=1, show_default=False)] = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Show every closed period: what was promised, and what was measured.

    target is how far above the best the model may be, promised how far it is on average, at most the certificate; loss before
    is that of the model that was in use, on the fresh rows and before it learnt from them.

    Example: driftpace ledger churn --last 12 --format csv
    """
    from driftpace.cli.shared.printing import print_csv, print_json, print_table
    from driftpace.cli.shared.reading import campaign_at

    with campaign_at(storage, name) as campaign:
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
    """Return a closed period in words."""
    from driftpace.cli.shared.printing import number

    report, served = row.report, row.served
    return [
        str(report.period),
        row.key or "",
        f"{report.samples:,}",
        "" if report.cost is None else str(report.cost),
        number(report.epsilon),
        number(report.risk_bound) if report.outcome.promised else "none",
        "" if report.certificate is None else number(report.certificate),
        "" if served is None else f"{served.loss:.3g} ± {served.error:.2g}",
        "" if served is None or served.accuracy is None else f"{served.accuracy:.0%}",
        report.outcome.value,
    ]


def _finite(cell: Any) -> Any:
    """Return a cell that a spreadsheet can read: nothing where there is no finite number."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
