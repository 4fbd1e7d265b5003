"""The chain breaks at the first entry that was touched, whatever was done to it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.storage.base import Entry
from driftpace.storage.chain import chain, content_hash, first_break


def a_log(length: int = 6) -> list[Entry]:
    log = [
        Entry(
            kind="asked", key=f"W{seq}", at=f"2026-11-{seq:02d}", body={"n": seq, "of": {"a": 1, "b": [1.5]}}, seq=seq
        )
        for seq in range(1, length + 1)
    ]
    return [replace(entry, hash=link) for entry, link in zip(log, chain(log), strict=True)]


def test_a_whole_log_has_no_break() -> None:
    assert first_break(a_log()) is None
    assert first_break([]) is None


CHANGES: dict[str, Callable[[Entry], Entry]] = {
    "kind": lambda entry: replace(entry, kind="told"),
    "key": lambda entry: replace(entry, key=None),
    "time": lambda entry: replace(entry, at="2020-01-01"),
    "number": lambda entry: replace(entry, seq=99),
    "body": lambda entry: replace(entry, body={**entry.body, "n": 0}),
    "depth": lambda entry: replace(entry, body={**entry.body, "of": {"a": 1, "b": [1.25]}}),
    "integer for float": lambda entry: replace(entry, body={**entry.body, "n": float(entry.body["n"])}),
    "more": lambda entry: replace(entry, body={**entry.body, "more": None}),
    "hash": lambda entry: replace(entry, hash=entry.hash[::-1]),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("place", [0, 3, 5])
def test_the_first_entry_that_was_changed_is_named(name: str, place: int) -> None:
    log = a_log()
    log[place] = CHANGES[name](log[place])
    assert first_break(log) is log[place]


def test_removing_and_swapping_break_the_chain() -> None:
    log = a_log()
    assert first_break([*log[:2], *log[3:]]) is log[3]
    assert first_break([log[0], log[2], log[1], *log[3:]]) is log[2]
    assert first_break(log[:-2]) is None  # an end that is cut off fits: a seal tells


@given(
    st.dictionaries(st.text(), st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=5)
)
def test_the_order_of_names_does_not_matter(body: dict[str, Any]) -> None:
    entry = Entry(kind="asked", at="now", body=body)
    turned = replace(entry, body=dict(reversed(body.items())))
    assert content_hash(entry) == content_hash(turned)
