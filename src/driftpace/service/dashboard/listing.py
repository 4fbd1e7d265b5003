"""The list of campaigns: what needs doing first, some of it at a time."""

from dataclasses import dataclass
from typing import Any

from driftpace.storage.base import Head, Store

PAGE = 50
MOST_RANKED = 20_000
"""Up to so many campaigns are put in the order of what needs doing; beyond, by name, which the store does by itself."""

SHOWN = {
    "look": "Needs a look",
    "money": "Money short",
    "labels": "To label",
    "close": "To close",
    "ask": "To ask",
    "wait": "Nothing to do",
}
"""What a campaign may need, the most urgent first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """One campaign of the list; ``need`` is a key of SHOWN."""

    name: str
    need: str
    phrase: str
    facts: dict[str, Any]
    updated_at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Some campaigns, how many there are of each need, and where in the list this is.

    ``ranked`` is False where there are too many to put the urgent ones first; then ``needs`` is empty and the list goes on behind
    the name ``after``.
    """

    campaigns: tuple[Listed, ...]
    needs: dict[str, int]
    total: int
    found: int
    page: int
    pages: int
    search: str
    show: str
    ranked: bool = True
    after: str | None = None


def need(summary: Any) -> str:
    """Return what a campaign needs, by its summary.

    >>> need({"stage": "labels", "missing": 42, "received": 0, "failed": False}), need({"stage": "close", "received": 0})
    ('labels', 'wait')
    >>> need({"stage": "close", "received": 0, "exhausted": True})
    'money'
    """
    if summary.get("failed"):
        return "look"
    if summary.get("exhausted", False):
        return "money"
    stage = summary.get("stage")
    if stage == "close":
        return "close" if summary.get("received") else "wait"
    return stage if stage in SHOWN else "look"


def phrase(summary: Any) -> str:
    """Return what to do, in a few words; which period it is about stands beside it.

    >>> phrase({"stage": "labels", "missing": 1200, "received": 3, "failed": True})
    'An assumption fails; label 1,200 more rows'
    >>> phrase({"stage": "close", "missing": 0, "received": 0, "exhausted": True})
    'The money left does not hold the target; close it when it is over'
    """
    stage, missing, came = summary.get("stage"), int(summary.get("missing") or 0), summary.get("received")
    if stage == "labels":
        said = f"label {missing:,} {'more ' if came else ''}{'row' if missing == 1 else 'rows'}"
    elif stage == "close":
        said = "enough came, close it" if came else "nothing to label; close it when it is over"
    else:
        said = "ask how many rows it needs"
    if summary.get("exhausted", False) and not summary.get("failed"):
        return "The money left does not hold the target; close it when it is over"
    return f"An assumption fails; {said}" if summary.get("failed") else said[0].upper() + said[1:]


def listed(store: Store, *, search: str = "", show: str = "", page: int = 1, after: str = "") -> Page:
    """Return a page of the list.

    >>> from driftpace.campaign import Campaign
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> for name in ("a", "b"):
    ...     campaign = Campaign.create({"name": name, "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    >>> _ = campaign.ask()
    >>> [(one.name, one.need) for one in listed(store).campaigns]
    [('b', 'labels'), ('a', 'ask')]
    """
    total = store.count()
    found = store.count(search=search) if search else total
    if found > MOST_RANKED:
        heads = store.heads(after=after, search=search, limit=PAGE + 1)
        more = heads[PAGE - 1].name if len(heads) > PAGE else None
        return Page(
            campaigns=tuple(_listed(head) for head in heads[:PAGE]),
            needs={},
            total=total,
            found=found,
            page=1,
            pages=1,
            search=search,
            show="",
            ranked=False,
            after=more,
        )
    everything = [_listed(head) for head in store.heads(search=search)]
    order = {name: place for place, name in enumerate(SHOWN)}
    needs = dict.fromkeys(SHOWN, 0)
    for one in everything:
        needs[one.need] += 1
    chosen = [one for one in everything if not show or one.need == show]
    chosen.sort(key=lambda one: (order[one.need], one.name))
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(max(1, page), pages)
    return Page(
        campaigns=tuple(chosen[(page - 1) * PAGE : page * PAGE]),
        needs=needs,
        total=total,
        found=len(chosen),
        page=page,
        pages=pages,
        search=search,
        show=show,
    )


def _listed(head: Head) -> Listed:
    return Listed(
        name=head.name,
        need=need(head.summary),
        phrase=phrase(head.summary),
        facts=dict(head.summary),
        updated_at=head.updated_at,
    )
