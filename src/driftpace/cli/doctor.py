"""``driftpace doctor``: check that the store is intact and that each campaign matches its log."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from driftpace.campaign.records import CheckVerdict
from driftpace.cli.options import ShownList, Storage, campaign_names
from driftpace.cli.output import ListForm
from driftpace.cli.seal import KeyFile
from driftpace.errors import ParameterError
from driftpace.formatting import plural

if TYPE_CHECKING:
    from driftpace.storage.base import Store

FAILED = 30


class Check(NamedTuple):
    """A check: its result, what was checked, and a sentence."""

    verdict: CheckVerdict
    what: str
    sentence: str


def doctor(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The campaign. Default: all campaigns.", autocompletion=campaign_names),
    ] = None,
    seal: Annotated[
        Path | None,
        typer.Option(
            "--seal", metavar="FILE", help="Compare with a file that driftpace seal wrote.", show_default=False
        ),
    ] = None,
    key: KeyFile = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Check the store and its campaigns.

    The store must be readable and intact, and the hash chain of every log whole; where the rows are stored, each campaign is
    recomputed from its log, and orders, fits, certificates and the saved state must match bit for bit.

    Exit code: 0 all checks passed, 30 a check failed, 2 the store cannot be opened.

    Example: driftpace doctor
    """
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import opened

    if key is not None and seal is None:
        raise ParameterError("--key must be given together with --seal.")
    with opened(storage) as store:
        checks = list(_run_checks(store, name, storage))
        if seal is not None:
            checks += _check_seal(store, name, seal, key)
    rows = [(check.verdict.value, check.what, check.sentence) for check in checks]
    if form is ListForm.JSON:
        print_json([dict(zip(Check._fields, row, strict=True)) for row in rows])
    elif form is ListForm.CSV:
        print_csv(Check._fields, rows)
    else:
        print_table(("result", "what", "details"), rows)
    raise typer.Exit(FAILED if any(check.verdict is CheckVerdict.FAIL for check in checks) else 0)


def _run_checks(store: "Store", name: str | None, storage: str | None) -> Iterator[Check]:
    from driftpace.cli.stores import require_campaign

    store.ping()
    store.check()
    yield Check(CheckVerdict.PASS, "store", f"{store.url} is reachable, complete and of this version.")
    yield from _check_file(storage)
    yield from _check_tables(store)
    names = store.names()
    if name is not None:
        yield _check_campaign(store, name if name in names else require_campaign(store, name).name)
        return
    if not names:
        yield Check(CheckVerdict.WARN, "campaigns", "There are none yet.")
    for known in names:
        yield _check_campaign(store, known)
    yield from _check_tokens(store)


def _check_file(storage: str | None) -> Iterator[Check]:
    """Run SQLite's integrity check."""
    from driftpace.cli.stores import DEFAULT_STORAGE
    from driftpace.storage import SqliteReader

    reader = SqliteReader.at(storage or DEFAULT_STORAGE)
    if reader is None:
        return
    try:
        result = reader.integrity()
    finally:
        reader.close()
    if result == "ok":
        yield Check(CheckVerdict.PASS, "file", "The SQLite file is intact.")
    else:
        yield Check(CheckVerdict.FAIL, "file", f"The SQLite file is damaged: {result[:200]}; restore a backup.")


def _check_tables(store: "Store") -> Iterator[Check]:
    """Check the form of what is in the tables."""
    from driftpace.errors import StorageError

    try:
        damage = store.damage()
    except StorageError as error:
        yield Check(CheckVerdict.FAIL, "tables", f"{error}")
        return
    for one in damage:
        yield Check(CheckVerdict.FAIL, one.table, one.sentence)


def _check_seal(store: "Store", name: str | None, seal: Path, key: Path | None) -> Iterator[Check]:
    """Compare the store with a seal."""
    from driftpace.errors import StateFileError
    from driftpace.storage.seal import SealKey, broken_seals, check_signature, read_seal

    try:
        sealed = read_seal(seal)
        if key is not None:
            check_signature(sealed, SealKey.read(key))
        elif "signature" in sealed:
            yield Check(CheckVerdict.WARN, "seal", "It is signed; give --key FILE to check the signature.")
    except StateFileError as error:
        yield Check(CheckVerdict.FAIL, "seal", str(error))
        return
    broken = broken_seals(sealed, store, name=name)
    for one in broken:
        yield Check(CheckVerdict.FAIL, one.name, one.sentence)
    if not broken:
        count = plural(len(sealed["campaigns"]), "campaign")
        yield Check(CheckVerdict.PASS, "seal", f"{count} as sealed at {sealed['at']}.")


def _check_campaign(store: "Store", name: str) -> Check:
    """Verify a campaign."""
    from driftpace.campaign.verification import verify_campaign
    from driftpace.errors import DriftpaceError

    try:
        head = store.head(name)
        if head is not None and head.summary.get("segments") is not None:
            return Check(*_compare_fleet(store, name))
        found = verify_campaign(name, store)
    except DriftpaceError as error:
        return Check(CheckVerdict.FAIL, name, f"{error}")
    except Exception as error:  # whatever a tampered store leads to must not hide the other campaigns
        sentence = f"The campaign cannot be recomputed: {type(error).__name__}: {error}."
        return Check(CheckVerdict.FAIL, name, sentence)
    return Check(found.verdict, name, found.sentence)


def _compare_fleet(store: "Store", name: str) -> tuple[CheckVerdict, str, str]:
    """Compute every segment again from the log, and compare them with those that are saved."""
    from driftpace.campaign import FleetCampaign
    from driftpace.campaign.fleet.verification import compare_with_log

    found = compare_with_log(FleetCampaign.open(name, storage=store))
    if found.problem is not None:
        return CheckVerdict.FAIL, name, found.problem
    if not found.recomputed:
        return (
            CheckVerdict.WARN,
            name,
            f"{found.entries:,} log entries; rows are not stored, so it cannot be recomputed.",
        )
    how = (
        "identical"
        if found.exact
        else "equal up to rounding (written on another machine or with another library version)"
    )
    return CheckVerdict.PASS, name, f"{found.entries:,} log entries, {found.segments:,} segments recomputed: {how}."


def _check_tokens(store: "Store") -> Iterator[Check]:
    """Name expired tokens, or the one that cannot be read."""
    from datetime import UTC, datetime

    from driftpace.errors import StorageError

    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    try:
        expired = [token.name for token in store.tokens() if token.expires_at is not None and token.expires_at <= now]
    except StorageError as error:
        yield Check(CheckVerdict.FAIL, "tokens", f"{error}")
        return
    if expired:
        yield Check(CheckVerdict.WARN, "tokens", f"Expired: {', '.join(expired)}; remove with driftpace token remove.")
