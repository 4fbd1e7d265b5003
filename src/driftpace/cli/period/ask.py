"""``driftpace ask``: how many rows to label this period, why, and which ones."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftpace.cli.shared.options import STUDIO, DryRun, Form, Key, Name, Project, Shown, Storage, Who

if TYPE_CHECKING:
    from driftpace.campaign.records import Order

_ROWS = "Which rows"


class Shape(StrEnum):
    """What the drawn rows are written as."""

    TABLE = "table"
    LABEL_STUDIO = "label-studio"


def ask(
    name: Name,
    key: Key = None,
    pool: Annotated[
        int | None, typer.Option(help="How many rows this period can give at most.", show_default=False)
    ] = None,
    select: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your pool of rows: draw those to label from it.", rich_help_panel=_ROWS),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the drawn rows go: .csv, .jsonl or .parquet.", rich_help_panel=_ROWS),
    ] = None,
    stratify: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Draw in proportion to the values of a column.", rich_help_panel=_ROWS),
    ] = None,
    shape: Annotated[
        Shape, typer.Option("--as", help="Write a table, or tasks for Label Studio (.json).", rich_help_panel=_ROWS)
    ] = Shape.TABLE,
    instead: Annotated[
        bool,
        typer.Option("--instead", help="Draw others for drawn rows that will not come.", rich_help_panel=_ROWS),
    ] = False,
    label_studio: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Make the drawn rows tasks of this Label Studio.", rich_help_panel=STUDIO),
    ] = None,
    project: Project = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Say how many rows to label this period, and why.

    Asking again returns the same order. With --key, your own name of the period, a script may ask as often as it likes; a new
    key opens the next period.

    Exit code: 0 label rows, 10 none this period, 20 the money is spent, 30 an assumption failed, 2 refused.

    Example: driftpace ask churn --key 2026-W46 --select pool.csv --out tasks.csv
    """
    from driftpace.cli.period.rows import Wanted

    wanted = Wanted.of(
        select=select,
        out=out,
        stratify=stratify,
        shape=shape.value,
        instead=instead,
        label_studio=label_studio,
        project=project,
        dry_run=dry_run,
    )
    order = None if wanted is not None or pool is not None else _as_it_stands(name, key, storage)
    if order is not None:
        _tell(order, form, [])
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.reading import campaign_at

    with campaign_at(storage, name) as campaign:
        person = who_am_i(who)
        if wanted is None:
            order, notes = campaign.ask(key=key, pool=pool, who=person, dry_run=dry_run), []
        else:
            from driftpace.cli.period.rows import draw, pool_of

            read = pool_of(campaign, wanted)
            order = campaign.ask(key=key, pool=pool, who=person, dry_run=True)
            notes = draw(campaign, order, wanted, read, who=person, dry_run=True)  # what is refused changes nothing
            if not dry_run:
                order = campaign.ask(key=key, pool=pool, who=person)
                notes = draw(campaign, order, wanted, read, who=person, dry_run=False)
    _tell(order, form, notes, dry_run=dry_run)


def _as_it_stands(name: str, key: str | None, storage: str | None) -> "Order | None":
    """Return the open order where asking would only repeat it; None where there is something to decide."""
    from driftpace.cli.shared.reading import standing_at

    found = standing_at(storage, name)
    order = None if found is None else found.order
    return order if order is not None and key in (None, order.key) else None


def _tell(order: "Order", form: Form, notes: list[tuple[str, str]], *, dry_run: bool = False) -> None:
    from driftpace.cli.period.words import order_lines, sentence
    from driftpace.cli.shared.printing import print_answer, print_json, print_note

    if form is Form.JSON:
        from driftpace.campaign.serialization import order_json

        print_json(order_json(order))
        for _, text in notes:
            print_note(text)
    else:
        print_answer(f"{order.campaign}: {sentence(order)}", [*order_lines(order), *notes])
    if dry_run:
        print_note("Nothing was written.")
    raise typer.Exit(order.code)
