"""``driftpace predict``: predictions of the current model."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import DryRun, Name, Sheet, Storage
from driftpace.cli.output import Form, ListForm
from driftpace.errors import ParameterError, ProtocolError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign, FleetCampaign
    from driftpace.campaign.records import Predicted
    from driftpace.tables import Column

Rows = dict[str, list[Any]]
"""Values by column."""


def predict(
    name: Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The rows: any file that tell reads; - reads stdin.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write to a .csv, .jsonl or .parquet file. Default: CSV to stdout.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        ListForm | None,
        typer.Option(
            "--format",
            help="Output format. Default: the rows as CSV, or with --out a sentence.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file of --out.")] = False,
    sheet: Sheet = None,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Predict the rows of a file with the current model.

    All columns of the file are kept, followed by the prediction and, for two classes, the probability of the second, or for more
    that of each.

    Example: driftpace predict churn customers.csv --out predictions.csv
    """
    from driftpace.cli.files import ROW_ENDINGS, printable, require_output
    from driftpace.cli.output import one_line, print_note, print_result
    from driftpace.cli.stores import opened_any
    from driftpace.formatting import plural

    if out is not None and form is ListForm.CSV:
        raise ParameterError("--format must be table or json with --out, which receives the rows; got csv.")
    if out is not None:
        require_output(out, ROW_ENDINGS)
    if out is not None and out.exists() and not force:
        raise ParameterError(f"--out must be a new file unless --force is given; {str(out)!r} exists.")
    with opened_any(storage, name) as campaign:
        status = campaign.status()
        if status.last is None and campaign.definition.model is None:
            raise ProtocolError("there is no model yet because no period is closed; run ask and tell first.")
        columns, predictions = _predict(campaign, file, sheet)
        target = campaign.definition.target or "target"
    rows, added = _with_predictions(columns, predictions, target)
    notes = [("Unlisted", counted.sentence) for counted in predictions.unknown_categories]
    notes += [("Missing", filled.sentence) for filled in predictions.filled]
    if out is None:
        _print_rows(rows, form or ListForm.CSV)
        for label, text in notes:
            print_note(f"{label}: {one_line(text)}")
        return
    if not dry_run:
        from driftpace.tables import write_rows

        write_rows(out, rows, overwrite=force, owner="predict")
    period, count = status.period - 1, len(predictions.values)
    fitted = f"the model of period {period}" if period else "the base model"
    where = f"would be written to {out}" if dry_run else f"written to {out}"
    print_result(
        Form.JSON if form is ListForm.JSON else Form.TABLE,
        f"{name}: {plural(count, 'row')} predicted by {fitted}, {where}, column {target}_predicted.",
        {"name": name, "period": period, "rows": count, "columns": added, "file": printable(str(out))},
        notes=notes,
        dry_run=dry_run,
    )


def _predict(
    campaign: "Campaign | FleetCampaign", file: str, sheet: str | None
) -> "tuple[dict[str, Column], Predicted]":
    """Return the columns of a file, codes as they were written, and their predictions."""
    from driftpace.cli.files import read_bytes, read_rows

    name, data = read_bytes(file)
    columns = read_rows(campaign, name, data, sheet=sheet)
    predictions = campaign.predict_table(columns)
    written = read_rows(campaign, name, data, exact=True, sheet=sheet)
    return columns | {name: column for name, column in written.items() if _is_code(column)}, predictions


def _with_predictions(columns: "dict[str, Column]", predictions: "Predicted", target: str) -> tuple[Rows, list[str]]:
    """Return the rows with their predictions, and the names of the added columns."""
    from driftpace.tables.sample import cell_values

    rows: Rows = {name: cell_values(column) for name, column in columns.items()}
    added: Rows = predictions.columns(target)
    for name in added:
        if name in rows:
            raise ParameterError(f"FILE must not have a column {name!r}: it is where the prediction goes.")
    return rows | added, list(added)


def _print_rows(rows: Rows, form: ListForm) -> None:
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.tables.write import finite

    if form is ListForm.JSON:
        plain = {name: [finite(value) for value in values] for name, values in rows.items()}
        print_json([dict(zip(rows, row, strict=True)) for row in zip(*plain.values(), strict=True)])
        return
    lines = list(zip(*rows.values(), strict=True))
    if form is ListForm.CSV:
        print_csv(list(rows), lines, data=True)
        return
    texts = [["" if cell is None else str(cell) for cell in line] for line in lines]
    numeric = [
        place for place, values in enumerate(rows.values()) if all(isinstance(value, int | float) for value in values)
    ]
    print_table(list(rows), texts, right=numeric)


def _is_code(column: "Column") -> bool:
    """Whether a column holds digits that a number would lose: leading zeros of postcodes, long account numbers."""
    if column.kind != "text":
        return False
    return any(re.fullmatch(r"0\d+|\d{16,}", str(value)) for value in column.values[~column.missing])
