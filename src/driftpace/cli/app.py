"""What the command line understands."""

from typing import Annotated

import typer

from driftpace.cli.backtest import backtest
from driftpace.cli.plan import plan
from driftpace.cli.reproduce import reproduce

app = typer.Typer(
    name="driftpace",
    help="How many fresh labels to buy each period so that a model of a drifting world keeps the accuracy you asked for.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(backtest)
app.command()(plan)
app.command()(reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"driftpace {version('driftpace')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Show what can be done when nothing was asked for."""
    del version  # answered by its callback
    if context.invoked_subcommand is None:
        print(context.get_help())
