"""An answer that goes on ends soon after the token or the session it was let in by, and the store is asked once for all of them."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from driftpace.service.auth import LOCAL, Caller, digest, make_token
from driftpace.service.limits import ServiceLimits
from driftpace.service.sessions import Sessions, TokenRecheck
from driftpace.service.workers import WorkerPool
from driftpace.storage.base import Store, Token
from driftpace.storage.memory import MemoryStore
from tests.reference.periods import begun
from tests.reference.run_async import run_async
from tests.reference.serving import Serving, serving

PATH = "/api/campaigns/churn/stream"


class Counting(MemoryStore):
    """A store that counts how often it is asked for its tokens."""

    asked = 0

    def tokens(self) -> list[Token]:
        self.asked += 1
        return super().tokens()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def strict(store: Store) -> Iterator[Serving]:
    begun(store, "churn")
    with serving(store, always=True, limits=ServiceLimits(poll_seconds=0.05)) as running:
        yield running


def caller(secret: str, by: str = "token") -> Caller:
    return Caller(name="any", scopes=("read",), by=by, digest=digest(secret))


def test_revoked_tokens_end_their_streams_only(strict: Serving, store: Store) -> None:
    leaves, stays = make_token(store, "leaves"), make_token(store, "stays")

    def listening(secret: str) -> AbstractContextManager[httpx.Response]:
        return strict.client.stream("GET", PATH, headers={"Authorization": f"Bearer {secret}"})

    with listening(leaves) as one, listening(leaves) as two, listening(stays) as three:
        heard = [stream.iter_lines() for stream in (one, two, three)]
        assert [next(lines) for lines in heard] == ["retry: 2000"] * 3
        store.remove_token("leaves")
        for lines in heard[:2]:
            assert "event: changed" in list(lines)  # the first one, and then an end in good order
        store.remove_token("stays")
        assert list(heard[2])
    assert strict.client.get(PATH, headers={"Authorization": f"Bearer {leaves}"}).status_code == 401


def test_logout_ends_the_streams_of_the_session(strict: Serving, store: Store) -> None:
    secret = make_token(store, "ada")
    entered = strict.client.post("/login", data={"token": secret})
    assert entered.status_code == 303
    with strict.client.stream("GET", PATH) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "retry: 2000"
        csrf = strict.client.get("/api/session").json()["csrf"]
        assert strict.client.post("/logout", headers={"X-CSRF-Token": csrf}).status_code == 303
        assert "event: changed" in list(lines)


def test_the_store_is_asked_once_for_all_streams() -> None:
    async def tried() -> None:
        store, clock, sessions = Counting(), Clock(), Sessions(MemoryStore())
        secret = make_token(store, "ada")
        pool = WorkerPool("reading", threads=4, queue=100)
        recheck = TokenRecheck(store, pool, sessions, seconds=1.0, clock=clock)
        store.asked = 0
        for moment in (0.0, 1.0, 2.0):
            clock.now = moment
            held = await asyncio.gather(*(recheck.is_valid(caller(secret), "") for _ in range(50)))
            assert all(held)
        assert store.asked == 3
        assert await recheck.is_valid(LOCAL, "")
        assert store.asked == 3
        new = make_token(store, "new")
        assert await recheck.is_valid(caller(new), "")  # made since the store was asked
        store.remove_token("ada")
        clock.now = 3.0
        assert not await recheck.is_valid(caller(secret), "")
        assert await recheck.is_valid(caller(new), "")

    run_async(tried())


def test_expired_tokens_and_closed_sessions_are_invalid() -> None:
    async def tried() -> None:
        store, sessions = MemoryStore(), Sessions(MemoryStore())
        recheck = TokenRecheck(store, WorkerPool("reading", threads=1, queue=9), sessions, seconds=0.001)
        past = make_token(store, "past", expires_days=1.0, now=datetime.now(UTC) - timedelta(days=2))
        assert not await recheck.is_valid(caller(past), "")
        secret = make_token(store, "ada")
        session = sessions.open(digest(secret))
        assert await recheck.is_valid(caller(secret, "session"), session)
        sessions.close(session)
        assert not await recheck.is_valid(caller(secret, "session"), session)

    run_async(tried())
