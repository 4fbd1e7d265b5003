"""``driftpace token``: access tokens of the service."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.app import Command, Group
from driftpace.cli.options import DryRun, Shown, ShownList, Storage, token_names
from driftpace.cli.output import Form, ListForm

if TYPE_CHECKING:
    from driftpace.storage.base import Token

token = typer.Typer(
    cls=Group,
    help="Manage the access tokens of the service.\n\nClients on the same machine need no token.",
    add_completion=False,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)


@token.callback()
def start(context: typer.Context) -> None:
    """Show the help where no subcommand is given."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@token.command(cls=Command)
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the token, such as nightly.")],
    role: Annotated[
        str,
        typer.Option(help="What it may do: read, label (draw and deliver rows), order (ask, decide, undo) or admin."),
    ] = "read",
    write: Annotated[bool, typer.Option("--write", help="The same as --role admin.")] = False,
    hook: Annotated[bool, typer.Option("--hook", help="Allow only webhook calls of a labelling tool.")] = False,
    campaign: Annotated[
        list[str] | None, typer.Option(help="Limit it to this campaign; repeat for several.", show_default=False)
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="Expires after this many days. Default: never.", show_default=False)
    ] = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Create a token and print its secret. The secret is not stored.

    Example: driftpace token make desk --role label --campaign churn --days 90
    """
    from driftpace.cli.output import NOTHING_WRITTEN, print_json, print_note
    from driftpace.cli.stores import opened, opened_if_exists
    from driftpace.errors import ParameterError
    from driftpace.service.access import ROLES
    from driftpace.service.auth import make_token
    from driftpace.storage import MemoryStore

    if hook and (write or role != "read"):
        raise ParameterError(f"--hook must not be used with {'--write' if write else '--role'}; got both.")
    if write and role not in ("read", "admin"):
        raise ParameterError(f"--write must not be used with --role {role}; got both.")
    if role not in ROLES:
        raise ParameterError(f"--role must be one of {', '.join(ROLES)}; got {role!r}.")
    scopes = ("hook",) if hook else ROLES["admin" if write else role]
    campaigns = campaign or ()
    if dry_run:
        trial = MemoryStore()
        with opened_if_exists(storage) as store:
            for existing in () if store is None else store.tokens():
                trial.add_token(existing)
        make_token(trial, name, scopes, days, campaigns=campaigns)
        (created,) = (record for record in trial.tokens() if record.name == name)
        secret = None
    else:
        with opened(storage, create=True) as store:
            secret = make_token(store, name, scopes, days, campaigns=campaigns)
            (created,) = (record for record in store.tokens() if record.name == name)
    if form is Form.JSON:
        print_json({**token_json(created), "secret": secret, "dry_run": dry_run})
    elif secret is not None:
        print(secret)
    sentence = f"Token {name} created ({' and '.join(scopes)}). The secret is shown only once: store it safely."
    print_note(NOTHING_WRITTEN if secret is None else sentence)


@token.command("list", cls=Command)
def list_tokens(form: ShownList = ListForm.TABLE, storage: Storage = None) -> None:
    """List the tokens, without their secrets.

    Example: driftpace token list
    """
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import opened

    with opened(storage) as store:
        tokens = store.tokens()
    heads = ("name", "scopes", "created_at", "expires_at")
    if form is ListForm.JSON:
        print_json([token_json(record) for record in tokens])
        return
    rows = [(record.name, " ".join(record.scopes), record.created_at, record.expires_at or "") for record in tokens]
    if form is ListForm.CSV:
        print_csv(heads, rows)
    elif rows:
        print_table(heads, rows)
    else:
        print("No tokens: the service accepts only clients on this machine.")


@token.command(cls=Command)
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The token.", autocompletion=token_names)],
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Remove a token, which revokes its access.

    Example: driftpace token remove nightly
    """
    from difflib import get_close_matches

    from driftpace.cli.output import print_result
    from driftpace.cli.stores import opened
    from driftpace.errors import ParameterError

    with opened(storage) as store:
        tokens = {record.name: record for record in store.tokens()}
        if name not in tokens:
            near = get_close_matches(name, tokens, n=1)
            known = f"there are {', '.join(tokens)}." if tokens else "there are none."
            hint = f"did you mean {near[0]!r}?" if near else known
            raise ParameterError(f"NAME must be an existing token; got {name!r}: {hint}")
        if not dry_run:
            store.remove_token(name)
    sentence = f"Token {name} {'would be removed' if dry_run else 'removed'}."
    print_result(form, sentence, token_json(tokens[name]), dry_run=dry_run)


def token_json(token: "Token") -> dict[str, Any]:
    """Return a token without its secret."""
    return {
        "name": token.name,
        "scopes": list(token.scopes),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
    }
