"""``driftpace init``: create a campaign from options, from prompts at a terminal, or from a configuration file."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import (
    DryRun,
    Interactions,
    Missing,
    Sheet,
    Shown,
    Splines,
    Storage,
    Who,
    loss_completion,
    parse_borrow,
    parse_interactions,
    parse_season,
    parse_splines,
)
from driftpace.cli.output import Form
from driftpace.errors import DriftpaceError, ParameterError
from driftpace.losses import loss_names

if TYPE_CHECKING:
    from driftpace.campaign import Definition
    from driftpace.campaign.pool import FittedPool
    from driftpace.cli.output import Line
    from driftpace.storage.base import Store

_DATA, _TARGET, _BUDGET, _CREATION = ("Data", "Target accuracy", "Budget", "Creation")
_PRICES = ("fixed", "per_sample", "order_price", "currency")


def init(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of the campaign, such as churn.", show_default=False)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column to predict.", show_default=False, rich_help_panel=_DATA),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file such as your pool of rows: columns, categories and classes are inferred from it.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    sheet: Sheet = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="The columns to predict from. Default: all but dates, free text and ids, of --table or the first delivery.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="Columns of --table not to predict from.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    calendar: Annotated[
        str | None,
        typer.Option(
            metavar="PART,...",
            help="Features to make of the dates of --table: month, weekday, hour, or such as date:month.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    segment: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with the name of a segment, such as a shop: each has a model of its own; --table shows them.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    per_segment: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table with a row for each segment: epsilon, weight, per_sample and fixed say what differs for it.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    borrow: Annotated[
        str | None,
        typer.Option(
            metavar="PART,...",
            help="What segments learn from each other: all, none, or some of drift, start, slopes and common. Default: all.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[:UNIT]",
            help="Put the rows of each file into periods by this column, such as date:month; keys are then such as 2026-11.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    dayfirst: Annotated[
        bool | None,
        typer.Option(
            "--dayfirst/--monthfirst",
            help="Whether 03/04/2010 is 3 April. Default: the other dates of --table decide.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="Feature columns that are texts: their words are used.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    pool: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Rows without labels, for texts and more than 100 columns: they show along which directions rows vary, so that "
            "the first period needs fewer labels. They are not stored.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="The classes of the target; of two, the negative one first.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="LOSS",
            help=f"{' or '.join(loss_names('regression'))} for numbers, "
            f"{' or '.join(loss_names('classification'))} for two classes, {' or '.join(loss_names('multiclass'))} for any number. "
            "Default: by the type of the target.",
            show_default=False,
            autocompletion=loss_completion,
            rich_help_panel=_DATA,
        ),
    ] = None,
    missing: Annotated[
        Missing | None,
        typer.Option(
            help="Fill missing features, drop their rows, or refuse the table. Default: fill.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    row_id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="The column that identifies a row.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with what a row counts for. Default: all rows count alike.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with what a count or amount is a total over, such as years at risk.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of groups of rows that belong together, such as a person.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            help="Penalty of the coefficients. Default: that of the loss.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    annotator: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with who labelled a row, where some rows are labelled by several people.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A model of your own, as LightGBM text or XGBoost JSON: the campaign follows it and says when to train it again.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    trained_until: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="When the last row is from that the model was trained on; rows that are not later are refused, by the dates of "
            "--period.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Excess loss allowed over the best model, in units of the loss.",
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Instead: the excess as a share of the best achievable loss; 0.05 is 5 %.",
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Instead: a target in a metric of the loss, such as accuracy or mae, with --at-least or --at-most.",
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            help="The target in a metric of which more is better, such as 0.9 of accuracy.",
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option(
            help="The target in a metric that is an error, such as mae.", show_default=False, rich_help_panel=_TARGET
        ),
    ] = None,
    orders: Annotated[
        int | None,
        typer.Option(
            help="The most orders of a period, such as 1 for one order a month. Default: batches, which need fewer labels.",
            min=1,
            max=1000,
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            help="The most rows that a period takes; deliveries beyond it are refused. Default: a million.",
            min=1,
            max=10**9,
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    splines: Splines = None,
    interactions: Interactions = None,
    season: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|NAME",
            help="Periods after which the drift may repeat itself, such as 12; or quarter, weekday, month, week.",
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    audit: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of each order held out to measure the excess loss really reached, such as 0.1. Default: none.",
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(
            metavar="PERIODS",
            help="How many periods after their order labels may arrive; the next order does not wait for them. Default: it does.",
            min=1,
            max=100,
            show_default=False,
            rich_help_panel=_TARGET,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="The total budget.", show_default=False, rich_help_panel=_BUDGET),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            help="How many periods the budget must last.",
            min=1,
            max=10_000,
            show_default=False,
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    per_sample: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="Price of one row.", show_default=False, rich_help_panel=_BUDGET),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="Fixed price of an order; with --segment, of each segment that is ordered.",
            show_default=False,
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    order_price: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="With --segment: price of a period in which rows of any segment are ordered.",
            show_default=False,
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    currency: Annotated[
        str | None, typer.Option(help="Such as EUR.", show_default=False, rich_help_panel=_BUDGET)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Random seed of draws.", min=0, max=2**53, show_default=False, rich_help_panel=_CREATION),
    ] = None,
    keep_rows: Annotated[
        bool,
        typer.Option(
            "--keep-rows/--forget-rows",
            help="Store the labelled rows, so that the campaign can be recomputed; or only what the model needs.",
            rich_help_panel=_CREATION,
        ),
    ] = True,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Create the campaign of this configuration file.",
            show_default=False,
            rich_help_panel=_CREATION,
        ),
    ] = None,
    template: Annotated[
        bool,
        typer.Option(
            "--template",
            help="Only write the configuration file NAME.toml; edit it, then run init --file.",
            rich_help_panel=_CREATION,
        ),
    ] = False,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Create a campaign: what to predict, and how accurately.

    Writes NAME.toml, a commented configuration file, and creates the campaign in the store. At a terminal, driftpace init NAME
    asks for what is missing.

    Example: driftpace init churn --target churned --epsilon 0.02 --table pool.csv
    """
    options: dict[str, Any] = {
        "target": target,
        "table": table,
        "sheet": sheet,
        "features": features,
        "exclude": exclude,
        "calendar": calendar,
        "segment": segment,
        "per_segment": per_segment,
        "borrow": parse_borrow(borrow),
        "period": period,
        "dayfirst": dayfirst,
        "text": text,
        "classes": classes,
        "loss": loss,
        "missing": None if missing is None else missing.value,
        "id": row_id,
        "weight": weight,
        "exposure": exposure,
        "annotator": annotator,
        "groups": groups,
        "l2": l2,
        "epsilon": epsilon,
        "tolerance": tolerance,
        "metric": metric,
        "at_least": at_least,
        "at_most": at_most,
        "orders": orders,
        "max_rows": max_rows,
        "splines": parse_splines(splines),
        "interactions": parse_interactions(interactions),
        "season": parse_season(season),
        "audit": audit,
        "delay": delay,
        "budget": budget,
        "horizon": horizon,
        "per_sample": per_sample,
        "fixed": fixed,
        "order_price": order_price,
        "currency": currency,
        "seed": seed,
        "keep_rows": None if keep_rows else False,
    }
    given = {option: value for option, value in options.items() if value is not None}
    creation = _Creation(
        who=who, dry_run=dry_run, form=form, storage=storage, model=model, trained_until=trained_until, pool=pool
    )
    if trained_until is not None and (model is None or file is not None):
        other = "it is a setting of the model there" if file is not None else "there is none to speak of"
        raise ParameterError(
            f"--trained-until must be left out {'with --file' if file is not None else 'without --model'}: {other}; got "
            f"{trained_until!r}."
        )
    if model is not None and (table is not None or template):
        other = "--table" if table is not None else "--template"
        raise ParameterError(f"{other} must be left out with --model, which says what the columns are; got both.")
    if pool is not None and template:
        raise ParameterError("--pool must be left out with --template, and given to init --file then; got both.")
    _check_options(name, given, file, template, interactive=creation.interactive)
    if file is not None:
        creation.from_file(file)
    elif template:
        creation.write_template(str(name), given)
    else:
        creation.from_options(name, given)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Creation:
    """Create a campaign, or only show how it would be."""

    who: str | None
    dry_run: bool
    form: Form
    storage: str | None
    model: Path | None = None
    trained_until: str | None = None
    pool: Path | None = None

    @property
    def interactive(self) -> bool:
        """Whether the user can be asked: prompts need a terminal, and JSON has stdout to itself."""
        return self.form is Form.TABLE and _at_terminal()

    def from_file(self, file: Path) -> None:
        """Create the campaign of a configuration file; errors name its settings."""
        from driftpace.campaign import Definition

        try:
            definition = Definition.of_toml(file.read_bytes())
        except DriftpaceError as error:
            raise error if error.name in (None, "file") else error.renamed(subject=error.name) from None
        if self.model is not None:
            definition = self._with_model(definition.to_values())
        self._create(definition, [], file=file)

    def _with_model(self, settings: dict[str, Any]) -> "Definition":
        """Return a definition with what the model says."""
        from driftpace.campaign import Definition
        from driftpace.campaign.base_model import with_model

        assert self.model is not None
        if self.trained_until is not None:
            settings = {**settings, "model": {"trained_until": self.trained_until}}
        return Definition.of(with_model(settings, self.model)[0])

    def write_template(self, name: str, given: dict[str, Any]) -> None:
        """Write the configuration file alone."""
        from driftpace.cli.output import print_result

        settings, notes = infer(name, given)
        place = Path(f"{name}.toml")
        self._write_configuration(place, settings)
        print_result(
            self.form,
            f"{name}: edit {place}, then run: driftpace init --file {place}",
            {"name": name, "file": str(place)},
            notes=notes,
            dry_run=self.dry_run,
        )

    def from_options(self, name: str | None, given: dict[str, Any]) -> None:
        """Create a campaign from options, prompting for missing ones at a terminal, and write its configuration file."""
        if _missing_options(given) and self.interactive:
            from driftpace.cli.prompts import prompt_for

            name, given = prompt_for(name, given)
        missing = _missing_options(given)
        if missing:
            raise ParameterError(
                f"{missing[0]} must be given, or --template to write {name}.toml and edit it, or --file; got none of them."
            )
        from driftpace.campaign import Definition
        from driftpace.formatting import plural

        settings, notes = infer(str(name), given)
        definition = Definition.of(settings) if self.model is None else self._with_model(settings)
        place = Path(f"{definition.name}.toml")
        segments = _segments(definition, given)
        if segments:
            notes.append(("Segments", f"{plural(len(segments), 'segment')} by {definition.segment}"))
        self._create(definition, notes, place=place, segments=segments)

    def _create(
        self,
        definition: "Definition",
        notes: list["Line"],
        *,
        place: Path | None = None,
        file: Path | None = None,
        segments: Sequence[str] = (),
    ) -> None:
        """Create the campaign and write its configuration to ``place``, or from the configuration ``file``."""
        from driftpace.campaign.inference import describe_task
        from driftpace.campaign.period_column import example_key
        from driftpace.cli.files import printable
        from driftpace.cli.output import print_result
        from driftpace.cli.stores import find_campaign
        from driftpace.formatting import plural
        from driftpace.storage import MemoryStore

        name = definition.name
        pool = self._fitted_pool(definition)
        status = self._create_in(MemoryStore(), definition, segments, pool)  # an error leaves no store behind
        where, existing = find_campaign(self.storage, name)
        if existing is not None:
            raise ParameterError(
                f"NAME must be unused in {where}; {name!r} exists: choose another, or delete it with driftpace remove {name}."
            )
        if place is not None:
            self._write_configuration(place, definition.to_values())
        if not self.dry_run:
            try:
                where, status = self._store(definition, segments, pool)
            except BaseException:
                if place is not None:
                    place.unlink(missing_ok=True)
                raise
        configuration = printable(str(file if place is None else place))
        key = "" if definition.period is None else f" --key {example_key(definition.period)}"
        row_id = [] if definition.id is None else [("Row ID", definition.id)]
        if definition.model is not None:
            columns = plural(len(definition.features or ()), "column")
            form, digest = definition.model["format"], definition.model["sha256"][:12]
            notes = [("Model", f"{form} {digest}, of {columns}; the store has it now"), *notes]
        if pool is not None:
            notes = [*notes, ("Pool", pool.components.sentence)]
        print_result(
            self.form,
            f"{name}: {'would be created' if self.dry_run else 'created'} in {where}.",
            {
                **status,
                "definition": definition.to_values(),
                "storage": where,
                "file": configuration,
            },
            notes=[
                ("Predicts", describe_task(definition)),
                *row_id,
                *_roles(definition),
                *(note for note in notes if note not in row_id),
            ],
            lines=[("File", f"{configuration}, the configuration file"), ("Next", f"driftpace ask {name}{key}")],
            dry_run=self.dry_run,
        )

    def _fitted_pool(self, definition: "Definition") -> "FittedPool | None":
        """Return what the rows of ``--pool`` show."""
        if self.pool is None:
            return None
        from driftpace.campaign.pool import components_of
        from driftpace.campaign.schema import text_columns
        from driftpace.cli.files import read_table_option

        columns = read_table_option(self.pool, as_text=text_columns(definition), option="--pool")
        return components_of(definition, columns, source=self.pool.name)

    def _store(
        self, definition: "Definition", segments: Sequence[str], pool: "FittedPool | None"
    ) -> tuple[str, dict[str, Any]]:
        from driftpace.cli.stores import opened

        with opened(self.storage, create=True) as store:
            return store.url, self._create_in(store, definition, segments, pool)

    def _create_in(
        self, store: "Store", definition: "Definition", segments: Sequence[str], pool: "FittedPool | None"
    ) -> dict[str, Any]:
        """Create the campaign in a store, and return its status as JSON values."""
        from driftpace.cli.options import user_name

        who = user_name(self.who)
        if definition.segment is not None:
            from driftpace.campaign import FleetCampaign
            from driftpace.campaign.fleet.serialization import status_json as fleet_status

            fleet = FleetCampaign.create(definition, storage=store, segments=segments, who=who)
            return fleet_status(fleet.status(), segments=False)
        from driftpace.campaign import Campaign
        from driftpace.campaign.serialization import status_json

        return status_json(Campaign.create(definition, storage=store, model=self.model, pool=pool, who=who).status())

    def _write_configuration(self, place: Path, settings: dict[str, Any]) -> None:
        from driftpace.campaign.template import template

        text = template(settings, file=place.name)
        if place.exists():
            raise ParameterError(
                f"{place} must not exist yet, because it is never overwritten: delete it, or run driftpace init --file {place} "
                "to create the campaign that it defines."
            )
        if not self.dry_run:
            with place.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)


