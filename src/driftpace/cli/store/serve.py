"""``driftpace serve``: the campaigns of a store as a web page and over REST."""

import re
from collections.abc import Callable
from typing import Annotated

import typer

from driftpace.cli.shared.options import Form, Shown, Storage
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
    form: Shown = Form.TABLE,
    storage: Storage = None,
) -> None:
    """Serve the campaigns of a store: a web page to look at, and REST.

    On this machine it needs no set-up. To be reached from others, give --host and make a token first: driftpace token make.

    Example: driftpace serve
    """
    from driftpace.service import run

    say = announcing(form)
    run(storage or DEFAULT_STORAGE, host=host, port=port, token_always=token_always, dashboard=dashboard, say=say)


def announcing(form: Form) -> Callable[[str], None]:
    """Return what says at once where the service is: its sentence, or the store and the address in it for machines."""

    def say(sentence: str) -> None:
        if form is Form.TABLE:
            print(sentence, flush=True)
            return
        from driftpace.cli.shared.printing import print_json

        found = re.search(r"serves (?P<storage>.+) at (?P<url>https?://\S+)", sentence)
        print_json({} if found is None else found.groupdict(), flush=True)

    return say
