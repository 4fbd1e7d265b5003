"""``driftpace reproduce``: the paper's experiments run again, beside what driftpace does by default."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import Form, Shown, one_of

EXPERIMENTS = ("regression", "cost", "classification", "income", "selection", "beyond")
_PSID = "Your own extract of the Panel Study of Income Dynamics"


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help=f"{', '.join(EXPERIMENTS)}; all of them where none is named.",
            autocompletion=one_of(*EXPERIMENTS),
            show_default=False,
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(help="How many times each experiment is repeated; the paper's are 20.", max=10**5)
    ] = 20,
    seed: Annotated[int, typer.Option(help="The same seed gives the same files.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the page, the figures and their numbers.")] = Path("out/paper"),
    workers: Annotated[
        int | None, typer.Option(help="Processes to use. Default: all cores.", show_default=False)
    ] = None,
    psid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV or Stata file, for income.", rich_help_panel=_PSID),
    ] = None,
    psid_year: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Year of the interview.", rich_help_panel=_PSID)
    ] = None,
    psid_income: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Yearly labour income in dollars.", rich_help_panel=_PSID)
    ] = None,
    psid_age: Annotated[str | None, typer.Option(metavar="COLUMN", help="Age in years.", rich_help_panel=_PSID)] = None,
    psid_education: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Years of schooling.", rich_help_panel=_PSID)
    ] = None,
    psid_experience: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Years of work. Default: age - schooling - 6.", rich_help_panel=_PSID),
    ] = None,
    psid_more: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="Further columns to predict from, with commas.", rich_help_panel=_PSID),
    ] = None,
    form: Shown = Form.TABLE,
) -> None:
    """Run the paper's experiments and put what came out beside what it reports: a page, every figure, every number.

    Example: driftpace reproduce regression --runs 5
    """
    from driftpace.cli.options import split_names as separated
    from driftpace.cli.output import Stopwatch
    from driftpace.cli.reproduce.telling import tell
    from driftpace.errors import ParameterError
    from paper import reproduce as run

    stopwatch = Stopwatch()
    columns = {
        "year": psid_year,
        "income": psid_income,
        "age": psid_age,
        "education": psid_education,
        "experience": psid_experience,
        "more": None if psid_more is None else tuple(separated(psid_more) or ()),
    }
    given = {name: column for name, column in columns.items() if column is not None}
    if given and psid is None:
        raise ParameterError(f"--psid-{next(iter(given))} must come together with --psid; got it alone.")
    found = run(names or None, runs=runs, seed=seed, out=out, workers=workers, psid=psid, psid_columns=given)
    tell(found, out, form.value, stopwatch)
