"""``driftpace doctor``: is the store sound, and does every campaign stand where its log leads to?"""

from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpace.cli.shared.completing import campaign_names
from driftpace.cli.shared.options import ListForm, ShownList, Storage

if TYPE_CHECKING:
    from driftpace.storage.base import Store

FAILED = 30


class Verdict(StrEnum):
    """What came of one check."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


Check = tuple[Verdict, str, str]
"""What came of it, what was checked, and a sentence."""


def doctor(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Only this campaign. Default: all of them.", autocompletion=campaign_names),
    ] = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Check the store and its campaigns.

    The store can be read and is whole; every log is numbered without a gap; and where the rows were kept, the log is computed
    again from the first row on and must lead to where the campaign stands, bit for bit.

    Exit code: 0 nothing failed, 30 something did, 2 the store cannot be opened.

    Example: driftpace doctor
    """
    from driftpace.cli.shared.printing import print_csv, print_json, print_table
    from driftpace.cli.shared.reading import opened

    with opened(storage) as store:
        found = list(_checks(store, name, storage))
    heads = ("verdict", "what", "sentence")
    rows = [(verdict.value, what, text) for verdict, what, text in found]
    if form is ListForm.JSON:
        print_json([dict(zip(heads, row, strict=True)) for row in rows])
    elif form is ListForm.CSV:
        print_csv(heads, rows)
    else:
        print_table(("", "what", ""), rows)
    raise typer.Exit(FAILED if any(verdict is Verdict.FAIL for verdict, _, _ in found) else 0)


def _checks(store: "Store", name: str | None, storage: str | None) -> Iterator[Check]:
    from driftpace.cli.shared.reading import require_known

    store.ping()
    yield Verdict.PASS, "store", f"{store.url} can be reached, and its tables are of this version."
    yield from _sound(storage)
    if name is not None:
        yield _campaign(store, require_known(store, name).name)
        return
    heads = store.heads()
    if not heads:
        yield Verdict.WARN, "campaigns", "There are none yet."
    for head in heads:
        yield _campaign(store, head.name)
    over = _over(store)
    if over:
        yield Verdict.WARN, "tokens", f"{', '.join(over)} ran out; driftpace token remove takes them away."


def _sound(storage: str | None) -> Iterator[Check]:
    """Let SQLite look through its own file."""
    from driftpace.cli.shared.glance import Glance
    from driftpace.cli.shared.reading import DEFAULT_STORAGE

    glance = Glance.at(storage or DEFAULT_STORAGE)
    if glance is None:
        return
    try:
        said = glance.sound()
    finally:
        glance.close()
    if said == "ok":
        yield Verdict.PASS, "file", "SQLite finds its file whole."
    else:
        yield Verdict.FAIL, "file", f"SQLite finds its file damaged: {said[:200]}; put back a copy of it."


def _campaign(store: "Store", name: str) -> Check:
    """Compute a campaign again from its log, and compare."""
    from driftpace.campaign import Campaign
    from driftpace.campaign.compare import states_agree
    from driftpace.campaign.state import from_checkpoint, to_checkpoint
    from driftpace.errors import DriftpaceError

    try:
        campaign = Campaign.open(name, storage=store)
        log = campaign.log()
        if [entry.seq for entry in log] != list(range(1, len(log) + 1)):
            return Verdict.FAIL, name, "The log has a gap."
        found = store.checkpoint(name)
        if found is None or found[0] != len(log):
            return (
                Verdict.FAIL,
                name,
                f"The log has {len(log):,} entries, and the state follows from {found and found[0]}.",
            )
        folded = from_checkpoint(*found)
        waiting = () if folded.opened is None else folded.opened.deliveries
        if len(store.rows(name, waiting)) < len(waiting):
            return Verdict.FAIL, name, "Rows of the open period are gone; put back a copy of the store."
        if not _has_all_rows(store, name, log):
            if folded.definition.keep_rows:
                return Verdict.FAIL, name, "Rows are gone that were to be kept."
            return Verdict.WARN, name, f"{len(log):,} entries; rows were not kept, so nothing can be computed again."
        ((_, again),) = deque(campaign.replay(), maxlen=1)
        exactly = to_checkpoint(again) == found[1]
        if not exactly and not states_agree(folded, again):
            return Verdict.FAIL, name, "The log leads to another state than the one that is kept."
    except DriftpaceError as error:
        return Verdict.FAIL, name, f"{error}"
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        return Verdict.FAIL, name, f"The log cannot be computed again: {type(error).__name__}: {error}."
    how = "to the last bit" if exactly else "up to rounding, for another machine or library wrote it"
    return Verdict.PASS, name, f"{len(log):,} entries, computed again: the same {how}."


def _has_all_rows(store: "Store", name: str, log: Any) -> bool:
    seqs = [entry.seq for entry in log if entry.kind == "delivered"]
    return all(store.rows(name, [seq]) for seq in seqs)


def _over(store: "Store") -> list[str]:
    from datetime import UTC, datetime

    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return [token.name for token in store.tokens() if token.expires_at is not None and token.expires_at <= now]
