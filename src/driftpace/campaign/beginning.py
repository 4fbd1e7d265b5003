"""How a campaign begins: the entry that says what it is about, and the tracker that it starts from."""

from driftpace.campaign import fold
from driftpace.campaign.definition import Definition
from driftpace.campaign.folded import to_checkpoint
from driftpace.campaign.summary import summary
from driftpace.errors import ParameterError
from driftpace.storage.codec import encode
from driftpace.storage.store import Change, Entry
from driftpace.tracker import Tracker
from driftpace.tracker.saving import now_to_body


def first_change(definition: Definition, tracker: Tracker, *, at: str, who: str) -> Change:
    """Return the first transaction of a campaign."""
    settings, state = tracker.inside
    if state.order is not None:
        raise ParameterError(
            f"must be a tracker between two periods; got one with period {state.period} open.",
            owner="Campaign.create",
            name="what",
        )
    entry = Entry(
        kind="created",
        at=at,
        body={
            "definition": definition.to_values(),
            "tracker": now_to_body(settings, state),
            "history": [encode(report) for report in tracker.history],
            "who": who,
        },
    )
    try:
        folded = fold.created(entry)
    except ParameterError:  # a part that could only be named
        raise ParameterError(
            "must be made of driftpace's own parts, for its state is kept in a store; "
            f"got {tracker!r} with a part of one's own.",
            owner="Campaign.create",
            name="what",
        ) from None
    return Change(entries=[entry], checkpoint=to_checkpoint(folded), summary=summary(folded))
