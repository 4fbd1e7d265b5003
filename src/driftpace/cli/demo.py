"""``driftpace demo``: replay the bundled income survey."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.backtest import backtest
from driftpace.cli.options import ShownList
from driftpace.cli.output import ListForm


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
