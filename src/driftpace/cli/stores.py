"""Stores and campaigns by their place and name."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from driftpace.errors import ParameterError, StorageNotFoundError, UnknownCampaignError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign, FleetCampaign
    from driftpace.storage.base import Head, Store

DEFAULT_STORAGE = "driftpace.db"
MAX_NAMES = 10_000
MAX_COUNT = 2**31 - 1
"""The largest limit that every database accepts."""


def public_place(place: str | None) -> str:
    """Return a place without its password and options, which may hold one.

    >>> public_place("postgresql://anna:secret@db/labels"), public_place("postgresql://db/labels?password=secret")
    ('postgresql://anna@db/labels', 'postgresql://db/labels')
    """
    return re.sub(r"(://[^:/@]*)(:.*(?=@))?([^?]*)(\?.*)?", r"\1\3", place or DEFAULT_STORAGE)


def place_of(place: str | None) -> str:
    """Return the place of a persistent store, or the default one."""
    return _persistent(place)


@contextmanager
def opened(place: str | None, *, create: bool = False) -> "Iterator[Store]":
    """Open the store at a place."""
    from driftpace.storage import open_store

    with _closing(open_store(_persistent(place), create=create)) as store:
        yield store


@contextmanager
def opened_to_read(place: str | None) -> Iterator[Any]:
    """Open the store at a place to read campaigns and logs only, which starts faster."""
    from driftpace.storage import open_reader

    with _closing(open_reader(_persistent(place))) as store:
        yield store


@contextmanager
def opened_if_exists(place: str | None) -> "Iterator[Store | None]":
    """Open the store at a place; None where there is none yet, and none is created.

    A dry run of a command that creates the store needs it: what the command would refuse is refused now.
    """
    from driftpace.storage import open_store

    try:
        store = open_store(_persistent(place), create=False)
    except StorageNotFoundError:
        yield None
        return
    with _closing(store):
        yield store


def find_campaign(place: str | None, name: str) -> "tuple[str, Head | None]":
    """Return a place without its password, and the campaign of that name there; None where there is none."""
    with opened_if_exists(place) as store:
        return (public_place(place), None) if store is None else (store.url, store.head(name))


@contextmanager
def opened_campaign(place: str | None, name: str) -> "Iterator[Campaign]":
    """Open a campaign; an unknown name is refused with the one that may have been meant."""
    with opened(place) as store:
        head = require_campaign(store, name)
        if head.summary.get("segments") is not None:
            raise ParameterError(
                f"NAME must be a campaign of one model here; {name!r} follows segments, which ask, tell, status, ledger, log, "
                "predict, budget, undo, export and doctor work with."
            )
        from driftpace.campaign import Campaign

        yield Campaign.open(name, storage=store)


@contextmanager
def opened_any(place: str | None, name: str) -> "Iterator[Campaign | FleetCampaign]":
    """Open a campaign of one model or of segments."""
    with opened(place) as store:
        from driftpace.campaign import Campaign, FleetCampaign

        fleet = require_campaign(store, name).summary.get("segments") is not None
        yield FleetCampaign.open(name, storage=store) if fleet else Campaign.open(name, storage=store)


def require_campaign(store: Any, name: str) -> Any:
    """Return the head of a campaign, or refuse an unknown name."""
    head = store.head(name)
    if head is not None:
        return head
    names = [known.name for known in store.heads(limit=MAX_NAMES)]
    near = get_close_matches(name, names, n=1) or [known for known in names if known.lower() == name.lower()]
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif names:
        verb = "is" if len(names) == 1 else "are"
        hint = f"there {verb} {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}."
    else:
        hint = f"the store is empty: create it with driftpace init {name}."
    raise UnknownCampaignError(f"there is no campaign {name!r}{{where}}; {hint}", store=store.url)


@contextmanager
def _closing(store: Any) -> Iterator[Any]:
    try:
        yield store
    finally:
        store.close()


def _persistent(place: str | None) -> str:
    where = place or DEFAULT_STORAGE
    if where.startswith("memory:"):
        raise ParameterError("--storage must be persistent; memory:// is lost when the command ends.")
    return where
