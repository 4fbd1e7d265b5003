"""``driftpace compare``: what accuracy costs with linear models, a head on trees, and trees."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import Sheet, Shown
from driftpace.cli.output import Form


def compare(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A CSV, JSON, Arrow, Parquet or Excel file, or a bundled table: gss_income, psid7682."
        ),
    ],
    period: Annotated[
        str | None,
        typer.Option(help="Column with the period of a row, or date:month, date:500 or :500, as in backtest."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns to predict from, separated by commas.")] = None,
    exclude: Annotated[str | None, typer.Option(help="Columns not to predict from, separated by commas.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A model of trees, as LightGBM text, XGBoost JSON or the like: the trees take its settings.",
            show_default=False,
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="KIND[,KIND...]",
            help="Kinds to compare: linear, head, trees, or lightgbm, xgboost, catboost, sklearn for trees of it. Default: all.",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER[,NUMBER...]",
            help="Targets, in units of the loss. Default: 2, 5 and 10 % of the loss with every row labelled.",
        ),
    ] = None,
    first: Annotated[float, typer.Option(help="Share of the periods that train the trees.")] = 0.2,
    runs: Annotated[int, typer.Option(help="How many times to replay the table.", max=1000)] = 2,
    test_fraction: Annotated[float, typer.Option(help="Share of the rows of a period kept for testing.")] = 0.33,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    sheet: Sheet = None,
    out: Annotated[Path, typer.Option(help="Directory for compare.html and compare.json.")] = Path("out"),
    form: Shown = Form.TABLE,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write compare.html.")] = True,
) -> None:
    """Compare kinds of models on a labelled table: how many labels does each level of accuracy cost?

    Example: driftpace compare gss_income --epsilon 0.02,0.05
    """
    from driftpace.backtest.compare import KINDS, compare_models
    from driftpace.backtest.compare_result import HEADS
    from driftpace.cli.backtest import find_table
    from driftpace.cli.files import require_directory, require_plotly
    from driftpace.cli.options import split_names
    from driftpace.cli.output import Stopwatch, print_answer, print_json, print_note, print_table

    stopwatch = Stopwatch()
    require_directory(out)
    if report:
        require_plotly("The report", "give --no-report")
    result = compare_models(
        find_table(file),
        period=period,
        target=target,
        features=split_names(features),
        exclude=split_names(exclude) or (),
        model=model,
        models=split_names(models) or KINDS,
        epsilon=parse_targets(epsilon),
        first=first,
        runs=runs,
        test_fraction=test_fraction,
        seed=seed,
        sheet=sheet,
    )
    out.mkdir(parents=True, exist_ok=True)
    from driftpace.storage.atomic_file import write_text

    written = [("Numbers", out / "compare.json")]
    write_text(written[0][1], result.to_json() + "\n")
    if report:
        from driftpace.report import compare_report, write_page

        written.append(("Report", write_page(compare_report(result), out / "compare.html")))
    if form is Form.JSON:
        print_json(result.to_values())
        return
    print_answer(result.advice, [*result.lines()[1:], *((label, str(path)) for label, path in written)])
    print()
    print_table(HEADS, result.table_rows(), right=(2, 3))
    print_note(stopwatch.sentence())


def parse_targets(text: str | None) -> tuple[float, ...] | None:
    """Return targets separated by commas.

    >>> parse_targets("0.02, 0.05"), parse_targets(None)
    ((0.02, 0.05), None)
    """
    from driftpace.errors import ParameterError

    if text is None:
        return None
    try:
        targets = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        targets = ()
    if not targets:
        raise ParameterError(f"--epsilon must be numbers separated by commas; got {text!r}.")
    return targets
