"""``driftpace token``: who may come in from another machine."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.shared.completing import token_names
from driftpace.cli.shared.helping import Command, Group
from driftpace.cli.shared.options import DryRun, Form, ListForm, Shown, ShownList, Storage

if TYPE_CHECKING:
    from driftpace.storage.base import Token

token = typer.Typer(
    cls=Group,
    help="Let somebody in who comes from another machine.\n\nOn this machine, driftpace serve needs no token.",
    add_completion=False,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)


@token.callback()
def start(context: typer.Context) -> None:
    """Show what can be done when nothing was asked for."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@token.command(cls=Command)
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is, such as nightly.")],
    write: Annotated[bool, typer.Option("--write", help="They may also change campaigns, not only look.")] = False,
    hook: Annotated[
        bool, typer.Option("--hook", help="They may only bring what a labelling tool sends by itself.")
    ] = False,
    days: Annotated[
        float | None, typer.Option(help="Runs out after so many days. Default: never.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Make a token and print its secret, once: it is kept nowhere.

    Example: driftpace token make nightly --write --days 90
    """
    from driftpace.cli.shared.answering import NOTHING
    from driftpace.cli.shared.printing import print_json, print_note
    from driftpace.cli.shared.reading import if_there, opened
    from driftpace.errors import ParameterError
    from driftpace.service.tokens import make_token
    from driftpace.storage import MemoryStore

    if write and hook:
        raise ParameterError("--hook must be left out beside --write; got both.")
    scopes = ("hook",) if hook else ("read", "write") if write else ("read",)
    if dry_run:
        trial = MemoryStore()
        with if_there(storage) as store:
            for one in () if store is None else store.tokens():
                trial.add_token(one)
        make_token(trial, name, scopes, days)
        (made,) = (one for one in trial.tokens() if one.name == name)
        secret = None
    else:
        with opened(storage, create=True) as store:
            secret = make_token(store, name, scopes, days)
            (made,) = (one for one in store.tokens() if one.name == name)
    if form is Form.JSON:
        print_json({**token_json(made), "secret": secret, "dry_run": dry_run})
    elif secret is not None:
        print(secret)
    said = f"Token {name} ({' and '.join(scopes)})."
    print_note(NOTHING if secret is None else f"{said} The secret is shown only now: keep it.")


@token.command("list", cls=Command)
def list_tokens(form: ShownList = ListForm.TABLE, storage: Storage = None) -> None:
    """List the tokens, without their secrets.

    Example: driftpace token list
    """
    from driftpace.cli.shared.printing import print_csv, print_json, print_table
    from driftpace.cli.shared.reading import opened

    with opened(storage) as store:
        found = store.tokens()
    heads = ("name", "scopes", "created_at", "expires_at")
    if form is ListForm.JSON:
        print_json([token_json(one) for one in found])
        return
    rows = [(one.name, " ".join(one.scopes), one.created_at, one.expires_at or "") for one in found]
    if form is ListForm.CSV:
        print_csv(heads, rows)
    elif rows:
        print_table(heads, rows)
    else:
        print("No tokens: nobody may come in from another machine.")


@token.command(cls=Command)
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The token.", autocompletion=token_names)],
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Remove a token: it lets nobody in any more.

    Example: driftpace token remove nightly
    """
    from difflib import get_close_matches

    from driftpace.cli.shared.answering import print_done
    from driftpace.cli.shared.reading import opened
    from driftpace.errors import ParameterError

    with opened(storage) as store:
        there = {one.name: one for one in store.tokens()}
        if name not in there:
            near = get_close_matches(name, there, n=1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there {'are ' + ', '.join(there) if there else 'is none'}."
            )
            raise ParameterError(f"NAME must be a token; got {name!r}: {hint}")
        if not dry_run:
            store.remove_token(name)
    first = f"Token {name} {'would be' if dry_run else 'is'} removed."
    print_done(form, first, token_json(there[name]), dry_run=dry_run)


def token_json(token: "Token") -> dict[str, Any]:
    """Return a token without its secret, which nobody has but who was given it."""
    return {
        "name": token.name,
        "scopes": list(token.scopes),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
    }
