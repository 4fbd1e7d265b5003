"""``driftpace doctor``: check that the store is intact and that each campaign matches its log."""

from collections import deque
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from driftpace.cli.options import ShownList, Storage, campaign_names
from driftpace.cli.output import ListForm

if TYPE_CHECKING:
    from driftpace.storage.base import Entry, Store

FAILED = 30


class CheckVerdict(StrEnum):
    """The result of a check."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


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
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Check the store and its campaigns.

    The store must be readable and intact and every log complete; where the rows are stored, each campaign is recomputed from its
    log and must match its saved state bit for bit.

    Exit code: 0 all checks passed, 30 a check failed, 2 the store cannot be opened.

    Example: driftpace doctor
    """
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import opened

    with opened(storage) as store:
        checks = list(_run_checks(store, name, storage))
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
    yield Check(CheckVerdict.PASS, "store", f"{store.url} is reachable and of this version.")
    yield from _check_file(storage)
    if name is not None:
        yield _check_campaign(store, require_campaign(store, name).name)
        return
    heads = store.heads()
    if not heads:
        yield Check(CheckVerdict.WARN, "campaigns", "There are none yet.")
    for head in heads:
        yield _check_campaign(store, head.name)
    expired = _expired_tokens(store)
    if expired:
        yield Check(CheckVerdict.WARN, "tokens", f"Expired: {', '.join(expired)}; remove with driftpace token remove.")


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


def _check_campaign(store: "Store", name: str) -> Check:
    """Recompute a campaign from its log and compare it with its saved state."""
    from driftpace.errors import DriftpaceError

    try:
        verdict, sentence = _compare_with_log(store, name)
    except DriftpaceError as error:
        return Check(CheckVerdict.FAIL, name, f"{error}")
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        sentence = f"The campaign cannot be recomputed: {type(error).__name__}: {error}."
        return Check(CheckVerdict.FAIL, name, sentence)
    return Check(verdict, name, sentence)


def _compare_with_log(store: "Store", name: str) -> tuple[CheckVerdict, str]:
    from driftpace.campaign import Campaign
    from driftpace.campaign.state import from_checkpoint, states_agree, to_checkpoint

    head = store.head(name)
    if head is not None and head.summary.get("segments") is not None:
        return _compare_fleet(store, name)
    campaign = Campaign.open(name, storage=store)
    log = campaign.log()
    if [entry.seq for entry in log] != list(range(1, len(log) + 1)):
        return CheckVerdict.FAIL, "The log has a gap."
    checkpoint = store.checkpoint(name)
    if checkpoint is None or checkpoint[0] != len(log):
        at = checkpoint and checkpoint[0]
        return CheckVerdict.FAIL, f"The log has {len(log):,} entries, but the saved state is of entry {at}."
    saved = from_checkpoint(*checkpoint)
    deliveries = () if saved.opened is None else saved.opened.deliveries
    if len(store.rows(name, deliveries)) < len(deliveries):
        return CheckVerdict.FAIL, "Rows of the open period are missing; restore a backup of the store."
    if not _has_all_rows(store, name, log):
        if saved.definition.keep_rows:
            return CheckVerdict.FAIL, "Rows that should be stored are missing."
        return CheckVerdict.WARN, f"{len(log):,} log entries; rows are not stored, so it cannot be recomputed."
    ((_, recomputed),) = deque(campaign.replay(), maxlen=1)
    exact = to_checkpoint(recomputed) == checkpoint[1]
    if not exact and not states_agree(saved, recomputed):
        return CheckVerdict.FAIL, "The saved state differs from the one recomputed from the log."
    how = "identical" if exact else "equal up to rounding (written on another machine or with another library version)"
    return CheckVerdict.PASS, f"{len(log):,} log entries, recomputed: {how}."


def _compare_fleet(store: "Store", name: str) -> tuple[CheckVerdict, str]:
    """Compute every segment again from the log, and compare them with those that are saved."""
    from driftpace.campaign import FleetCampaign
    from driftpace.campaign.fleet.verification import compare_with_log

    found = compare_with_log(FleetCampaign.open(name, storage=store))
    if found.problem is not None:
        return CheckVerdict.FAIL, found.problem
    if not found.recomputed:
        return CheckVerdict.WARN, f"{found.entries:,} log entries; rows are not stored, so it cannot be recomputed."
    how = (
        "identical"
        if found.exact
        else "equal up to rounding (written on another machine or with another library version)"
    )
    return CheckVerdict.PASS, f"{found.entries:,} log entries, {found.segments:,} segments recomputed: {how}."


def _has_all_rows(store: "Store", name: str, log: "Sequence[Entry]") -> bool:
    return all(store.rows(name, [entry.seq]) for entry in log if entry.kind == "delivered")


def _expired_tokens(store: "Store") -> list[str]:
    from datetime import UTC, datetime

    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return [token.name for token in store.tokens() if token.expires_at is not None and token.expires_at <= now]
