"""Every command by its name: where it lives, what it is for, in one line; nothing of it is loaded before it is called."""

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand

from driftpace.cli.shared.helping import Command, Group


class Known(NamedTuple):
    """A command: the module and the name of what runs it, the first line of its help, the heading it is listed under."""

    module: str
    name: str
    line: str
    panel: str


EVERY, BEGIN, KEEP, ALONE = ("Every period", "Campaigns", "The store", "Without a campaign")

COMMANDS = {
    "init": Known(
        "init.command", "init", "Begin a campaign: what to predict, and how good the model has to stay.", BEGIN
    ),
    "ask": Known("period.ask", "ask", "Say how many rows to label this period, and why.", EVERY),
    "tell": Known(
        "period.tell", "tell", "Take in a file of labelled rows; when they are enough, fit the model and report.", EVERY
    ),
    "status": Known("period.status", "status", "Say where a campaign stands and what to do now.", EVERY),
    "plan": Known(
        "plan.command", "plan", "Plan purchases: what do I get for this budget, and when do I spend it?", EVERY
    ),
    "report": Known(
        "report.command",
        "report",
        "Write one page about a campaign: the order, the drift, the promises, the money.",
        EVERY,
    ),
    "predict": Known("period.predict", "predict", "Say what the current model makes of the rows of a file.", EVERY),
    "override": Known(
        "period.deciding", "override", "Put a number of your own in the place of the order, with the reason.", EVERY
    ),
    "approve": Known("period.deciding", "approve", "Agree with the order as it was made.", EVERY),
    "forget": Known("period.deciding", "forget", "Take back the rows told so far in the open period.", EVERY),
    "list": Known(
        "campaigns.listing", "list_campaigns", "List the campaigns of a store, with what each waits for.", BEGIN
    ),
    "budget": Known(
        "campaigns.budget",
        "budget",
        "Add money to the budget of a campaign, and periods that it has to last for.",
        BEGIN,
    ),
    "amend": Known(
        "campaigns.amend", "amend", "Say what words count as that a campaign does not list, from now on.", BEGIN
    ),
    "ledger": Known(
        "campaigns.ledger", "ledger", "Show every closed period: what was promised, and what was measured.", BEGIN
    ),
    "log": Known("campaigns.log", "log", "Show what happened in a campaign, and when.", BEGIN),
    "export": Known(
        "campaigns.carrying", "export", "Write a campaign to one file, to keep it or to carry it elsewhere.", BEGIN
    ),
    "import": Known("campaigns.carrying", "import_campaign", "Read a campaign from a file that export wrote.", BEGIN),
    "remove": Known("campaigns.removing", "remove", "Remove a campaign with everything that belongs to it.", BEGIN),
    "doctor": Known("store.doctor", "doctor", "Check the store and its campaigns.", KEEP),
    "serve": Known("store.serve", "serve", "Serve the campaigns of a store: a web page to look at, and REST.", KEEP),
    "token": Known("store.token", "token", "Let somebody in who comes from another machine.", KEEP),
    "backtest": Known(
        "backtest.command",
        "backtest",
        "Replay a table as if its labels were still to be bought: what would it have cost, and was the promise kept?",
        ALONE,
    ),
    "reproduce": Known(
        "reproduce.command",
        "reproduce",
        "Run the paper's experiments and put what came out beside what it reports: a page, every figure, every number.",
        ALONE,
    ),
}


class Lazily(Group):
    """A group that lists its commands without loading any, and loads the one that is called."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        for name, known in COMMANDS.items():
            self.add_command(TyperCommand(name, help=known.line, rich_help_panel=known.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the command itself in the place of its line of help."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = load(args[0])
        return super().resolve_command(ctx, args)


def load(name: str) -> Any:
    """Return the command of that name, ready to be run."""
    known = COMMANDS[name]
    found = getattr(import_module(f"driftpace.cli.{known.module}"), known.name)
    if isinstance(found, typer.Typer):
        group = typer.main.get_command(found)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, cls=Command, help=paragraphs(found.__doc__ or ""))(found)
    return typer.main.get_command(alone)


def paragraphs(text: str) -> str:
    r"""Return a help whose paragraphs are one line each, so that they are broken where the terminal ends.

    >>> paragraphs("Say it.\n\n    At some\n    length.\n    ")
    'Say it.\n\nAt some length.'
    """
    return "\n\n".join(" ".join(one.split()) for one in text.split("\n\n")).strip()
