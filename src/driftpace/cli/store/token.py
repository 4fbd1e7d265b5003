"""``driftpace token``: who may come in from another machine."""

from typing import Annotated

import typer

from driftpace.cli.shared.options import DryRun, ListForm, ShownList, Storage

token = typer.Typer(
    help="Let somebody in who comes from another machine.\n\nOn this machine, driftpace serve needs no token.",
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
)


@token.command()
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is, such as nightly.")],
    write: Annotated[bool, typer.Option("--write", help="They may also change campaigns, not only look.")] = False,
    hook: Annotated[
        bool, typer.Option("--hook", help="They may only bring what a labelling tool sends by itself.")
    ] = False,
    days: Annotated[
        float | None, typer.Option(help="Runs out after so many days. Default: never.", show_default=False)
    ] = None,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Make a token and print its secret, once: it is kept nowhere.

    Example: driftpace token make nightly --write --days 90
    """
    from driftpace.cli.shared.printing import print_note
    from driftpace.cli.shared.reading import opened
    from driftpace.errors import ParameterError
    from driftpace.service.tokens import make_token

    if write and hook:
        raise ParameterError("--hook must be left out beside --write; got both.")
    scopes = ("hook",) if hook else ("read", "write") if write else ("read",)
    if dry_run:
        from driftpace.storage import MemoryStore

        make_token(MemoryStore(), name, scopes, days)
        print_note("Nothing was written.")
        return
    with opened(storage, create=True) as store:
        secret = make_token(store, name, scopes, days)
    print(secret)
    print_note(f"Token {name} ({' and '.join(scopes)}). The secret is shown only now: keep it.")


@token.command("list")
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
        print_json(
            [
                {
                    "name": one.name,
                    "scopes": list(one.scopes),
                    "created_at": one.created_at,
                    "expires_at": one.expires_at,
                }
                for one in found
            ]
        )
        return
    rows = [(one.name, " ".join(one.scopes), one.created_at, one.expires_at or "") for one in found]
    if form is ListForm.CSV:
        print_csv(heads, rows)
    elif rows:
        print_table(heads, rows)
    else:
        print("No tokens: nobody may come in from another machine.")


@token.command()
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The token.")],
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Remove a token: it lets nobody in any more.

    Example: driftpace token remove nightly
    """
    from difflib import get_close_matches

    from driftpace.cli.shared.printing import print_note
    from driftpace.cli.shared.reading import opened
    from driftpace.errors import ParameterError

    with opened(storage) as store:
        there = [one.name for one in store.tokens()]
        if name not in there:
            near = get_close_matches(name, there, n=1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there {'are ' + ', '.join(there) if there else 'is none'}."
            )
            raise ParameterError(f"NAME must be a token; got {name!r}: {hint}")
        if not dry_run:
            store.remove_token(name)
    print(f"Token {name} {'would be' if dry_run else 'is'} removed.")
    if dry_run:
        print_note("Nothing was written.")
