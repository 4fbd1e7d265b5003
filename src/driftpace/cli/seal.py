"""``driftpace seal``: note the last hash of each log in a file outside of the store."""

from pathlib import Path
from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Shown, Storage, campaign_names
from driftpace.cli.output import Form

KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="An Ed25519 key in PEM (openssl genpkey -algorithm ed25519), or a file with a shared secret.",
        show_default=False,
    ),
]


def seal(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; an existing one is replaced.")],
    campaign: Annotated[
        str | None,
        typer.Option(
            "--campaign",
            metavar="NAME",
            help="Seal one campaign. Default: all.",
            autocompletion=campaign_names,
            show_default=False,
        ),
    ] = None,
    key: KeyFile = None,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    storage: Storage = None,
) -> None:
    """Note the last hash of each log in a file outside of the store.

    A later check then tells whether a log was rewritten or cut.

    Keep the seal where those who can write to the store cannot; driftpace doctor --seal FILE compares it with the store.

    Example: driftpace seal 2026-11-19.seal --key seal.pem
    """
    import json

    from driftpace.campaign.handle import utc_now
    from driftpace.cli.files import printable, require_new_place
    from driftpace.cli.output import print_result
    from driftpace.cli.stores import opened, require_campaign
    from driftpace.formatting import plural
    from driftpace.storage.atomic_file import atomic_file
    from driftpace.storage.seal import SealKey, make_seal

    require_new_place(file)
    signing = None if key is None else SealKey.read(key)
    with opened(storage) as store:
        names = [head.name for head in store.heads()]
        if campaign is not None:
            names = [require_campaign(store, campaign).name]
        made = make_seal(store, names, at=utc_now(), key=signing)
    if not dry_run:
        with atomic_file(file, owner="seal") as out:
            out.write(f"{json.dumps(made, indent=1, ensure_ascii=False)}\n".encode())
    verb = "would be written" if dry_run else "written"
    signed = "" if signing is None else ", signed"
    print_result(
        form,
        f"Seal of {plural(len(made['campaigns']), 'campaign')}{signed}: {verb} to {file}.",
        {**made, "file": printable(str(file))},
        dry_run=dry_run,
    )
