"""``driftpace init``: a campaign begins, from a few words, from questions at a terminal, or from a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from driftpace.cli.shared.completing import one_of_losses
from driftpace.cli.shared.options import DryRun, Form, Shown, Storage, Who
from driftpace.losses import loss_names

_ABOUT, _GOOD, _MONEY, _HOW = ("What it is about", "How good the model has to stay", "Money", "How it is begun")


def init(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The name of the campaign, such as churn.", show_default=False)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column to predict.", show_default=False, rich_help_panel=_ABOUT),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file such as your pool of rows: columns, words and classes are read off it.",
            show_default=False,
            rich_help_panel=_ABOUT,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="The columns to predict from. Default: those of --table, or the numeric ones of the first delivery.",
            show_default=False,
            rich_help_panel=_ABOUT,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="NO,YES",
            help="The two words, where the target is one of two.",
            show_default=False,
            rich_help_panel=_ABOUT,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS",
            help=f"{' or '.join(loss_names('regression'))} for numbers, "
            f"{' or '.join(loss_names('classification'))} for classes. Default: by the type of the target.",
            autocompletion=one_of_losses,
            show_default=False,
            rich_help_panel=_ABOUT,
        ),
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="The column that tells rows apart.",
            show_default=False,
            rich_help_panel=_ABOUT,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="How much worse than the best model is accepted, in units of the loss.",
            show_default=False,
            rich_help_panel=_GOOD,
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Instead: within this share of the best achievable loss; 0.05 is 5 %.",
            show_default=False,
            rich_help_panel=_GOOD,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="All the money there is.", show_default=False, rich_help_panel=_MONEY),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="How many periods it has to last.", min=1, max=10_000, show_default=False, rich_help_panel=_MONEY
        ),
    ] = None,
    per_sample: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="What each row costs.", show_default=False, rich_help_panel=_MONEY),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="What an order costs besides.", show_default=False, rich_help_panel=_MONEY),
    ] = None,
    currency: Annotated[
        str | None, typer.Option(help="Such as EUR.", show_default=False, rich_help_panel=_MONEY)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="The same seed draws the same rows.", min=0, max=2**53, show_default=False, rich_help_panel=_HOW
        ),
    ] = None,
    keep_rows: Annotated[
        bool,
        typer.Option(
            "--keep-rows/--forget-rows",
            help="Keep the rows that are told, so that everything can be computed again; or only what the model needs.",
            rich_help_panel=_HOW,
        ),
    ] = True,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Begin the campaign that this file defines.",
            show_default=False,
            rich_help_panel=_HOW,
        ),
    ] = None,
    template: Annotated[
        bool,
        typer.Option(
            "--template", help="Only write NAME.toml, to be filled in; then init --file.", rich_help_panel=_HOW
        ),
    ] = False,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Begin a campaign: what to predict, and how good the model has to stay.

    Writes NAME.toml, a file with comments that says what the campaign is about, and begins it in the store. At a terminal,
    driftpace init NAME alone asks what it needs to know.

    Example: driftpace init churn --target churned --epsilon 0.02 --table pool.csv
    """
    from driftpace.cli.init.making import How, begin_from_file, begin_from_values, one_way, write_template

    words: dict[str, Any] = {
        "target": target,
        "table": table,
        "features": features,
        "classes": classes,
        "loss": loss,
        "id": identity,
        "epsilon": epsilon,
        "tolerance": tolerance,
        "budget": budget,
        "horizon": horizon,
        "per_sample": per_sample,
        "fixed": fixed,
        "currency": currency,
        "seed": seed,
        "keep_rows": None if keep_rows else False,
    }
    given = {key: value for key, value in words.items() if value is not None}
    how = How(who=who, dry_run=dry_run, form=form)
    one_way(name, given, file, template, how)
    if file is not None:
        begin_from_file(file, storage, how)
    elif template:
        write_template(str(name), given, how)
    else:
        begin_from_values(name, given, storage, how)
