"""``driftpace serve``: dashboard and REST API."""

import re
from collections.abc import Callable
from typing import Annotated

import typer

from driftpace.cli.options import Shown, Storage
from driftpace.cli.output import Form
from driftpace.cli.stores import DEFAULT_STORAGE


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on. Clients on other machines need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)] = 8321,
    token_always: Annotated[
        bool, typer.Option("--token-always", help="Require a token on this machine too, for example behind a proxy.")
    ] = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard/--no-dashboard", help="Serve the dashboard besides the REST API.")
    ] = True,
    form: Shown = Form.TABLE,
    storage: Storage = None,
) -> None:
    """Serve the campaigns of a store: dashboard and REST API.

    On this machine it needs no set-up. To accept other machines, create a token (driftpace token make) and give --host.

    Example: driftpace serve
    """
    from driftpace.service import run

    say = announcing(form)
    run(storage or DEFAULT_STORAGE, host=host, port=port, token_always=token_always, dashboard=dashboard, say=say)


def announcing(form: Form) -> Callable[[str], None]:
    """Return a function that prints where the service listens: a sentence, or its store and address as JSON."""

    def say(sentence: str) -> None:
        if form is Form.TABLE:
            print(sentence, flush=True)
            return
        from driftpace.cli.output import print_json

        found = re.search(r"serves (?P<storage>.+) at (?P<url>https?://\S+)", sentence)
        print_json({} if found is None else found.groupdict(), flush=True)

    return say
