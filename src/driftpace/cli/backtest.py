"""``driftpace backtest`` and ``demo``: replay a labelled table and report what its labels would have cost."""

import csv
import io
import sys
from collections.abc import Mapping
from dataclasses import asdict, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.options import (
    Interactions,
    Missing,
    Sheet,
    ShownList,
    Splines,
    loss_completion,
    open_engine,
    parse_interactions,
    parse_season,
    parse_splines,
)
from driftpace.cli.output import ListForm
from driftpace.errors import ParameterError
from driftpace.losses import loss_names, parse_loss

if TYPE_CHECKING:
    from driftpace.backtest import BacktestResult
    from driftpace.backtest.table import Panel
    from driftpace.cli.output import Line, Stopwatch
    from driftpace.losses import Loss

BUNDLED_TABLES = ("gss_income", "psid7682")


def backtest(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A CSV, JSON, Arrow, Parquet or Excel file, or a bundled table: gss_income, psid7682."
        ),
    ],
    period: Annotated[
        str | None,
        typer.Option(
            help="Column with the period of a row; or date:month (day, week, quarter, year) of a column of dates; or date:500 or "
            ":500, that many rows a period in the order of the dates or of the file."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Columns to predict from, separated by commas. Default: all but dates, free text and ids."),
    ] = None,
    exclude: Annotated[str | None, typer.Option(help="Columns not to predict from, separated by commas.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Columns that are texts, separated by commas: their words are used.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar=f"[{'|'.join(loss_names())}]",
            help="With parameters as in 'quantile(0.9)'. "
            f"Default: {loss_names('regression')[0]} for numbers, {loss_names('classification')[0]} for two classes, "
            f"{loss_names('multiclass')[0]} for more.",
            show_default=False,
            autocompletion=loss_completion,
        ),
    ] = None,
    l2: Annotated[
        str | None,
        typer.Option(
            "--l2",
            metavar="NUMBER[,NUMBER...]",
            help="L2 penalty; of several, separated by commas, one is selected in every period.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column with the group of a row: not split in tests and cross-validation; its rows count together."
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Column with what a row counts for. Default: all rows count alike.")
    ] = None,
    exposure: Annotated[
        str | None, typer.Option(help="Column with what a count or amount is a total over, such as years at risk.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The target: the excess loss allowed over the best model of its kind.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Instead of --epsilon: the excess as a share of the best achievable loss.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Instead: a target in a metric of the loss, such as accuracy or mae, with --at-least or --at-most.",
            show_default=False,
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            help="The target in a metric of which more is better, such as 0.9 of accuracy.", show_default=False
        ),
    ] = None,
    at_most: Annotated[
        float | None,
        typer.Option(help="The target in a metric that is an error, such as mae.", show_default=False),
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Meet the target in this share of periods, instead of on average.")
    ] = None,
    orders: Annotated[
        int | None, typer.Option(help="The most orders of a period. Default: batches, as many as are useful.")
    ] = None,
    season: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|NAME",
            help="Periods after which the drift may repeat itself, such as 12; or quarter, weekday, month, week.",
            show_default=False,
        ),
    ] = None,
    audit: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Share of each order held out for the audit. Default: none.", show_default=False
        ),
    ] = None,
    splines: Splines = None,
    interactions: Interactions = None,
    runs: Annotated[int, typer.Option(help="How many times to replay the table.", max=10**5)] = 20,
    test_fraction: Annotated[float, typer.Option(help="Share of the rows of a period kept for testing.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Number of processes. Default: all cores.")] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="Where the runs are replayed: local, processes, dask, ray or spark. Default: processes on this machine.",
            show_default=False,
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of a dask, ray or spark cluster. Default: a new one here.",
            show_default=False,
        ),
    ] = None,
    baselines: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="Baselines to compare with: up_front, even, from_scratch, first_model, paper, best_constant; or none. "
            "Default: all.",
            show_default=False,
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="KIND[,KIND...]",
            help="Kinds of models to compare besides: linear, head, trees, or trees of lightgbm, xgboost, catboost, sklearn.",
            show_default=False,
        ),
    ] = None,
    price: Annotated[float, typer.Option(help="Price of one label.")] = 1.0,
    currency: Annotated[str, typer.Option(help="Currency of the price, such as EUR or $.")] = "",
    missing: Annotated[
        Missing, typer.Option(help="Fill missing features, drop their rows, or refuse the table.")
    ] = Missing.IMPUTE,
    max_categories: Annotated[
        int,
        typer.Option(
            help="The most categories of a text column with a column of their own; the others are pooled.", min=2
        ),
    ] = 20,
    calendar: Annotated[
        str | None,
        typer.Option(
            metavar="PART[,PART...]", help="Features to make of the dates: month, weekday, hour, or such as date:month."
        ),
    ] = None,
    dayfirst: Annotated[
        bool | None,
        typer.Option("--dayfirst/--monthfirst", help="Whether 03/04/2010 is 3 April. Default: the other dates decide."),
    ] = None,
    sheet: Sheet = None,
    out: Annotated[Path, typer.Option(help="Directory for report.html and backtest.json.")] = Path("out"),
    form: ShownList = ListForm.TABLE,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")] = True,
) -> None:
    """Replay a labelled table: what would the labels have cost, and would the target have been met?

    Example: driftpace backtest gss_income --epsilon 0.02
    """
    from driftpace.cli.files import require_directory, require_plotly
    from driftpace.cli.options import split_names
    from driftpace.cli.output import Stopwatch

    stopwatch = Stopwatch()
    if loss is not None:
        parse_loss(loss, "backtest")
    _require_target(epsilon, tolerance, metric)
    require_directory(out)
    if report:
        require_plotly("The report", "give --no-report")
    penalties = parse_penalties(l2)
    table = find_table(file)

    from driftpace.backtest import replay, to_json
    from driftpace.backtest.table import read_table

    panel = read_table(
        table,
        period=period,
        target=target,
        features=split_names(features),
        text=split_names(text) or (),
        groups=groups,
        weight=weight,
        exposure=exposure,
        missing=missing.value,
        max_categories=max_categories,
        task=None if loss is None else parse_loss(loss, "backtest")[0].task,
        calendar=split_names(calendar) or (),
        dayfirst=dayfirst,
        exclude=split_names(exclude) or (),
        sheet=sheet,
        owner="backtest",
    )
    if exposure is not None and (loss is None or not parse_loss(loss, "backtest")[0].takes_exposure):
        raise ParameterError(
            f"must be left out with the loss {loss or 'squared'!r}: counts and amounts have an exposure (--loss poisson).",
            owner="backtest",
            name="exposure",
        )
    penalty = penalties[0] if len(penalties) == 1 else 0.0 if penalties else None
    result = replay(
        panel,
        loss=choose_loss(loss, penalty, panel),
        l2=penalties if len(penalties) > 1 else None,
        epsilon=epsilon,
        tolerance=tolerance,
        metric=metric,
        at_least=at_least,
        at_most=at_most,
        confidence=confidence,
        orders=orders,
        season=parse_season(season),
        audit=audit,
        splines=parse_splines(splines),
        interactions=parse_interactions(interactions),
        runs=runs,
        test_fraction=test_fraction,
        seed=seed,
        workers=workers,
        executor=open_engine(executor, address, workers=workers, owner="backtest"),
        baselines=[] if baselines == "none" else split_names(baselines),
        models=split_names(models),
        price=price,
        currency=currency,
    )
    out.mkdir(parents=True, exist_ok=True)
    from driftpace.storage.atomic_file import write_text

    written = {"numbers": out / "backtest.json"}
    write_text(written["numbers"], to_json(result) + "\n")
    if report:
        from driftpace.report import backtest_report, write_page

        written["report"] = write_page(backtest_report(result), out / "report.html")
    _print(result, written, form, stopwatch)


