"""What a shell offers when the tab key is pressed behind a command: the names of campaigns."""

import os
from typing import Any

MOST = 200


def campaign_names(ctx: Any, incomplete: str) -> list[str]:
    """Return the names that begin with what was typed; none where the store cannot be read, for nobody wants a sentence here."""
    from driftpace.cli.shared.reading import DEFAULT_STORAGE, reader

    place = ctx.params.get("storage") or os.environ.get("DRIFTPACE_STORAGE") or DEFAULT_STORAGE
    try:
        store = reader(place)
        heads = store.heads(search=incomplete, limit=MOST)
        store.close()
    except Exception:
        return []
    return [head.name for head in heads if head.name.startswith(incomplete)]
