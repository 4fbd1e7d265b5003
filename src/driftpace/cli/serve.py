"""``driftpace serve``: dashboard and REST API."""

import os
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
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address or network of a proxy whose X-Forwarded-For is believed; repeat for several."),
    ] = None,
    user_header: Annotated[
        str | None,
        typer.Option(help="Header in which a trusted proxy names the user that it has signed in.", show_default=False),
    ] = None,
    user_role: Annotated[
        str,
        typer.Option(help="Role of signed-in users without a token of their name: read, label, order, admin or none."),
    ] = "read",
    dashboard: Annotated[
        bool, typer.Option("--dashboard/--no-dashboard", help="Serve the dashboard besides the REST API.")
    ] = True,
    drain_seconds: Annotated[
        float,
        typer.Option(
            help="Seconds after SIGTERM in which /readyz answers 503 and requests are still answered, for a load balancer.",
            min=0.0,
        ),
    ] = 0.0,
    alert_webhook: Annotated[
        list[str] | None,
        typer.Option(help="Address that alerts are posted to, signed with DRIFTPACE_ALERT_SECRET; repeat for several."),
    ] = None,
    alert_mail: Annotated[
        list[str] | None,
        typer.Option(
            help="Alerts by e-mail: smtps://user:password@host?from=a@b.org&to=c@d.org. Also in DRIFTPACE_ALERT_MAIL.",
            envvar="DRIFTPACE_ALERT_MAIL",
        ),
    ] = None,
    traces: Annotated[
        bool,
        typer.Option(
            "--traces", help="Send traces by OpenTelemetry; its variables OTEL_* say where, and switch them on."
        ),
    ] = False,
    form: Shown = Form.TABLE,
    storage: Storage = None,
) -> None:
    """Serve the campaigns of a store: dashboard and REST API.

    On this machine it needs no set-up. To accept other machines, create a token (driftpace token make) and give --host.

    Example: driftpace serve
    """
    from driftpace.service import run

    run(
        storage or DEFAULT_STORAGE,
        host=host,
        port=port,
        token_always=token_always,
        trusted_proxies=trusted_proxy or (),
        user_header=user_header,
        user_role=None if user_role == "none" else user_role,
        dashboard=dashboard,
        drain_seconds=drain_seconds,
        alert_webhooks=alert_webhook or (),
        alert_mail=alert_mail or (),
        alert_secret=os.environ.get("DRIFTPACE_ALERT_SECRET", ""),
        traces=traces,
        on_listening=_print_address if form is Form.JSON else None,
    )


def _print_address(storage: str, url: str) -> None:
    from driftpace.cli.output import print_json

    print_json({"storage": storage, "url": url}, flush=True)
