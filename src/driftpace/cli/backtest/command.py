"""``driftpace backtest``: replay a table, say what it cost, and write the report."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.shared.completing import one_of_losses
from driftpace.cli.shared.options import ListForm, ShownList
from driftpace.losses import loss_names


class Missing(StrEnum):
    """What to do with rows that lack a feature or a period."""

    REFUSE = "refuse"
    DROP = "drop"


def backtest(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A CSV, JSON, Arrow or Parquet file, or a bundled table: gss_income, psid7682."
        ),
    ],
    period: Annotated[str | None, typer.Option(help="Column that says which period a row belongs to.")] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    features: Annotated[
        str | None, typer.Option(help="Columns to predict from, separated by commas. Default: all numeric ones.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar=f"[{'|'.join(loss_names())}]",
            help=f"Default: {loss_names('regression')[0]} for numbers, {loss_names('classification')[0]} for two classes.",
            show_default=False,
            autocompletion=one_of_losses,
        ),
    ] = None,
    l2: Annotated[
        str | None,
        typer.Option(
            "--l2",
            metavar="NUMBER[,NUMBER...]",
            help="Penalty on large coefficients; several, separated by commas, are chosen among in every period.",
            show_default=False,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column that says whose a row is: rows of one person stay together, in tests and cross-validation."
        ),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The target: how much worse than the best model of its kind is accepted.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Instead of --epsilon: within this share of the best achievable loss.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="Hold the target in this share of periods, instead of on average.")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many times to replay the table.", max=10**5)] = 20,
    test_fraction: Annotated[float, typer.Option(help="Share of the rows of a period kept for testing.")] = 0.2,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes to use. Default: all cores.")] = None,
    price: Annotated[float, typer.Option(help="What one label costs.")] = 1.0,
    currency: Annotated[str, typer.Option(help="Currency of the price, such as EUR or $.")] = "",
    baselines: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="Baselines to compare with: up_front, even, from_scratch, first_model, paper, best_constant; or none. "
            "Default: all.",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[Missing, typer.Option(help="What to do with rows that lack a value.")] = Missing.REFUSE,
    out: Annotated[Path, typer.Option(help="Folder for report.html and backtest.json.")] = Path("out"),
    form: ShownList = ListForm.TABLE,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html.")] = True,
) -> None:
    """Replay a table as if its labels were still to be bought: what would it have cost, and was the promise kept?

    Example: driftpace backtest gss_income --epsilon 0.02
    """
    from driftpace import validation
    from driftpace.cli.shared.asking import choose_loss, folder, names, one_target, penalties, ready_to_report, source
    from driftpace.cli.shared.spending import Spending

    spending = Spending()
    one_target(epsilon, tolerance)
    if loss is not None:
        validation.choice("backtest", loss_names(), loss=loss)
    folder(out)
    if report:
        ready_to_report()
    among = penalties(l2)
    wanted = source(file)

    from driftpace.backtest import replay, to_json
    from driftpace.backtest.table import read_table
    from driftpace.cli.backtest.telling import tell

    panel = read_table(
        wanted,
        period=period,
        target=target,
        features=names(features),
        groups=groups,
        missing=missing.value,
        owner="backtest",
    )
    result = replay(
        panel,
        loss=choose_loss(loss, among[0] if len(among) == 1 else 0.0 if among else None, panel),
        l2=among if len(among) > 1 else None,
        epsilon=epsilon,
        tolerance=tolerance,
        confidence=confidence,
        runs=runs,
        test_fraction=test_fraction,
        seed=seed,
        workers=workers,
        price=price,
        currency=currency,
        baselines=[] if baselines == "none" else names(baselines),
    )
    out.mkdir(parents=True, exist_ok=True)
    written = {"numbers": out / "backtest.json"}
    written["numbers"].write_text(to_json(result) + "\n", encoding="utf-8")
    if report:
        from driftpace.backtest.report import write_report

        written["report"] = write_report(result, out / "report.html")
    tell(result, written, form.value, spending)
