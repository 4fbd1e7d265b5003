"""The list of campaigns, most urgent first, in pages."""

from dataclasses import dataclass
from typing import Any

from driftpace.service.state import ListedCampaigns
from driftpace.storage.base import Head

PAGE_SIZE = 50
MAX_RANKED = 20_000
"""Up to this many campaigns are sorted by urgency; larger stores are listed by name, which the store does itself."""

NEEDS = {
    "look": "Check assumptions",
    "money": "Budget short",
    "labels": "To label",
    "close": "To close",
    "ask": "To ask",
    "wait": "Nothing to do",
    "archived": "Archived",
}
"""The states of a campaign, most urgent first; archived campaigns are listed on request only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignRow:
    """One campaign of the list; ``need`` is a key of ``NEEDS``."""

    name: str
    need: str
    phrase: str
    facts: dict[str, Any]
    updated_at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignList:
    """A page of the list, with the number of campaigns of each need.

    ``ranked`` is False if there are too many campaigns to sort; then ``needs`` is empty and ``after`` starts the next page.
    ``total`` counts all campaigns, ``listed`` those that are not archived and match the search.
    """

    campaigns: tuple[CampaignRow, ...]
    needs: dict[str, int]
    total: int
    matches: int
    page: int
    pages: int
    search: str
    show: str
    ranked: bool = True
    after: str | None = None
    listed: int = 0


def need(summary: Any) -> str:
    """Return the need of a campaign from its summary.

    >>> need({"stage": "labels", "missing": 42, "received": 0, "failed": False}), need({"stage": "close", "received": 0})
    ('labels', 'wait')
    >>> need({"stage": "close", "received": 0, "exhausted": True})
    'money'
    """
    if summary.get("archived"):
        return "archived"
    if summary.get("failed"):
        return "look"
    if summary.get("exhausted", False):
        return "money"
    stage = summary.get("stage")
    if stage == "close":
        return "close" if summary.get("received") else "wait"
    return stage if stage in NEEDS else "look"


def phrase(summary: Any) -> str:
    """Return the next step in a few words; the period is in another column.

    >>> phrase({"stage": "labels", "missing": 1200, "received": 3, "failed": True})
    'An assumption fails; label 1,200 more rows'
    >>> phrase({"stage": "close", "missing": 0, "received": 0, "exhausted": True})
    'The remaining budget does not meet the target; close the period at its end'
    """
    if summary.get("archived"):
        return "It can be read, and opened again"
    stage, missing, received = summary.get("stage"), int(summary.get("missing") or 0), summary.get("received")
    if stage == "labels":
        step = f"label {missing:,} {'more ' if received else ''}{'row' if missing == 1 else 'rows'}"
    elif stage == "close":
        step = "all rows received; close the period" if received else "nothing to label; close the period at its end"
    else:
        step = "ask how many rows the period needs"
    if summary.get("exhausted", False) and not summary.get("failed"):
        return "The remaining budget does not meet the target; close the period at its end"
    return f"An assumption fails; {step}" if summary.get("failed") else step[0].upper() + step[1:]


def load_list(
    store: ListedCampaigns, *, search: str = "", show: str = "", page: int = 1, after: str = ""
) -> CampaignList:
    """Return a page of the list.

    >>> from driftpace.campaign import Campaign
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> for name in ("a", "b"):
    ...     campaign = Campaign.create({"name": name, "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    >>> _ = campaign.ask()
    >>> [(row.name, row.need) for row in load_list(store).campaigns]
    [('b', 'labels'), ('a', 'ask')]
    """
    total, archived = store.count(), show == "archived"
    matches = store.count(search=search, archived=archived)
    if matches > MAX_RANKED:
        heads = store.heads(after=after, search=search, limit=PAGE_SIZE + 1, archived=archived)
        more = heads[PAGE_SIZE - 1].name if len(heads) > PAGE_SIZE else None
        return CampaignList(
            campaigns=tuple(_row_of(head) for head in heads[:PAGE_SIZE]),
            needs={},
            total=total,
            matches=matches,
            page=1,
            pages=1,
            search=search,
            show=show if archived else "",
            ranked=False,
            after=more,
        )
    rows = [_row_of(head) for head in store.heads(search=search, archived=archived)]
    order = {name: place for place, name in enumerate(NEEDS)}
    needs = dict.fromkeys(NEEDS, 0)
    for row in rows:
        needs[row.need] += 1
    listed = len(rows)
    if archived:
        others = store.heads(search=search, archived=False)
        listed = len(others)
        for head in others:
            needs[need(head.summary)] += 1
    else:
        needs["archived"] = store.count(search=search, archived=True)
    chosen = [row for row in rows if not show or row.need == show]
    chosen.sort(key=lambda row: (order[row.need], row.name))
    pages = max(1, -(-len(chosen) // PAGE_SIZE))
    page = min(max(1, page), pages)
    return CampaignList(
        campaigns=tuple(chosen[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]),
        needs=needs,
        total=total,
        matches=len(chosen),
        page=page,
        pages=pages,
        search=search,
        show=show,
        listed=listed,
    )


def _row_of(head: Head) -> CampaignRow:
    return CampaignRow(
        name=head.name,
        need=need(head.summary),
        phrase=phrase(head.summary),
        facts=dict(head.summary),
        updated_at=head.updated_at,
    )
