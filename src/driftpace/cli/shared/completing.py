"""What a shell offers when the tab key is pressed behind a command: names of campaigns, of tokens, of experiments."""

import os
from collections.abc import Callable
from typing import Any

MOST = 200
PATIENCE = 1.0
"""Seconds to wait for others who write: a tab key is pressed again rather than waited for."""


def campaign_names(ctx: Any, incomplete: str) -> list[str]:
    """Return the names that begin with what was typed; none where the store cannot be read, for nobody wants a sentence here."""
    return _names(ctx, incomplete, lambda store: store.heads(search=incomplete, limit=MOST))


def token_names(ctx: Any, incomplete: str) -> list[str]:
    """Return the tokens whose names begin with what was typed."""
    return _names(ctx, incomplete, lambda store: store.tokens(), quick=False)


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Return what offers some of these words.

    >>> one_of("cost", "income")("c")
    ['cost']
    """
    return lambda incomplete: [one for one in words if one.startswith(incomplete)]


def one_of_losses(incomplete: str) -> list[str]:
    """Return the registered losses whose names begin with what was typed."""
    from driftpace.losses import loss_names

    return one_of(*loss_names())(incomplete)


def _names(ctx: Any, incomplete: str, found_in: Callable[[Any], Any], *, quick: bool = True) -> list[str]:
    from driftpace.cli.shared.glance import Glance
    from driftpace.cli.shared.reading import DEFAULT_STORAGE

    place = ctx.params.get("storage") or os.environ.get("DRIFTPACE_STORAGE") or DEFAULT_STORAGE
    try:
        store: Any = Glance.at(place) if quick else None
        if store is None:
            from driftpace.storage import open_store

            store = open_store(place, create=False, wait=PATIENCE)
        try:
            return [one.name for one in found_in(store) if one.name.startswith(incomplete)]
        finally:
            store.close()
    except Exception:
        return []