def _segments(definition: "Definition", given: dict[str, Any]) -> list[str]:
    """Return the segments that ``--table`` and ``--per-segment`` have; none without them."""
    if definition.segment is None:
        return []
    from driftpace.campaign.fleet.sampling import segments_of
    from driftpace.cli.files import read_table_option

    names = set(_per_segment(definition.segment, given).get("segments", ()))
    if "table" in given:
        as_text = [definition.segment]
        names |= set(segments_of(read_table_option(given["table"], given.get("sheet"), as_text=as_text), definition))
    return sorted(names)


def _segment_settings(settings: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that ``--per-segment`` has: targets, and the weights and prices of a budget."""
    if "per_segment" not in given:
        return {}
    if "segment" not in given:
        raise ParameterError("--per-segment must be used with --segment, the column of segments; got none.")
    found = _per_segment(given["segment"], given)
    priced = {name: found[name] for name in ("weights", "costs") if name in found}
    if priced and "budget" not in settings:
        raise ParameterError("--per-segment must have weights and prices with --budget only; got them without.")
    targets = {"epsilons": found["epsilons"]} if "epsilons" in found else {}
    return targets | ({"budget": {**settings["budget"], **priced}} if priced else {})


def _per_segment(segment: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the file of ``--per-segment`` says; nothing without it."""
    if "per_segment" not in given:
        return {}
    from driftpace.campaign.fleet.segment_settings import PRICES, segment_settings
    from driftpace.cli.files import read_table_option

    option = "--per-segment"
    columns = read_table_option(given["per_segment"], as_text=[segment, *PRICES], option=option)
    return segment_settings(columns, segment, owner=option)


def _roles(definition: "Definition") -> "list[Line]":
    """Return the columns with a role of their own, and how late labels may be."""
    from driftpace.formatting import plural

    roles: list[Line] = [
        (label, column)
        for label, column in (
            ("Segment", definition.segment),
            ("Groups", definition.groups),
            ("Weights", definition.weight),
            ("Exposure", definition.exposure),
            ("Annotators", definition.annotator),
        )
        if column is not None
    ]
    if definition.delay is not None:
        late = plural(definition.delay, "period")
        roles.append(("Delay", f"labels may arrive up to {late} late; the next order does not wait for them"))
    return roles


def infer(name: str, given: dict[str, Any]) -> "tuple[dict[str, Any], list[Line]]":
    """Return the settings of a campaign, with those that a table shows, and notes on them."""
    from driftpace.cli.options import split_names

    settings: dict[str, Any] = {"name": name}
    for option in (
        "target",
        "segment",
        "borrow",
        "period",
        "dayfirst",
        "loss",
        "missing",
        "id",
        "weight",
        "exposure",
        "annotator",
        "groups",
        "l2",
        "epsilon",
        "tolerance",
        "metric",
        "at_least",
        "at_most",
        "orders",
        "max_rows",
        "splines",
        "interactions",
        "season",
        "audit",
        "delay",
        "seed",
        "keep_rows",
    ):
        if option in given:
            settings[option] = given[option]
    for option in ("features", "text", "classes", "exclude", "calendar"):
        if option in given:
            settings[option] = split_names(given[option])
    prices = {option: given[option] for option in _PRICES if option in given}
    if "budget" in given or "horizon" in given or prices:
        if "budget" not in given or "horizon" not in given:
            raise ParameterError(
                "--budget and --horizon must be given together: the money and the periods it must last."
            )
        settings["budget"] = {"total": given["budget"], "horizon": given["horizon"], **prices}
    settings |= _segment_settings(settings, given)
    if "table" not in given:
        alone = next((option for option in ("exclude", "calendar", "sheet") if option in given), None)
        if alone is not None:
            raise ParameterError(f"--{alone} must be used with --table; got none.")
        return settings, []
    from driftpace.campaign.inference import infer_settings
    from driftpace.cli.files import read_table_option

    settings, notes = infer_settings(
        settings, read_table_option(given["table"], given.get("sheet")), source=given["table"].name
    )
    return settings, [(note.topic, note.text) for note in notes]


def _check_options(
    name: str | None, given: dict[str, Any], file: Path | None, template: bool, *, interactive: bool
) -> None:
    """Refuse options that do not go together: a configuration file stands alone, a template needs a name."""
    from driftpace.campaign.definition import check_name
    from driftpace.cli.files import why_unreadable

    if file is not None:
        others = [f"--{option.replace('_', '-')}" for option in given] + (["--template"] if template else [])
        others = (["NAME"] if name is not None else []) + others
        if others:
            raise ParameterError(f"{others[0]} must not be used with --file, which holds all settings; got both.")
        problem = why_unreadable(file)
        if problem is not None:
            raise ParameterError(f"--file must be a configuration file in TOML; {str(file)!r} {problem}.")
    elif name is None and not interactive:
        raise ParameterError("NAME must be given, such as churn, or --file; got neither.")
    if name is not None:
        check_name(name)
    blank = next((option for option, value in given.items() if isinstance(value, str) and not value.strip()), None)
    if blank is not None:
        raise ParameterError(f"--{blank.replace('_', '-')} must not be empty; leave it out instead.")


def _missing_options(given: dict[str, Any]) -> list[str]:
    required = {"--target": ("target",), "--epsilon, --tolerance or --metric": ("epsilon", "tolerance", "metric")}
    return [option for option, settings in required.items() if not any(setting in given for setting in settings)]


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
