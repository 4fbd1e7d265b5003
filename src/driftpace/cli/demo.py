"""``driftpace demo``: replay the bundled income survey."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.backtest import backtest


def demo(
    out: Annotated[Path, typer.Option(help="Directory for report.html and backtest.json.")] = Path("out"),
    runs: Annotated[int, typer.Option(help="How many times to replay the survey.", max=10**5)] = 20,
) -> None:
    """Replay 30 income surveys as if their labels were still to be bought, and write a report.

    Example: driftpace demo --out out
    """
    backtest("gss_income", epsilon=0.02, out=out, runs=runs)
