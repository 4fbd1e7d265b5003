import hmac
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest

from driftpace.errors import ParameterError
from driftpace.service.auth import digest, find_digest, find_token, make_token
from driftpace.storage import MemoryStore


def test_secrets_are_not_stored() -> None:
    store = MemoryStore()
    secret = make_token(store, "nightly", ["read", "write"])
    (kept,) = store.tokens()
    assert secret.startswith("dp_")
    assert len(secret) >= 3 + 43  # 256 bits
    assert secret not in repr(kept)
    assert kept.digest == digest(secret)
    assert kept.scopes == ("read", "write")
    assert make_token(store, "other") != secret


def test_tokens_expire_and_can_be_revoked() -> None:
    store = MemoryStore()
    begin = datetime(2026, 11, 15, tzinfo=UTC)
    secret = make_token(store, "a", ["read"], 7, now=begin)
    assert find_token(store, secret, now=begin + timedelta(days=6.9)) is not None
    assert find_token(store, secret, now=begin + timedelta(days=7)) is None
    assert store.remove_token("a")
    assert find_token(store, secret, now=begin) is None


@pytest.mark.parametrize("wrong", ["", "dp_", "dp_" + "A" * 43, "\ud800", "x" * 10_000])
def test_wrong_secrets_match_no_token(wrong: str) -> None:
    store = MemoryStore()
    make_token(store, "a")
    assert find_token(store, wrong) is None


def test_tokens_are_compared_in_constant_time() -> None:
    store = MemoryStore()
    secrets = [make_token(store, f"token-{place}") for place in range(5)]
    with patch("driftpace.service.auth.hmac.compare_digest", wraps=hmac.compare_digest) as compared:
        found = find_token(store, secrets[0])
    assert found is not None
    assert found.name == "token-0"
    assert compared.call_count == 5  # it does not stop at the first match
    assert find_digest(store, "0" * 64) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "a", "scopes": []}, "scopes"),
        ({"name": "a", "scopes": ["admin"]}, "scopes"),
        ({"name": "a", "expires_days": 0}, "expires_days"),
        ({"name": "a", "expires_days": float("nan")}, "expires_days"),
        ({"name": "a", "expires_days": 1e9}, "expires_days"),
        ({"name": "taken"}, "unused"),
    ],
)
def test_invalid_tokens_are_refused(given: dict[str, object], said: str) -> None:
    store = MemoryStore()
    make_token(store, "taken")
    with pytest.raises(ParameterError, match=said):
        make_token(store, **given)  # type: ignore[arg-type]
    assert [token.name for token in store.tokens()] == ["taken"]
