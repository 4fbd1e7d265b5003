import hmac
from unittest.mock import patch

from driftpace.service.sessions import LoginThrottle, Sessions
from driftpace.storage import MemoryStore


def test_sessions_expire_and_can_be_closed() -> None:
    now = [0.0]
    held = Sessions(MemoryStore(), hours=1.0, clock=lambda: now[0])
    one, two = held.open("digest-1"), held.open("digest-2")
    assert one != two
    assert (held.find(one), held.find(two), held.find("never")) == ("digest-1", "digest-2", None)
    held.close(one)
    assert held.find(one) is None
    now[0] = 3600.0
    assert held.find(two) is None


def test_sessions_are_bounded() -> None:
    held = Sessions(MemoryStore())
    made = [held.open(str(place)) for place in range(1100)]
    assert held.find(made[0]) is None
    assert held.find(made[-1]) == "1099"


def test_csrf_tokens_belong_to_one_session_and_process() -> None:
    one, other = Sessions(MemoryStore()), Sessions(MemoryStore())
    assert one.is_valid_csrf("session", one.csrf("session"))
    assert not one.is_valid_csrf("session", one.csrf("another"))
    assert not one.is_valid_csrf("session", other.csrf("session"))  # no key is built in
    assert not one.is_valid_csrf("session", "")
    assert not one.is_valid_csrf("session", "\ud800é")


def test_csrf_tokens_are_compared_in_constant_time() -> None:
    held = Sessions(MemoryStore())
    with patch("driftpace.service.sessions.hmac.compare_digest", wraps=hmac.compare_digest) as compared:
        held.is_valid_csrf("session", "wrong")
    assert compared.call_count == 1


def test_failed_logins_back_off_exponentially() -> None:
    now = [100.0]
    throttle = LoginThrottle(clock=lambda: now[0])
    waits = []
    for _ in range(14):
        throttle.record_failure("peer")
        waits.append(throttle.seconds_left("peer"))
    assert waits[:5] == [0.0] * 5
    assert waits[5:] == [min(60.0, 2.0**place) for place in range(9)]
    assert throttle.seconds_left("somebody else") == 0.0
    throttle.reset("peer")
    assert throttle.seconds_left("peer") == 0.0


def test_old_failures_expire_and_peers_are_bounded() -> None:
    now = [0.0]
    throttle = LoginThrottle(free=1, clock=lambda: now[0])
    throttle.record_failure("peer")
    throttle.record_failure("peer")
    now[0] = 10_000.0
    throttle.record_failure("peer")
    assert throttle.seconds_left("peer") == 0.0
    for place in range(5000):
        throttle.record_failure(f"peer-{place}")
        throttle.record_failure(f"peer-{place}")
    assert throttle.seconds_left("peer-0") == 0.0
    assert throttle.seconds_left("peer-4999") > 0.0
