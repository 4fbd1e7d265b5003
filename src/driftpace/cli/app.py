"""The application: its commands, each loaded when it is called, and how they show help and report errors."""

from collections import Counter
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from driftpace.errors import DriftpaceError, ParameterError


class CommandSpec(NamedTuple):
    """A command: its module and function, the first line of its help, and the panel it is listed in."""

    module: str
    function: str
    summary: str
    panel: str


PERIOD, CAMPAIGNS, STORE, STANDALONE = ("Every period", "Campaigns", "Store", "Without a campaign")

COMMANDS = {
    "init": CommandSpec("init", "init", "Create a campaign: what to predict, and how accurately.", CAMPAIGNS),
    "ask": CommandSpec("ask", "ask", "Compute how many rows to label this period, and draw them.", PERIOD),
    "tell": CommandSpec(
        "tell", "tell", "Add labelled rows; once there are enough, fit the model and close the period.", PERIOD
    ),
    "status": CommandSpec("status", "status", "Show the state of a campaign and the next step.", PERIOD),
    "plan": CommandSpec("plan", "plan", "Plan purchases: what does a budget buy, and when to spend it?", PERIOD),
    "report": CommandSpec(
        "report", "report", "Write an HTML report of a campaign: order, drift, accuracy and budget.", PERIOD
    ),
    "predict": CommandSpec("predict", "predict", "Predict the rows of a file with the current model.", PERIOD),
    "override": CommandSpec("decisions", "override", "Replace the number of rows to label by your own.", PERIOD),
    "approve": CommandSpec("decisions", "approve", "Approve the computed order.", PERIOD),
    "forget": CommandSpec("decisions", "forget", "Discard the rows received so far in the open period.", PERIOD),
    "undo": CommandSpec("undo", "undo", "Take back a delivery, a decision, a draw or the closing of a period.", PERIOD),
    "release": CommandSpec("undo", "release", "Release the rows drawn for labelling in the open period.", PERIOD),
    "list": CommandSpec(
        "campaigns", "list_campaigns", "List the campaigns of a store and their next steps.", CAMPAIGNS
    ),
    "budget": CommandSpec("decisions", "budget", "Add money or periods to the budget of a campaign.", CAMPAIGNS),
    "amend": CommandSpec(
        "decisions",
        "amend",
        "Map unlisted categories of a column to a listed one, or add a class of the target.",
        CAMPAIGNS,
    ),
    "retrain": CommandSpec(
        "decisions", "retrain", "Train the base model of a campaign again, on the rows labelled so far.", CAMPAIGNS
    ),
    "ledger": CommandSpec("history", "ledger", "Show the closed periods: predicted and measured loss.", CAMPAIGNS),
    "log": CommandSpec("history", "log", "Show the event log of a campaign.", CAMPAIGNS),
    "export": CommandSpec("export_import", "export", "Export a campaign to a file.", CAMPAIGNS),
    "import": CommandSpec("export_import", "import_campaign", "Import a campaign from an exported file.", CAMPAIGNS),
    "archive": CommandSpec("erase", "archive", "Archive a campaign that is over, or open it again.", CAMPAIGNS),
    "erase": CommandSpec("erase", "erase", "Erase the rows of persons by their ids, or of old periods.", CAMPAIGNS),
    "remove": CommandSpec("campaigns", "remove", "Remove a campaign with its log and rows.", CAMPAIGNS),
    "backup": CommandSpec(
        "backup", "backup", "Back up a store to one file, while others go on working with it.", STORE
    ),
    "restore": CommandSpec("backup", "restore", "Restore a backup as a new store.", STORE),
    "upgrade": CommandSpec("backup", "upgrade", "Upgrade a store of an older version, with a backup first.", STORE),
    "seal": CommandSpec("seal", "seal", "Note the last hash of each log in a file outside of the store.", STORE),
    "doctor": CommandSpec("doctor", "doctor", "Check the store and its campaigns.", STORE),
    "serve": CommandSpec("serve", "serve", "Serve the campaigns of a store: dashboard and REST API.", STORE),
    "token": CommandSpec("token", "token", "Manage the access tokens of the service.", STORE),
    "demo": CommandSpec("backtest", "demo", "Replay the bundled income survey and write a report.", STANDALONE),
    "check": CommandSpec(
        "check",
        "check",
        "Check a table: periods, target, features, leakage, drift, and how many labels a period it would take.",
        STANDALONE,
    ),
    "backtest": CommandSpec(
        "backtest",
        "backtest",
        "Replay a labelled table: what would the labels have cost, and would the target have been met?",
        STANDALONE,
    ),
    "compare": CommandSpec(
        "compare",
        "compare",
        "Compare kinds of models on a labelled table: how many labels does each level of accuracy cost?",
        STANDALONE,
    ),
    "warm": CommandSpec("warm", "warm", "Compile and cache the numerical kernels.", STANDALONE),
}


class _FlagHelp:
    """Show flags in the help without a value placeholder."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(_FlagHelp, TyperCommand):
    """A command whose errors name its own options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; an option that is given twice is refused, as only the last one would count."""
        if not ctx.resilient_parsing:
            self._check_repeated(self.make_parser(ctx).parse_args(args=list(args))[2])
        return super().parse_args(ctx, args)

    def _check_repeated(self, given: list[Any]) -> None:
        for param, times in Counter(given).items():
            one = param.param_type_name == "option" and not getattr(param, "multiple", False)
            if times > 1 and one and (not param.is_flag or param.secondary_opts):
                hint = ": separate its values by commas" if "commas" in (param.help or "") else ""
                raise ParameterError(f"{param.opts[0]} must be given once; got it {times} times{hint}.")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error about a parameter of the library names the option it was given by."""
        try:
            return super().invoke(ctx)
        except DriftpaceError as error:
            from driftpace.cli.errors import in_options

            raise in_options(error, self.params, command=str(ctx.info_name)) from error


class Group(_FlagHelp, TyperGroup):
    """A command with subcommands."""


class LazyGroup(Group):
    """A group that lists its commands without importing them, and imports the one that is called."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, spec in COMMANDS.items():
            self.add_command(TyperCommand(name, help=spec.summary, rich_help_panel=spec.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the placeholder of a command by the command itself."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = load(args[0])
        return super().resolve_command(ctx, args)


def load(name: str) -> Any:
    """Return the command of that name, ready to run."""
    spec = COMMANDS[name]
    function = getattr(import_module(f"driftpace.cli.{spec.module}"), spec.function)
    if isinstance(function, typer.Typer):
        group = typer.main.get_command(function)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name, cls=Command, help=paragraphs(function.__doc__ or ""))(function)
    return typer.main.get_command(single)


def paragraphs(text: str) -> str:
    r"""Return help text with one line for each paragraph, so that it is wrapped to the terminal.

    >>> paragraphs("Summary.\n\n    At some\n    length.\n    ")
    'Summary.\n\nAt some length.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")).strip()


app = typer.Typer(
    name="driftpace",
    cls=LazyGroup,
    help="How many fresh labels does a drifting model need each period to stay as accurate as required?\n\n"
    "Start with: driftpace init NAME. Then, every period: driftpace ask NAME, label the rows, driftpace tell NAME FILE.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"driftpace {version('driftpace')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Show the help where no command is given."""
    del version  # handled by its callback
    if context.invoked_subcommand is None:
        print(context.get_help())
