"""Deliveries that were refused: noted beside the log, so that they are seen where the campaign is looked at."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from driftpace.errors import DataError, DriftpaceError, ParameterError, ProtocolError, StorageError
from driftpace.formatting import plural
from driftpace.storage.base import Entry, Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from driftpace.campaign import Campaign, FleetCampaign


@contextmanager
def refusals_noted(
    campaign: "Campaign | FleetCampaign", *, source: str, who: str, dry_run: bool = False
) -> Iterator[None]:
    """Note a delivery that is refused within the context, and raise its error; a dry run notes nothing.

    >>> from driftpace.campaign import Campaign
    >>> from driftpace.storage import MemoryStore
    >>> campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.1}, storage=MemoryStore())
    >>> with suppress(DataError), refusals_noted(campaign, source="w46.csv", who="ada"):
    ...     raise DataError("must be unique; got '7' twice.", owner="Campaign.tell", name="ids")
    >>> campaign.refusals()[0].sentence
    "ids must be unique; got '7' twice."
    """
    try:
        yield
    except (DataError, ParameterError, ProtocolError) as error:
        if not dry_run:
            with suppress(StorageError):  # the refusal itself matters more
                campaign.note_refusal(refusal_sentence(error, private=not campaign.definition.keep_rows), source, who)
        raise


def refusal_sentence(error: DriftpaceError, *, private: bool) -> str:
    """Return why a delivery was refused; of a campaign that keeps no rows only what it was about, because a cell may be named."""
    if private:
        return f"{error.name or 'the table'} was refused; rows are not kept, so the cell is not named."
    return f"{error.name} {error.problem}" if error.name else error.problem


def since_last_delivery(refusals: "Sequence[Refusal]", delivered: "Sequence[Entry]") -> list[Refusal]:
    """Return the refusals that no delivery followed: the others were probably sent again in order."""
    last = delivered[-1].at if delivered else ""
    return [refusal for refusal in refusals if refusal.at > last]


def refused_sentence(refusals: "Sequence[Refusal]") -> str:
    """Return refused deliveries as a sentence; "" if there are none.

    >>> refused_sentence([Refusal(at="2026-11-16T10:00:00Z", who="ada", source="w46.csv", sentence="it is empty.")])
    '1 delivery since the last one that counted; at 2026-11-16 10:00 “w46.csv” by ada: it is empty'
    """
    if not refusals:
        return ""
    last = refusals[-1]
    by = f" by {last.who}" if last.who else ""
    file = f"“{last.source}”" if last.source else "rows"
    total = plural(len(refusals), "delivery", "deliveries")
    when = last.at[:16].replace("T", " ")
    return f"{total} since the last one that counted; at {when} {file}{by}: {last.sentence.rstrip('.')}"
