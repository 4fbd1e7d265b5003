"""From a place and a name to a campaign: opened to read, quickly where that can be, or to change."""

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from driftpace.errors import ParameterError, StorageError, UnknownCampaignError

if TYPE_CHECKING:
    from driftpace.campaign import Campaign
    from driftpace.cli.shared.standing import Standing
    from driftpace.storage.base import Head, Store

DEFAULT_STORAGE = "driftpace.db"
MOST_NAMES = 10_000
MOST = 2**31 - 1
"""No store holds more campaigns or entries, and every database knows this number."""


def reader(place: str | None) -> Any:
    """Return something to read campaigns from: a quick look where the place is a SQLite file, else the store."""
    from driftpace.cli.shared.glance import Glance

    where = place or DEFAULT_STORAGE
    return Glance.at(where) or open_at(where)


def shown_place(place: str | None) -> str:
    """Return a place without any password in it, nor options, which may hold one.

    >>> shown_place("postgresql://anna:secret@db/labels"), shown_place("postgresql://db/labels?password=secret")
    ('postgresql://anna@db/labels', 'postgresql://db/labels')
    """
    import re

    return re.sub(r"(://[^:/@]*)(:.*(?=@))?([^?]*)(\?.*)?", r"\1\3", place or DEFAULT_STORAGE)


def open_at(place: str | None, *, create: bool = False) -> "Store":
    """Return the store in that place."""
    from driftpace.storage import open_store

    where = place or DEFAULT_STORAGE
    if where.startswith("memory:"):
        raise ParameterError("--storage must be a place that lasts; memory:// is forgotten when the command ends.")
    return open_store(where, create=create)


@contextmanager
def opened(place: str | None, *, create: bool = False) -> "Iterator[Store]":
    """Open the store in that place, and close it behind."""
    store = open_at(place, create=create)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def if_there(place: str | None) -> "Iterator[Store | None]":
    """Open the store in that place where there is one; None where there is none yet, and none is made.

    This is how a dry run looks at a place that the command itself would make: what would be refused then is refused now.
    """
    try:
        store = open_at(place)
    except StorageError as error:
        if not str(error).startswith("there is no store at"):
            raise
        yield None
        return
    try:
        yield store
    finally:
        store.close()


def found_at(place: str | None, name: str) -> "tuple[str, Head | None]":
    """Return a place as people may see it, and the campaign of that name there; None where there is none."""
    with if_there(place) as store:
        return (shown_place(place), None) if store is None else (store.url, store.head(name))


@contextmanager
def glanced(place: str | None) -> Iterator[Any]:
    """Open a place to read, and close it behind."""
    store = reader(place)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def campaign_at(place: str | None, name: str) -> "Iterator[Campaign]":
    """Open a campaign, or say that there is none, with the name that may have been meant."""
    with opened(place) as store:
        require_known(store, name)
        from driftpace.campaign import Campaign

        yield Campaign.open(name, storage=store)


def require_known(store: Any, name: str) -> Any:
    """Return where a campaign stands, or refuse a name that is not there."""
    head = store.head(name)
    if head is not None:
        return head
    names = [one.name for one in store.heads(limit=MOST_NAMES)]
    near = get_close_matches(name, names, n=1) or [one for one in names if one.lower() == name.lower()]
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif names:
        hint = (
            f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}."
        )
    else:
        hint = f"there are none yet: driftpace init {name} begins one."
    raise UnknownCampaignError(f"there is no campaign {name!r} in {store.url}; {hint}")


def standing_at(place: str | None, name: str) -> "Standing | None":
    """Return where a campaign stands where a quick look shows it; None where it takes the campaign itself."""
    from driftpace.cli.shared.glance import Glance
    from driftpace.cli.shared.standing import Standing

    glance = Glance.at(place or DEFAULT_STORAGE)
    if glance is None:
        return None
    try:
        found = glance.standing(name)
        if found is None:
            require_known(glance, name)
            return None
        return Standing.of(*found)
    finally:
        glance.close()