def find_table(file: str) -> Any:
    """Return a bundled table by its name, else the path of a file (``./gss_income`` is a file)."""
    if file not in BUNDLED_TABLES:
        near = get_close_matches(file, BUNDLED_TABLES, n=1)
        if near and not Path(file).exists():
            raise ParameterError(f"FILE must be a file or a bundled table; got {file!r}: did you mean {near[0]!r}?")
        return file
    from driftpace import datasets

    return getattr(datasets, f"load_{file}")()


def parse_penalties(text: str | None) -> list[float]:
    """Return penalties separated by commas.

    >>> parse_penalties("0.01, 0.1"), parse_penalties(None)
    ([0.01, 0.1], [])
    """
    from driftpace import validation

    if text is None:
        return []
    try:
        penalties = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        penalties = []
    if not penalties:
        raise ParameterError(f"--l2 must be numbers separated by commas; got {text!r}.")
    for penalty in penalties:
        validation.nonnegative("backtest", l2=penalty)
    return penalties


def choose_loss(name: str | None, l2: float | None, panel: "Panel") -> "Loss | None":
    """Return the loss of that name; None leaves the choice to the backtest."""
    if name is None and l2 is None:
        return None
    from driftpace.losses import get_loss

    return get_loss(name or loss_names(panel.task)[0], l2=l2)


