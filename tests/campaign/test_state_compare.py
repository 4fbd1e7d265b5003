"""States that agree up to rounding, and states that do not."""

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from driftpace.campaign.state import CampaignState, from_checkpoint, states_agree
from driftpace.storage import MemoryStore
from driftpace.storage.codec import decode, encode
from tests.reference.campaigns import begun, rows_of, run_period


def _stands(change: Callable[[Any], Any] | None = None, **more: Any) -> CampaignState:
    """Return where a campaign stands in its third period, its arrays and numbers changed."""
    store = MemoryStore()
    campaign = begun(store, **more)
    for period in (1, 2):
        run_period(campaign, period)
    campaign.ask()
    campaign.tell(*rows_of(3, 0, 4), final=False)
    saved = store.checkpoint("prices")
    assert saved is not None
    body = json.loads(zlib.decompress(saved[1]))
    if change is not None:
        body["tracker"] = _changed(body["tracker"], change)
    return from_checkpoint(saved[0], zlib.compress(json.dumps(body).encode()))


def _changed(plain: Any, change: Callable[[Any], Any]) -> Any:
    """Change what was learnt, and nothing that was asked for."""
    if isinstance(plain, dict):
        if plain.get("!") == "array":
            return encode(change(decode(plain)))
        return {name: one if name in ("settings", "method") else _changed(one, change) for name, one in plain.items()}
    if isinstance(plain, list):
        return [_changed(one, change) for one in plain]
    return change(plain) if isinstance(plain, float) else plain


@pytest.mark.parametrize("more", [{}, {"l2": [0.0, 0.1]}, {"budget": {"total": 900, "horizon": 12, "fixed": 60}}])
def test_the_last_digits_are_rounding_and_others_are_not(more: dict[str, Any]) -> None:
    whole = _stands(**more)
    assert states_agree(whole, _stands(**more))
    assert states_agree(whole, _stands(lambda one: one * (1.0 + 1e-11), **more))
    assert not states_agree(whole, _stands(lambda one: one * 1.001, **more))


def test_another_delivery_is_another_place() -> None:
    store = MemoryStore()
    campaign = begun(store)
    for period in (1, 2):
        run_period(campaign, period)
    campaign.ask()
    saved = store.checkpoint("prices")
    assert saved is not None
    assert not states_agree(_stands(), from_checkpoint(*saved))
