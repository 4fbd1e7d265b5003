"""What the command line understands."""

from typing import Annotated

import typer

from driftpace.cli.commands import Lazily

app = typer.Typer(
    name="driftpace",
    cls=Lazily,
    help="How many fresh labels to buy each period so that a model of a drifting world keeps the accuracy you asked for.\n\n"
    "Begin with: driftpace init NAME. Then, every period: driftpace ask NAME, label the rows, driftpace tell NAME FILE.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


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
