"""``driftpace predict``: what the current model says of rows."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.shared.options import DryRun, ListForm, Name, Storage

if TYPE_CHECKING:
    from driftpace.tables import Column


def predict(
    name: Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The rows: any file that tell reads; - reads stdin.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where they go: .csv, .jsonl or .parquet. Default: CSV to stdout.", show_default=False
        ),
    ] = None,
    form: Annotated[
        ListForm | None,
        typer.Option(
            "--format",
            help="What to print. Default: the rows as CSV, or with --out a line of words.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out where it exists.")] = False,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Say what the current model makes of the rows of a file.

    Every column of the file is kept; behind them comes the prediction and, for two classes, the probability of the second.

    Example: driftpace predict churn customers.csv --out predictions.csv
    """
    from driftpace.cli.shared.answering import print_done
    from driftpace.cli.shared.options import Form
    from driftpace.cli.shared.printing import one_line, plural, print_note
    from driftpace.cli.shared.reading import campaign_at
    from driftpace.cli.shared.tables import ROW_ENDINGS, content_of, read, readable, require_place
    from driftpace.errors import ParameterError, ProtocolError
    from driftpace.tables.sample import cell_values

    if out is not None and form is ListForm.CSV:
        raise ParameterError("--format must be table or json beside --out, where the rows go; got csv.")
    if out is not None:
        require_place(out, ROW_ENDINGS)
    if out is not None and out.exists() and not force:
        raise ParameterError(f"--out must be a new file, or --force must be given; {str(out)!r} exists.")
    with campaign_at(storage, name) as campaign:
        definition, status = campaign.definition, campaign.status()
        if status.last is None:
            raise ProtocolError("there is no model yet, for no period is closed; ask and tell first.")
        shown, data = content_of(file, owner="predict")
        columns = read(definition, shown, data, owner="predict")
        found = campaign.predict_table(columns)
        written = read(definition, shown, data, owner="predict", exact=True)
        columns |= {one: column for one, column in written.items() if _is_a_code(column)}
    word = definition.target or "target"
    rows: dict[str, list[Any]] = {one: cell_values(column) for one, column in columns.items()}
    added: dict[str, list[Any]] = {f"{word}_predicted": list(found.values)}
    if found.probability is not None:
        added[f"{word}_probability"] = [float(one) for one in found.probability]
    for one in added:
        if one in rows:
            raise ParameterError(f"FILE must not have a column {one!r}, which is where the prediction goes.")
    rows |= added
    count = len(found.values)
    others = [("Others", one.sentence) for one in found.others]
    if out is None:
        _print_rows(rows, form or ListForm.CSV)
        for head, said in others:
            print_note(f"{head} {one_line(said)}")
        return
    if not dry_run:
        from driftpace.tables import write_rows

        write_rows(out, rows, overwrite=force, owner="predict")
    period = status.period - 1
    where = f"would go to {out}" if dry_run else f"in {out}"
    print_done(
        Form.JSON if form is ListForm.JSON else Form.TABLE,
        f"{name}: {plural(count, 'row')} by the model of period {period}, {where}, column {word}_predicted.",
        {"name": name, "period": period, "rows": count, "columns": list(added), "file": readable(str(out))},
        notes=others,
        dry_run=dry_run,
    )


def _print_rows(rows: dict[str, list[Any]], form: ListForm) -> None:
    """Print rows, given by column."""
    from driftpace.cli.shared.printing import print_csv, print_json, print_table
    from driftpace.tables.write import finite

    if form is ListForm.JSON:
        shown = {one: [finite(value) for value in values] for one, values in rows.items()}
        print_json([dict(zip(rows, row, strict=True)) for row in zip(*shown.values(), strict=True)])
        return
    lines = list(zip(*rows.values(), strict=True))
    if form is ListForm.CSV:
        print_csv(list(rows), lines)
        return
    words = [["" if cell is None else str(cell) for cell in line] for line in lines]
    numeric = [
        place for place, values in enumerate(rows.values()) if all(isinstance(one, int | float) for one in values)
    ]
    print_table(list(rows), words, right=numeric)


def _is_a_code(written: "Column") -> bool:
    """Whether a column is of digits that a number would lose some of: postcodes have leading zeros, accounts are long."""
    if written.kind != "text":
        return False
    return any(re.fullmatch(r"0\d+|\d{16,}", str(one)) for one in written.values[~written.missing])
