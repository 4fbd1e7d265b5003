"""``driftpace serve``: the campaigns of a store as a web page and over REST."""

from typing import Annotated

import typer

from driftpace.cli.shared.options import Storage
from driftpace.cli.shared.reading import DEFAULT_STORAGE


def serve(
    host: Annotated[
        str, typer.Option(help="Where to listen. Beyond this machine everybody needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=0, max=65535)] = 8321,
    token_always: Annotated[
        bool, typer.Option("--token-always", help="Ask for a token on this machine too, such as behind a proxy.")
    ] = False,
    dashboard: Annotated[bool, typer.Option("--dashboard/--no-dashboard", help="The web page, beside REST.")] = True,
    storage: Storage = None,
) -> None:
    """Serve the campaigns of a store: a web page to look at, and REST.

    On this machine it needs no set-up. To be reached from others, give --host and make a token first: driftpace token make.

    Example: driftpace serve
    """
    from functools import partial

    from driftpace.service import run

    say = partial(print, flush=True)
    run(storage or DEFAULT_STORAGE, host=host, port=port, token_always=token_always, dashboard=dashboard, say=say)
