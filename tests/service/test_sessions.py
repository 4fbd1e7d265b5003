import hmac
from unittest.mock import patch

from driftpace.service.sessions import Patience, Sessions


def test_a_session_stands_for_its_token_until_it_ends() -> None:
    now = [0.0]
    held = Sessions(hours=1.0, clock=lambda: now[0])
    one, two = held.open("digest-1"), held.open("digest-2")
    assert one != two
    assert (held.find(one), held.find(two), held.find("never")) == ("digest-1", "digest-2", None)
    held.close(one)
    assert held.find(one) is None
    now[0] = 3600.0
    assert held.find(two) is None


def test_sessions_are_bounded() -> None:
    held = Sessions()
    made = [held.open(str(place)) for place in range(1100)]
    assert held.find(made[0]) is None
    assert held.find(made[-1]) == "1099"


def test_a_csrf_token_belongs_to_one_session_of_one_process() -> None:
    one, other = Sessions(), Sessions()
    assert one.csrf_holds("session", one.csrf("session"))
    assert not one.csrf_holds("session", one.csrf("another"))
    assert not one.csrf_holds("session", other.csrf("session"))  # no key is built in
    assert not one.csrf_holds("session", "")
    assert not one.csrf_holds("session", "\ud800é")


def test_csrf_tokens_are_compared_in_constant_time() -> None:
    held = Sessions()
    with patch("driftpace.service.sessions.hmac.compare_digest", wraps=hmac.compare_digest) as compared:
        held.csrf_holds("session", "wrong")
    assert compared.call_count == 1


def test_failures_make_one_wait_longer_and_longer_up_to_a_minute() -> None:
    now = [100.0]
    patience = Patience(clock=lambda: now[0])
    waits = []
    for _ in range(14):
        patience.failed("peer")
        waits.append(patience.wait("peer"))
    assert waits[:5] == [0.0] * 5
    assert waits[5:] == [min(60.0, 2.0**place) for place in range(9)]
    assert patience.wait("somebody else") == 0.0
    patience.succeeded("peer")
    assert patience.wait("peer") == 0.0


def test_old_failures_are_forgotten_and_peers_bounded() -> None:
    now = [0.0]
    patience = Patience(free=1, clock=lambda: now[0])
    patience.failed("peer")
    patience.failed("peer")
    now[0] = 10_000.0
    patience.failed("peer")
    assert patience.wait("peer") == 0.0
    for place in range(5000):
        patience.failed(f"peer-{place}")
        patience.failed(f"peer-{place}")
    assert patience.wait("peer-0") == 0.0
    assert patience.wait("peer-4999") > 0.0