def _require_target(epsilon: float | None, tolerance: float | None, metric: str | None) -> None:
    kinds = {"--epsilon": epsilon, "--tolerance": tolerance, "--metric": metric}
    given = [option for option, value in kinds.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise ParameterError(f"--epsilon, --tolerance or --metric must be given, and only one of them; got {got}.")


def _print(result: "BacktestResult", written: Mapping[str, Path], form: ListForm, stopwatch: "Stopwatch") -> None:
    """Print the result; in JSON and CSV, everything else goes to stderr."""
    from driftpace.backtest import to_json
    from driftpace.backtest.text import render_table

    notes = "".join(f"\nNote: {note}" for note in result.notes) + ("\n" if result.notes else "")
    if form is ListForm.TABLE:
        answer = "\n".join(f"{label:<10} {text}" for label, text in answer_lines(result, written))
        print(f"{answer}\n\n{render_table(result)}\n{check_text(result)}{notes}\n{stopwatch.sentence()}")
        return
    print(to_json(result) if form is ListForm.JSON else to_csv(result))
    for what, path in written.items():
        print(f"{what.capitalize()}: {path}", file=sys.stderr)
    print(f"{notes.lstrip()}{stopwatch.sentence()}", file=sys.stderr)


def answer_lines(result: "BacktestResult", written: Mapping[str, Path]) -> list["Line"]:
    """Return the answer in a few lines; a missed target comes first, with where and why."""
    from driftpace.backtest import text
    from driftpace.backtest.breach import audit_text, breach_lines
    from driftpace.backtest.judgement import judge, total_labels
    from driftpace.formatting import number, plural

    tracker = result.strategies[0]
    judgement = judge(result, tracker)
    total, periods = total_labels(tracker), len(result.periods)
    verdict = ("Result", f"{text.MET if judgement.kept else text.MISSED}: {text.judgement_text(judgement)}")
    orders = text.orders_text(result)
    lines = [
        ("Target", f"{text.target_text(result)}, in {result.table} ({plural(periods, 'period')})"),
        ("Cost", f"{text.labels_text(result, total)}, {number(total / periods)} per period"),
        *([("Orders", orders)] if orders else []),
        ("Otherwise", ("\n" + " " * 11).join(text.alternatives(result))),
    ]
    lines = [*lines, verdict] if judgement.kept else [verdict, *breach_lines(result), *lines]
    audit = audit_text(result)
    if audit:
        lines.append(("Audit", audit))
    if result.comparison is not None:
        lines.append(("Models", result.comparison.advice))
    if result.choices is not None:
        lines.append(("Selected", text.choices_text(result.choices)))
    return lines + [(what.capitalize(), str(written[what])) for what in ("report", "numbers") if what in written]


def check_text(result: "BacktestResult") -> str:
    """Return a line for each check that did not pass in all periods."""
    from driftpace.backtest.text import assumption_status

    labels = {"bad": "Failed", "warn": "Warning"}
    lines = []
    for check, share in result.assumptions:
        tone, frequency = assumption_status(check, share)
        if tone in labels:
            lines.append((tone, f"{labels[tone]}: {check.name} ({frequency}): {check.sentence}"))
    lines.sort(key=lambda line: list(labels).index(line[0]))
    return "".join(f"\n{text}" for _, text in lines) + ("\n" if lines else "")


def to_csv(result: "BacktestResult") -> str:
    """Return one line for each strategy, with a header."""
    from driftpace.backtest import summary
    from driftpace.backtest.text import SummaryRow

    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(SummaryRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in summary(result))
    return text.getvalue().rstrip("\n")


def demo(
    out: Annotated[Path, typer.Option(help="Directory for report.html and backtest.json.")] = Path("out"),
    runs: Annotated[int, typer.Option(help="How many times to replay the survey.", max=10**5)] = 20,
    form: ShownList = ListForm.TABLE,
) -> None:
    """Replay the bundled income survey and write a report.

    It holds 30 yearly surveys, replayed as if their labels were still to be bought.

    Example: driftpace demo --out out
    """
    backtest("gss_income", epsilon=0.02, out=out, runs=runs, form=form)
