"""Calls in any order: SQLite and PostgreSQL answer what memory answers, to the letter."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from driftpace.errors import DriftpaceError
from driftpace.storage import Change, Entry, MemoryStore, Store, Token, open_store
from tests.reference.postgres import Server

names = st.sampled_from(["a", "B", "b", "ä", "a%", "", "a\0"]) | st.text(max_size=3)
kinds = st.sampled_from(["asked", "told", "closed"])
keys = st.none() | st.sampled_from(["1", "2"]) | st.text(min_size=1, max_size=2)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
bodies = st.dictionaries(st.text(max_size=3), plain, max_size=2)
entries = st.builds(lambda kind, key, body: Entry(kind=kind, key=key, body=body, at="now"), kinds, keys, bodies)
numbers = st.integers(-1, 12)
limits = st.none() | st.integers(-1, 4)
changes = st.builds(
    lambda new, checkpoint, summary, rows, drop: Change(
        entries=new,
        checkpoint=checkpoint,
        summary=summary,
        rows={k: v for k, v in rows.items() if k < len(new)},
        drop_rows=drop,
    ),
    st.lists(entries, max_size=3),
    st.binary(max_size=5),
    bodies,
    st.dictionaries(st.integers(0, 2), st.binary(max_size=5)),
    st.lists(numbers, max_size=2),
)


def answer(call: Callable[[], object]) -> object:
    try:
        return call()
    except DriftpaceError as error:
        return type(error), str(error)


def machine(opened: Callable[[], Store]) -> type[RuleBasedStateMachine]:
    class Orders(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.store = MemoryStore(), opened()
            self.used: list[str] = []

        def both(self, call: Callable[[Store], object]) -> None:
            assert answer(lambda: call(self.store)) == answer(lambda: call(self.model))

        @rule(name=names, change=changes)
        def create(self, name: str, change: Change) -> None:
            self.both(lambda store: store.create(name, change))
            self.used.append(name)

        @precondition(lambda self: self.used)
        @rule(data=st.data(), change=changes, off=st.sampled_from([0, 0, 0, 1, -1]))
        def append(self, data: st.DataObject, change: Change, off: int) -> None:
            name = data.draw(st.sampled_from(self.used))
            head = self.model.head(name)
            self.both(lambda store: store.append(name, (head.seq if head else 0) + off, change))

        @precondition(lambda self: self.used)
        @rule(
            data=st.data(),
            after=numbers,
            limit=limits,
            some=st.none() | st.lists(kinds, max_size=2),
            key=keys,
            kind=kinds,
        )
        def look(
            self, data: st.DataObject, after: int, limit: int | None, some: list[str] | None, key: str | None, kind: str
        ) -> None:
            name = data.draw(st.sampled_from(self.used))
            self.both(lambda store: store.entries(name, after=after, limit=limit, kinds=some))
            self.both(lambda store: store.latest(name, limit=limit or 0, kinds=some))
            self.both(lambda store: store.find(name, kind, key or ""))
            self.both(lambda store: store.rows(name, range(after, after + 4)))
            self.both(lambda store: store.checkpoint(name))

        @rule(after=names, limit=limits, search=names)
        def listed(self, after: str, limit: int | None, search: str) -> None:
            self.both(lambda store: store.heads(after=after, limit=limit, search=search))
            self.both(lambda store: store.count(search=search))

        @precondition(lambda self: self.used)
        @rule(data=st.data())
        def remove(self, data: st.DataObject) -> None:
            name = data.draw(st.sampled_from(self.used))
            self.both(lambda store: store.remove(name))

        @rule(name=names, scopes=st.lists(kinds, max_size=2))
        def add_token(self, name: str, scopes: list[str]) -> None:
            self.both(
                lambda store: store.add_token(Token(name=name, digest="d", scopes=tuple(scopes), created_at="now"))
            )

        @rule(name=names)
        def remove_token(self, name: str) -> None:
            self.both(lambda store: store.remove_token(name))

        @rule()
        def close(self) -> None:
            self.store.close()

        @invariant()
        def the_same(self) -> None:
            self.both(lambda store: (store.heads(), store.tokens()))

        def teardown(self) -> None:
            for head in self.store.heads():
                self.store.remove(head.name)
            for token in self.store.tokens():
                self.store.remove_token(token.name)

    return Orders


@contextmanager
def sharing(store: Store) -> Iterator[Callable[[], Store]]:
    try:
        yield lambda: store
    finally:
        store.close()


# A difference is shown as it is found: making it smaller would take minutes over a server.
FEW = settings(max_examples=10, stateful_step_count=20, phases=[Phase.generate])
MANY = settings(max_examples=25, stateful_step_count=20, phases=[Phase.generate])
each = pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])


@each
def test_sqlite_answers_as_memory_does(examples: settings) -> None:
    with tempfile.TemporaryDirectory() as folder, sharing(open_store(Path(folder) / "labels.db")) as opened:
        run_state_machine_as_test(machine(opened), settings=examples)


@each
def test_postgres_answers_as_memory_does(examples: settings, postgres_url: str, postgres_server: Server) -> None:
    with sharing(open_store(postgres_url)) as opened:
        run_state_machine_as_test(machine(opened), settings=examples)
